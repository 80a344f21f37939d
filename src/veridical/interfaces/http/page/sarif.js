// The flagged and undetermined claims as a SARIF 2.1.0 log, as `veridical check --sarif` writes it.

import { oneLine } from "./text.js";
import {
  action, capital, checked, faults, headline, level, look, mostlyHedged, pleaseLook, reason, tone, version,
} from "./words.js";

const SCHEMA =
  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";
/** `answer` is a Text or null, `sources` a map of ids to Texts. */
export async function toSarif(report, answer, sources) {
  const claims = report.claims.filter((claim) => checked(claim) && level(claim.status));
  const uris = ["answer.txt", ...[...sources.keys()].map(asUri)];
  const run = {
    tool: { driver: { name: "veridical", rules: faults().map(rule), ...versioned() } },
    columnKind: "unicodeCodePoints",
    invocations: [invocation(report)],
    artifacts: [...new Set(uris)].map((uri) => ({ location: { uri } })),
    results: await Promise.all(claims.map((claim) => result(claim, answer, sources))),
    properties: { summary: report.summary },
  };
  return JSON.stringify({ $schema: SCHEMA, version: "2.1.0", runs: [run] }, null, 2);
}

const versioned = () => (version() ? { version: version() } : {});

function invocation(report) {
  if (report.summary.outcome !== "nothing_to_check" && !mostlyHedged(report.summary))
    return { executionSuccessful: true };
  const text = headline(report.summary, 0);
  return {
    executionSuccessful: true,
    toolExecutionNotifications: [{ level: "warning", message: { text } }],
  };
}

function rule(status) {
  const { label, meaning } = look(status);
  return {
    id: status,
    name: label.split(" ").map(capital).join(""),
    shortDescription: { text: meaning },
    help: { text: `${meaning} ${action(status)}.` },
    defaultConfiguration: { level: level(status) },
  };
}

async function result(claim, answer, sources) {
  const { start, end } = claim.span;
  const snippet = answer ? { snippet: { text: answer.slice(start, end) } } : {};
  const print = await fingerprint(claim);
  return {
    ruleId: claim.status,
    ruleIndex: faults().indexOf(claim.status),
    level: pleaseLook(claim) ? "note" : level(claim.status),
    message: { text: message(claim) },
    locations: [location("answer.txt", { ...region(claim.span, answer), ...snippet })],
    relatedLocations: claim.evidence.map((evidence, id) => ({
      id,
      message: { text: literal(`${evidence.role}: ${oneLine(evidence.text)}`) },
      ...location(asUri(evidence.source), region(evidence, sources.get(evidence.source))),
    })),
    ...(print ? { partialFingerprints: { "veridicalClaim/v1": print } } : {}),
    properties: { claim: claim.id, rule: claim.rule, certainty: claim.certainty ?? "unsure" },
  };
}

function region({ start, end }, text) {
  const offsets = { charOffset: start, charLength: end - start };
  if (!text) return offsets;
  const [from, to] = [text.place(start), text.place(end)];
  return {
    startLine: from.line,
    startColumn: from.column,
    endLine: to.line,
    endColumn: to.column,
    ...offsets,
  };
}

function message(claim) {
  const parts = [`${capital(look(tone(claim)).label)}: “${oneLine(claim.text)}”.`, reason(claim)];
  if (claim.suggested_action) parts.push(`${claim.suggested_action}.`);
  return literal(oneLine(parts.join(" ")));
}

// SARIF gives a meaning to placeholders {0} and links [text](1).
const literal = (text) =>
  text.replaceAll("{", "{{").replaceAll("}", "}}").replaceAll("](", "] (");

const location = (uri, region) => ({
  physicalLocation: { artifactLocation: { uri }, region },
});

function asUri(id) {
  const quoted = (path) =>
    encodeURIComponent(path)
      .replaceAll("%2F", "/")
      .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  if (/^[A-Za-z][A-Za-z0-9+.-]+:\/\//.test(id)) return encodeURI(id);
  const path = id.replaceAll("\\", "/");
  if (/^[A-Za-z]:\//.test(path)) return `file:///${path.slice(0, 2)}${quoted(path.slice(2))}`;
  return path.startsWith("/") ? `file://${quoted(path)}` : quoted(path);
}

/** SHA-256, which browsers have for https and localhost only; without it there is none. */
async function fingerprint(claim) {
  if (!globalThis.crypto?.subtle) return null;
  const identity = `${claim.status}\0${claim.text.split(/\s+/u).filter(Boolean).join(" ")}`;
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(identity));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

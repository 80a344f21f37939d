// What the page says. The vocabulary is that of the reports: the server hands it out.

import { oneLine } from "./text.js";

let words = null;

export async function loadWords() {
  words = await (await fetch("page/words.json")).json();
}

export const tones = () => Object.keys(words.looks);
export const look = (tone) => words.looks[tone];
export const note = (name) => words.notes[name] ?? name.replaceAll("_", " ");
export const urgency = (tone) => words.urgency.indexOf(tone);
export const unmeasured = (reason) => words.unmeasured[reason] ?? reason;

/** The report formats that the service writes: `{name: {label, suffix, type}}`. */
export const formats = () => words.formats;

/** Whether a verdict was reached: on what is asserted, and on every phantom citation. */
export const checked = (claim) =>
  (claim.assertive && !claim.skipped) || claim.status === "phantom_citation";

/** Whether the evidence was read for or against the claim, and the verdict is not sure. */
const pleaseLook = (claim) =>
  checked(claim) && claim.certainty !== "sure" && `${claim.status}_unsure` in words.looks;

export const tone = (claim) => {
  if (!checked(claim)) return "excluded";
  return pleaseLook(claim) ? `${claim.status}_unsure` : claim.status;
};

/** Whether the claim is one to look at. */
export const listed = (claim) => claim.flagged || tone(claim) === "undetermined";

export const rule = (claim) =>
  claim.rule.replaceAll("_", " ").replaceAll(":", ": ").split(/\s+/).join(" ");

export const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Say in one sentence why the verdict is what it is, in another one if it is not sure. */
export const reason = (claim) =>
  pleaseLook(claim) ? `${why(claim)} ${words.please_look}` : why(claim);

function why(claim) {
  if (!checked(claim)) return words.not_checked[claim.excluded ?? claim.skipped] ?? "Not checked.";
  if (claim.rule === "derived_quantity")
    return "A quantity of the claim follows from two of the evidence: please look yourself.";
  if (claim.status === "undetermined") return undetermined(claim.p1);
  if (claim.status === "phantom_citation") return phantom(claim);
  if (claim.status === "partially_supported") return partial(claim);
  if (claim.quantity_difference) return difference(claim.quantity_difference);
  return look(claim.status).meaning;
}

function difference({ claimed, stated }) {
  return `The claim says “${oneLine(claimed)}” where the evidence says “${oneLine(stated)}”.`;
}

function undetermined(p1) {
  const why = p1.unmeasured ? unmeasured(p1.unmeasured) : "no decision was reached";
  return `Could not be measured: ${why}.`;
}

function phantom(claim) {
  const ids = [...new Set(claim.citations.filter((cite) => !cite.resolved).map((cite) => cite.id))];
  if (!ids.length) return look("phantom_citation").meaning;
  const verb = ids.length === 1 ? "is not a source" : "are not sources";
  return `Cites ${ids.join(", ")}, which ${verb} of this answer.`;
}

function partial(claim) {
  if (claim.notes.includes("over_extrapolation"))
    return "The evidence carries a weaker form of the claim only.";
  if (!claim.parts.length) return look("partially_supported").meaning;
  const n = claim.parts.filter((part) => part.status === "supported").length;
  return `${n} of ${claim.parts.length} parts ${n === 1 ? "is" : "are"} supported.`;
}

const LEFT_OUT = ["not_sampled", "not_critical", "over_limit"];

/** Return the outcome in one sentence, with its denominator. */
export function headline(summary, flagged) {
  const left = LEFT_OUT.reduce((sum, name) => sum + (summary.skipped[name] ?? 0), 0);
  const tail = left ? ` (${left.toLocaleString("en")} more not verified, by mode or limit)` : "";
  const hedged = summary.skipped.hedged ?? 0;
  const unsaid = hedged ? ` (${hedged.toLocaleString("en")} more hedged, so not verified)` : "";
  const asked = count(summary.claims_checked, "checked claim") + tail + unsaid;
  const lost = summary.by_status.undetermined ?? 0;
  const unsure = summary.by_certainty;
  if (summary.outcome === "flagged") {
    const end = lost ? `; ${lost} could not be measured` : "";
    return `${flags(flagged, unsure?.flagged.unsure ?? flagged, asked)}${end}`;
  }
  if (summary.outcome === "undetermined" && !lost)
    return `Undetermined: most of the answer is hedged; ${asked}, none flagged`;
  if (summary.outcome === "undetermined")
    return `Undetermined: ${lost} of ${asked} could not be measured`;
  if (summary.outcome === "grounded")
    return `Grounded: ${asked}, none flagged${unsure?.passed.unsure ? `; ${unsure.passed.unsure} unsure` : ""}`;
  if (hedged)
    return `Nothing to check: all that the answer states is hedged (${hedged.toLocaleString("en")})`;
  return "Nothing to check: no checkable claim in this answer";
}

function flags(flagged, unsure, asked) {
  if (unsure === flagged)
    return `No sure errors: ${unsure} of ${asked} ${unsure === 1 ? "needs" : "need"} a look`;
  return `Flagged: ${flagged} of ${asked}${unsure ? `, ${unsure} of them unsure` : ""}`;
}

/** Whether something is flagged, and nothing surely. */
export const onlyUnsure = (summary) =>
  summary.outcome === "flagged" && !summary.by_certainty?.flagged.sure;

/** Say why claims have no verdict, and of how many: "" if all have one. */
export function missing(claims) {
  const reasons = new Map();
  for (const claim of claims) {
    if (tone(claim) !== "undetermined" || !claim.p1.unmeasured) continue;
    reasons.set(claim.p1.unmeasured, (reasons.get(claim.p1.unmeasured) ?? 0) + 1);
  }
  const said = [...reasons].map(([name, n]) => `${n.toLocaleString("en")} because ${unmeasured(name)}`);
  return said.length ? `; not measured: ${said.join(", ")}` : "";
}

/** Say how much was checked out of how much, and what was skipped and why. */
export function denominators(summary) {
  const skipped = Object.entries(summary.skipped)
    .filter(([, n]) => n)
    .map(([name, n]) => `${n} ${name.replaceAll("_", " ")}`);
  const tail = skipped.length ? `; skipped: ${skipped.join(", ")}` : "";
  const claims = count(summary.claims_extracted, "claim");
  return `${summary.claims_checked} of ${claims} checked, from ${count(summary.sentences, "sentence")}${tail}`;
}

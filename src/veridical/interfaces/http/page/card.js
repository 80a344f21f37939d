// The details of one claim.

import { meters, probability, supported } from "./bits.js";
import { h } from "./dom.js";
import { oneLine } from "./text.js";
import { capital, checked, count, look, note, reason, rule, tone } from "./words.js";

/** `place(evidence, index, claim)` says where evidence stands: `{label, anchor}`; `marking` is what to append. */
export function card(claim, place, marking = null) {
  const shown = look(tone(claim));
  const asked = checked(claim) && (!claim.p1.unmeasured || claim.status === "undetermined");
  return h(
    "article",
    { class: `card on t-${tone(claim)}`, id: `card-${claim.id}`, "data-id": claim.id },
    h(
      "h3",
      {},
      h("span", { class: "chip" }, `${shown.mark} ${claim.id}`),
      ` ${capital(shown.label)} `,
      h("button", { type: "button", class: "close", "aria-label": "Close the details" }, "✕"),
    ),
    h("p", { class: "claim-text", dir: "auto" }, oneLine(claim.text)),
    h("p", { class: "why" }, reason(claim), " ", h("span", { class: "rule" }, `Rule: ${rule(claim)}`)),
    claim.suggested_action &&
      h("p", { class: "action" }, h("span", { "aria-hidden": "true" }, "→"), ` ${claim.suggested_action}.`),
    list("evidence", claim.evidence.map((each, index) => quote(each, place(each, index, claim)))),
    asked ? meters(claim) : null,
    list("parts", claim.parts.map(part)),
    list("notes", claim.notes.map((name) => h("li", {}, note(name)))),
    facts(claim),
    marking,
  );
}

const list = (name, items) => (items.length ? h("ul", { class: name }, items) : null);

function quote(evidence, { label, anchor }) {
  return h(
    "li",
    { class: `r-${evidence.role}` },
    h("span", { class: "role" }, evidence.role),
    " ",
    anchor
      ? h("a", { class: "place", href: `#${anchor}`, "data-go": anchor }, label)
      : h("span", { class: "place" }, label),
    " ",
    h("span", { class: "offsets" }, `${evidence.start}–${evidence.end}`),
    h("q", { dir: "auto" }, oneLine(evidence.text)),
  );
}

function part(each) {
  return h(
    "li",
    { class: `t-${each.status}` },
    h("span", { class: "chip" }, `${look(each.status).mark} ${look(each.status).label}`),
    " ",
    h("span", { dir: "auto" }, oneLine(each.text)),
    " ",
    h("span", { class: "offsets" }, `p1: ${supported(each.p1)}`),
  );
}

function facts(claim) {
  const rows = [];
  if (claim.probability_right !== null && claim.probability_right !== undefined)
    rows.push(["Verdict", `${claim.certainty}, right with a probability of ${probability(claim.probability_right)}`]);
  if (claim.confidence !== null) {
    const how = claim.confidence_stated ? "stated in the answer" : "inferred from its wording";
    rows.push(["Confidence", `${probability(claim.confidence)}, ${how}`]);
  }
  if (claim.evidence_dependence !== null)
    rows.push(["Evidence dependence", `${claim.evidence_dependence.toFixed(2)} of 1`]);
  if (claim.citations.length) rows.push(["Cites", claim.citations.map(cited).join(", ")]);
  if (claim.windows_total) rows.push(["Evidence scored", windows(claim)]);
  if (!rows.length) return null;
  return h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

const cited = ({ id, resolved }) => (resolved ? id : `${id} (no such source)`);

function windows(claim) {
  const number = (n) => n.toLocaleString("en");
  const places = claim.windows_scored.map((w) => `${w.source} ${number(w.start)}–${number(w.end)}`);
  const n = claim.stitched_scored.length;
  const joined = n ? `; and ${count(n, "sentence")} joined into passages` : "";
  return `${places.length} of ${count(claim.windows_total, "window")}: ${places.join("; ") || "none"}${joined}`;
}

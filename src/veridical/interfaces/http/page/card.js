// The details of one claim: what the answer says beside what the source says; figures under "Why".

import { meters, probability, supported } from "./bits.js";
import { h } from "./dom.js";
import { Text, oneLine, squeezed } from "./text.js";
import { capital, checked, count, deciding, label, look, note, reason, rule, tone } from "./words.js";

/** `place(evidence, index, claim)` says where evidence stands: `{label, anchor}`; `marking` is what to append. */
export function card(claim, place, { marking = null, open = false } = {}) {
  const shown = look(tone(claim));
  const others = claim.evidence.flatMap((each, index) => (index === deciding(claim) ? [] : [quote(each, place(each, index, claim))]));
  const asked = checked(claim) && (!claim.p1.unmeasured || claim.status === "undetermined");
  return h(
    "article",
    { class: `card on t-${tone(claim)}`, "data-id": claim.id },
    h(
      "h3",
      {},
      h("span", { class: "chip" }, `${shown.mark} ${claim.id}`),
      ` ${label(tone(claim))} `,
      certain(claim),
      h("button", { type: "button", class: "close", "aria-label": "Close the details" }, "✕"),
    ),
    compare(claim, place),
    h(
      "p",
      { class: "why" },
      reason(claim),
      claim.suggested_action && [" ", h("span", { class: "action" }, h("span", { "aria-hidden": "true" }, "→"), ` ${claim.suggested_action}.`)],
    ),
    h(
      "div",
      { class: "foot" },
      marking,
      h(
        "details",
        { class: "figures", open },
        h("summary", {}, "Why"),
        h("p", { class: "rule" }, `Rule: ${rule(claim)}`),
        list("evidence", others),
        asked ? meters(claim) : null,
        list("parts", claim.parts.map(part)),
        list("notes", claim.notes.map((name) => h("li", {}, note(name)))),
        facts(claim),
      ),
    ),
  );
}

/** How sure a verdict is: a word, and dots for the probability that it is right, five if it is sure. */
export function certain(claim) {
  if (!checked(claim) || claim.status === "undetermined") return null;
  const sure = claim.certainty === "sure";
  const right = claim.probability_right ?? null;
  const full = sure ? 5 : Math.min(4, Math.max(1, Math.round(right * 5)));
  const dots = [1, 2, 3, 4, 5].map((n) => h("i", { class: n <= full ? "full" : null }));
  const title = sure ? "Sure" : "Unsure: look yourself";
  return h("span", { class: "certain", title }, right !== null && h("span", { class: "dots", "aria-hidden": "true" }, dots), sure ? "sure" : "unsure");
}

function compare(claim, place) {
  const found = claim.evidence[deciding(claim)];
  const first = claim.status === "phantom_citation" ? undiffering(found) : found;
  const said = h(
    "div",
    { class: "said" },
    h("span", { class: "whose" }, "The answer says"),
    h("span", { class: "claim-text", dir: "auto" }, differing(claim.text, first?.differs?.claim)),
  );
  return h("div", { class: "compare" }, said, first ? source(claim, first, place(first, deciding(claim), claim)) : nothing(claim));
}

/** The words in which a passage differs from a claim say nothing if another source is cited. */
const undiffering = (evidence) => evidence && { ...evidence, differs: null };

function source(claim, evidence, { label: named, anchor }) {
  const where = anchor ? h("a", { class: "place", href: `#${anchor}`, "data-go": anchor }, named) : h("span", { class: "place" }, named);
  const says = evidence.role === "nearest" && !claim.quantity_difference ? "Nearest passage, " : "The source says, ";
  const text = h("q", { dir: "auto" }, differing(evidence.text, evidence.differs?.evidence));
  return h("div", { class: `r-${evidence.role}` }, h("span", { class: "whose" }, says, where), text);
}

function nothing(claim) {
  const text = checked(claim) ? "No passage of the sources says so." : "It was not compared with the sources.";
  return h("div", {}, h("span", { class: "whose" }, "The sources"), h("span", { class: "none" }, text));
}

/** A text with the words marked in which the other side differs; places are code points of it. */
function differing(raw, spans = []) {
  const text = new Text(raw);
  const parts = [];
  let at = 0;
  for (const { start, end } of spans) {
    parts.push(squeezed(text.slice(at, start)), h("mark", { class: "differs", title: "Here the two differ" }, squeezed(text.slice(start, end))));
    at = end;
  }
  return [...parts, squeezed(text.slice(at, text.length))];
}

const list = (name, items) => (items.length ? h("ul", { class: name }, items) : null);

function quote(evidence, { label: where, anchor }) {
  return h(
    "li",
    { class: `r-${evidence.role}` },
    h("span", { class: "role" }, capital(evidence.role)),
    " ",
    anchor
      ? h("a", { class: "place", href: `#${anchor}`, "data-go": anchor }, where)
      : h("span", { class: "place" }, where),
    h("q", { dir: "auto" }, differing(evidence.text, evidence.differs?.evidence)),
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
  if (claim.read_as) rows.push(["Read as", oneLine(claim.read_as)]);
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

// What the page says. The vocabulary is that of the reports: the server hands it out.

let words = null;

export async function loadWords() {
  words = await (await fetch("page/words.json")).json();
}

export const tones = () => Object.keys(words.looks);
export const look = (tone) => words.looks[tone];

/** The word for a tone without its certainty, which is shown beside it. */
export const label = (tone) => capital(look(tone.replace(/_unsure$/, "")).label);

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

/** Whether it is a heading or code, which nobody takes for a claim. */
export const plain = (claim) => claim.excluded === "heading" || claim.excluded === "code";

/** Whether the claim is one to look at. */
export const listed = (claim) => claim.flagged || tone(claim) === "undetermined";

export const rule = (claim) =>
  claim.rule.replaceAll("_", " ").replaceAll(":", ": ").split(/\s+/).join(" ");

export const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Why the verdict is what it is; reports of earlier versions do not say, and statuses have a meaning. */
export const reason = (claim) => claim.reason ?? look(tone(claim)).meaning;

/** The statuses that a verdict should have had instead of its own, with their words. */
export const otherStatuses = (status) =>
  Object.entries(words.looks).filter(
    ([name]) => ![status, "undetermined", "excluded"].includes(name) && !name.endsWith("_unsure"),
  );

/** Whether something is flagged, and nothing surely. */
export const onlyUnsure = (summary) =>
  summary.outcome === "flagged" && !summary.by_certainty?.flagged.sure;

const ROLE_OF = { supported: "supports", contradicted: "contradicts" };

/** The number of the evidence that decides: with the quantity that differs, else of the verdict's role. */
export function deciding({ status, evidence, quantity_difference: differs }) {
  const holds = (each) => each.source === differs?.source && each.start < differs.end && each.end > differs.start;
  const held = evidence.findIndex(holds);
  if (held >= 0) return held;
  return Math.max(0, evidence.findIndex((each) => each.role === ROLE_OF[status]));
}

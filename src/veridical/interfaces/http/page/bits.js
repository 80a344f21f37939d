// Probabilities and bits: as people read them, and as the two small drawings of a claim.

import { h, s } from "./dom.js";
import { unmeasured } from "./words.js";

const [LEFT, RIGHT] = [8, 312];
const place = (share) => Math.round((LEFT + share * (RIGHT - LEFT)) * 10) / 10;

/** Two decimals; three where two would hide that it is no 0 or 1. */
export function probability(value) {
  const [short, long] = [value.toFixed(2), value.toFixed(3)];
  const hides = (short === "0.00" || short === "1.00") && long !== `${short}0`;
  return hides ? long : short;
}

/** P(supported) with its interval, or why there is none. */
export function supported(estimate) {
  if (estimate.unmeasured) return `not measured: ${unmeasured(estimate.unmeasured)}`;
  const value = probability(estimate.supported);
  if (estimate.low === estimate.high) return value;
  return `${value} [${probability(estimate.low)}, ${probability(estimate.high)}]`;
}

function rest(estimate) {
  if (estimate.unmeasured) return "";
  if (estimate.contradicted === null || estimate.not_in_context === null)
    return `${probability(1 - estimate.supported)} contradicted or not in context`;
  return `${probability(estimate.contradicted)} contradicted, ${probability(estimate.not_in_context)} not in context`;
}

export function signed(value) {
  if (value === null) return "–";
  const text = Math.abs(value).toFixed(2);
  return Number(text) === 0 ? "0.00" : `${value < 0 ? "-" : "+"}${text}`;
}

function gap(claim) {
  const between = claim.gap_interval_bits;
  if (!between || between.low === between.high) return signed(claim.budget_gap_bits);
  return `${signed(claim.budget_gap_bits)} [${signed(between.low)}, ${signed(between.high)}]`;
}

const justified = (claim) =>
  claim.confidence_justified === null
    ? "justified or not is undecided"
    : claim.confidence_justified
      ? "justified"
      : "not justified";

/** Return both drawings with their figures. */
export function meters(claim) {
  return h("div", { class: "meters" }, belief(claim), budget(claim));
}

function belief(claim) {
  const { p1, p0, target } = claim;
  const [with_, without] = [supported(p1), supported(p0)];
  const drawing =
    p1.unmeasured && p0.unmeasured
      ? null
      : axis(
          `With the evidence ${with_}, without it ${without}`,
          p1.unmeasured ? null : bar("range", place(p1.low), place(p1.high), 3),
          tick("target", place(target), 2, 24),
          p0.unmeasured ? null : s("circle", { class: "p0", cx: place(p0.supported), cy: 13, r: 5 }),
          p1.unmeasured ? null : s("circle", { class: "p1", cx: place(p1.supported), cy: 13, r: 5.5 }),
        );
  return h(
    "div",
    {},
    h("h4", {}, "Probability that it is true"),
    drawing,
    h(
      "dl",
      {},
      row("k p1", "With evidence", h("b", {}, with_), " ", h("span", { class: "rest" }, rest(p1))),
      row("k p0", "Without it", h("b", {}, without), " ", h("span", { class: "rest" }, rest(p0))),
      row("k k-required", "Target", probability(target)),
    ),
  );
}

function budget(claim) {
  const { required_bits: required, observed_bits: observed } = claim;
  if (required === null || observed === null)
    return h(
      "div",
      {},
      h("h4", {}, "Information in bits"),
      h("dl", {}, row("k k-gap", "Gap", "unknown: p1 or p0 was not measured")),
    );
  const [low, high] = [Math.min(0, observed), Math.max(1, required, observed)];
  const share = (bits) => place((bits - low) / (high - low));
  const ends = [share(0), share(observed)].sort((a, b) => a - b);
  return h(
    "div",
    {},
    h("h4", {}, "Information in bits"),
    axis(
      `Observed ${signed(observed)} bits as a bar, required ${required.toFixed(2)} bits as a line`,
      bar(observed >= required ? "paid" : "unpaid", ...ends, 2),
      tick("zero", share(0), 5, 21),
      tick("target", share(required), 2, 24),
    ),
    h(
      "dl",
      {},
      row("k k-required", "Required", `${required.toFixed(2)} to reach ${probability(claim.target)}`),
      row("k k-observed", "Observed", signed(observed)),
      row("k k-gap", "Gap", `${gap(claim)}, ${justified(claim)}`),
    ),
  );
}

const axis = (label, ...parts) =>
  s(
    "svg",
    { class: "meter", viewBox: "0 0 320 26", role: "img", "aria-label": label },
    s("rect", { class: "track", x: LEFT, y: 11, width: RIGHT - LEFT, height: 4, rx: 2 }),
    parts,
  );
const bar = (name, x, end, rx) =>
  s("rect", { class: name, x, y: 8, width: Math.max(0, end - x).toFixed(1), height: 10, rx });
const tick = (name, x, y1, y2) => s("line", { class: name, x1: x, x2: x, y1, y2 });
const row = (mark, name, ...value) => [
  h("dt", {}, h("i", { class: mark }), name),
  h("dd", {}, ...value),
];

// The list of claims: what has to be looked at first, filtered by status and by words.

import { certain } from "./card.js";
import { byId, h, s } from "./dom.js";
import { oneLine } from "./text.js";
import { capital, checked, deciding, label, look, plain, reason, tone, tones, urgency } from "./words.js";

export class ClaimList {
  /** `onchange` is called when other claims are shown than before. */
  constructor({ onchange }) {
    this._onchange = onchange;
    this._entries = new WeakMap(); // by claim: what is drawn already is not drawn again
    byId("sort").addEventListener("change", () => this._changed());
    byId("search").addEventListener("input", () => this._changed());
    this.reset();
  }

  reset() {
    this._pressed = new Set();
    byId("search").value = "";
  }

  find(words) {
    byId("search").value = words;
    this._changed();
  }

  press(name) {
    if (!this._pressed.delete(name)) this._pressed.add(name);
    this._changed();
  }

  _changed() {
    this._onchange();
  }

  /** The claims that the filters let through, in the order in which they are listed. */
  shown(claims) {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = inText(claims).filter((claim) => {
      if (plain(claim) && !this._pressed.has("excluded")) return false;
      if (this._pressed.size && !this._pressed.has(tone(claim))) return false;
      const text = `${claim.id} ${claim.text}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const sort = byId("sort").value;
    if (sort === "urgency") found.sort((a, b) => urgency(tone(a)) - urgency(tone(b)));
    if (sort === "source") found.sort((a, b) => compare(sourceOf(a), sourceOf(b)) || urgency(tone(a)) - urgency(tone(b)));
    return found;
  }

  /** Draw the claims that are `shown` and the counts of all; `marks` has what the user said of them. */
  draw(claims, shown, marks) {
    const grouped = byId("sort").value === "source";
    byId("listed").replaceChildren(
      ...shown.flatMap((claim, index) => [
        grouped && (!index || sourceOf(claim) !== sourceOf(shown[index - 1])) ? group(claim, shown) : null,
        this._drawn(claim, marks[claim.id]?.right),
      ]).filter(Boolean),
    );
    const all = claims.filter((claim) => !plain(claim)).length;
    byId("listed-n").textContent = shown.length === all ? String(all) : `${shown.length} of ${all}`;
    this._tally(claims);
  }

  _drawn(claim, right) {
    const known = this._entries.get(claim);
    if (known && known.right === right) return known.element;
    const element = entry(claim, right);
    this._entries.set(claim, { right, element });
    return element;
  }

  /** Show which claim is selected. */
  select(id) {
    const list = byId("listed");
    for (const on of list.querySelectorAll(".on")) {
      on.classList.remove("on");
      on.removeAttribute("aria-current");
    }
    const mine = this.entry(id);
    mine?.classList.add("on");
    mine?.setAttribute("aria-current", "true");
  }

  entry(id) {
    return id ? byId("listed").querySelector(`[data-claims="${CSS.escape(id)}"]`) : null;
  }

  _tally(claims) {
    const counts = new Map();
    for (const claim of claims) counts.set(tone(claim), (counts.get(tone(claim)) ?? 0) + 1);
    const present = tones().filter((name) => counts.has(name));
    byId("bar").replaceChildren(...bar(present.filter((name) => name !== "excluded"), counts));
    const focused = document.activeElement?.dataset?.tone;
    byId("legend").replaceChildren(...present.map((name) => this._filter(name, counts.get(name))));
    if (focused) byId("legend").querySelector(`[data-tone="${focused}"]`)?.focus();
    byId("tally").hidden = !present.length;
  }

  _filter(name, n) {
    const { mark, label: words, meaning } = look(name);
    return h("li", { class: `t-${name}` },
      h("button", { type: "button", class: `t-${name}`, "data-tone": name, "aria-pressed": String(this._pressed.has(name)), title: meaning, onclick: () => this.press(name) },
        h("span", { class: "sign", "aria-hidden": "true" }, mark), h("b", {}, String(n)), ` ${words}`));
  }
}

/** Claims in the order of the text. */
export const inText = (claims) =>
  [...claims].sort((a, b) => a.span.start - b.span.start || number(a) - number(b));

const number = (claim) => Number.parseInt(claim.id.replace(/\D+/g, ""), 10) || 0;
const compare = (a, b) => !a - !b || a.localeCompare(b, "en", { numeric: true });

/** The source that decides about a claim, else the first one that it cites: the one that is not there. */
function sourceOf(claim) {
  const { status, evidence, citations } = claim;
  const first = evidence[deciding(claim)];
  const cited = (citations.find((each) => !each.resolved) ?? citations[0])?.id;
  return (status === "phantom_citation" ? cited : (first?.source ?? cited)) ?? "";
}

function group(claim, shown) {
  const mine = shown.filter((each) => sourceOf(each) === sourceOf(claim)).length;
  return h("li", { class: "group" }, h("span", { class: "chip" }, sourceOf(claim) || "no source"), h("span", { class: "n" }, String(mine)));
}

function bar(present, counts) {
  const total = present.reduce((sum, name) => sum + counts.get(name), 0);
  let x = 0;
  return present.map((name) => {
    const width = (100 * counts.get(name)) / total;
    x += width;
    return s("rect", { class: `t-${name}`, x: x - width, y: 0, width, height: 4 });
  });
}

function entry(claim, right) {
  const name = tone(claim);
  return h("li", {},
    h("a", { class: `entry t-${name}`, href: `#${encodeURIComponent(claim.id)}`, "data-claims": claim.id },
      h("span", { class: "chip" }, `${look(name).mark} ${claim.id}`),
      h("span", { class: "what" },
        h("span", { class: "claim-text", dir: "auto" }, oneLine(claim.text)),
        h("span", { class: "why" }, h("b", {}, label(name)), " ", certain(claim), ` ${short(claim)}`,
          right === undefined ? null : h("span", { class: "marked" }, ` ✎ you: ${right ? "right" : "wrong"}`)))));
}

/** The reason without what the row says already. */
function short(claim) {
  if (claim.status === "supported" && checked(claim)) return "";
  return capital(reason(claim).replace(/^Not checked: /, "").split(/(?<=[.!?]) This is not sure/)[0]);
}

// A long text with the stretches of claims marked in it, in blocks: a claim that comes in redraws
// only the blocks it lies in, and the browser lays out only those that are in view.

import { h } from "./dom.js";
import { look, urgency } from "./words.js";

const BLOCK = 4000;
const LONGEST = 20_000;

export class MarkedText {
  /** `text` is a Text; with `badges` each claim ends in a link to it. */
  constructor(container, text, { badges = false } = {}) {
    this.text = text;
    this.badges = badges;
    this.selected = null;
    this._hidden = () => false;
    this.blocks = cut(text.units).map(([start, end]) => {
      return { start, end, items: [], dirty: true, element: h("div", { class: "block" }) };
    });
    container.replaceChildren(...this.blocks.map((block) => block.element));
  }

  /** Mark code points `start` to `end` as of the claim `id`; `anchor` is a name for the place. */
  add(start, end, id, tone, anchor = null) {
    const item = { start: this.text.unit(start), end: this.text.unit(end), id, tone, anchor };
    if (item.start >= item.end) return;
    for (const block of this.blocks) {
      if (block.end <= item.start || block.start >= item.end) continue;
      block.items.push(item);
      block.dirty = true;
    }
  }

  /** Draw what has changed. */
  draw() {
    for (const block of this.blocks) {
      if (!block.dirty) continue;
      block.dirty = false;
      block.element.replaceChildren(...this._pieces(block));
    }
    this.select(this.selected);
    this.filter(this._hidden);
  }

  /** Light up the stretches of a claim; they take its colour where several share one. */
  select(claim) {
    for (const mark of this._all(".on")) paint(mark, mark.dataset.tone, false);
    this.selected = claim;
    if (claim) for (const mark of this.of(claim.id)) paint(mark, claim.tone, true);
  }

  /** Fade the claims of which `hidden(id)` is true. */
  filter(hidden) {
    this._hidden = hidden;
    if (!this.badges) return;
    for (const mark of this._all("[data-claims]"))
      mark.classList.toggle("faded", mark.dataset.claims.split(" ").every(hidden));
  }

  /** The marks of a claim, in text order. */
  of(id) {
    return this._all(`[data-claims~="${CSS.escape(id)}"]`);
  }

  _all(selector) {
    return this.blocks.flatMap((block) =>
      block.items.length ? [...block.element.querySelectorAll(selector)] : [],
    );
  }

  _pieces({ start, end, items }) {
    const bounds = new Set([start, end]);
    for (const item of items)
      for (const at of [item.start, item.end]) if (at > start && at < end) bounds.add(at);
    const order = [...bounds].sort((a, b) => a - b);
    const last = this.text.units[end - 1] === "\n" ? end - 1 : end; // the block ends the line itself
    return order.slice(0, -1).flatMap((from, index) => {
      const to = Math.min(order[index + 1], last);
      const inside = items.filter((item) => item.start <= from && item.end >= order[index + 1]);
      return this._piece(from, to, order[index + 1], inside);
    });
  }

  _piece(from, to, bound, inside) {
    const text = this.text.units.slice(from, to).replaceAll("\r", "");
    if (!inside.length) return [text];
    const owners = [...new Map(inside.map((item) => [item.id, item])).values()];
    owners.sort((a, b) => urgency(a.tone) - urgency(b.tone));
    const anchors = inside
      .filter((item) => item.anchor && item.start === from)
      .map((item) => h("span", { class: "anchor", id: item.anchor }));
    const mark = h(
      "a",
      {
        class: `mark t-${owners[0].tone}`,
        href: `#${encodeURIComponent(owners[0].id)}`,
        "data-claims": owners.map((item) => item.id).join(" "),
        "data-tone": owners[0].tone,
        tabindex: -1,
      },
      text,
    );
    const ending = this.badges
      ? owners.filter((item) => item.end === bound && item.tone !== "excluded").map(badge)
      : [];
    return [...anchors, mark, ...ending];
  }
}

function badge({ id, tone }) {
  return h("a", {
    class: `badge t-${tone}`,
    href: `#${encodeURIComponent(id)}`,
    "data-claims": id,
    "data-tone": tone,
    "data-label": `${look(tone).mark} ${id}`,
    "aria-label": `Claim ${id}: ${look(tone).label}`,
  });
}

function paint(mark, tone, on) {
  for (const name of [...mark.classList]) if (name.startsWith("t-")) mark.classList.remove(name);
  mark.classList.add(`t-${tone}`);
  mark.classList.toggle("on", on);
  if (on && mark.matches(".badge")) mark.setAttribute("aria-current", "true");
  else mark.removeAttribute("aria-current");
}

/** Cut a text into stretches that end where a line does, or a word if the line is very long. */
function cut(units) {
  const cuts = [];
  for (let start = 0; start < units.length; ) {
    let end = units.indexOf("\n", start + BLOCK) + 1 || units.length;
    if (end - start > LONGEST) end = wordEnd(units, start);
    cuts.push([start, end]);
    start = end;
  }
  return cuts;
}

function wordEnd(units, start) {
  const space = units.lastIndexOf(" ", start + LONGEST);
  const end = space > start ? space + 1 : start + LONGEST;
  const split = /[\ud800-\udbff]/.test(units[end - 1]); // never between the halves of a character
  return split ? end - 1 : end;
}

// A long text with the stretches of claims marked in it, in chunks: a claim that comes in redraws
// only the chunks it lies in, and the browser lays out only those that are in view.

import { h } from "./dom.js";
import { blocks, leavesOf } from "./markdown.js";
import { elements } from "./markdown_elements.js";
import { look, urgency } from "./words.js";

const CHUNK = 4000;
const LONGEST_LINE = 20_000;

export class MarkedText {
  /** `text` is a Text; with `badges` each claim ends in a link to it; `formatted` reads Markdown. */
  constructor(container, text, { badges = false, formatted = false } = {}) {
    this.text = text;
    this.badges = badges;
    this.selected = null;
    this._hidden = () => false;
    this.chunks = (formatted ? formattedChunks(text.units) : plainChunks(text.units)).map((chunk) => {
      const leaves = chunk.blocks.flatMap(leavesOf);
      return { ...chunk, leaves, items: [], dirty: true, element: h("div", { class: "block" }) };
    });
    container.classList.toggle("formatted", formatted);
    container.replaceChildren(...this.chunks.map((chunk) => chunk.element));
  }

  /** Mark code points `start` to `end` as of the claim `id`; `anchor` is a name for the place,
   * `weak` is evidence that does not decide, `marked` what the user said of the claim. */
  add(start, end, id, tone, { anchor = null, weak = false, marked = null } = {}) {
    const item = { start: this.text.unit(start), end: this.text.unit(end), id, tone, anchor, weak, marked };
    const touched = this.chunks.filter(
      (chunk) => overlaps(chunk, item) && chunk.leaves.some((leaf) => overlaps(leaf, item)),
    );
    if (touched.length) Object.assign(item, { first: firstOf(touched[0], item), last: lastOf(touched.at(-1), item) });
    for (const chunk of touched) {
      chunk.items.push(item);
      chunk.dirty = true;
    }
  }

  /** Draw what has changed. */
  draw() {
    for (const chunk of this.chunks) {
      if (!chunk.dirty) continue;
      chunk.dirty = false;
      chunk.element.replaceChildren(...elements(chunk.blocks, (leaf) => this._pieces(leaf, chunk.items)));
    }
    this.select(this.selected);
    this.filter(this._hidden);
  }

  /** Show the mark that a user gave a claim: "right", "wrong", or null for none. */
  show(id, marked) {
    for (const chunk of this.chunks)
      for (const item of chunk.items)
        if (item.id === id && item.marked !== marked) {
          item.marked = marked;
          chunk.dirty = true;
        }
    this.draw();
  }

  /** Light up the stretches of a claim; they take its colour where several share one. */
  select(claim) {
    for (const mark of this._all(".on")) paint(mark, mark.dataset.tone, false);
    this.selected = claim;
    if (!claim) return;
    for (const mark of this.of(claim.id)) {
      paint(mark, claim.tone, true);
      mark.classList.toggle("weak", mark.dataset.weak?.split(" ").includes(claim.id) ?? false);
    }
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
    return this.chunks.flatMap((chunk) =>
      chunk.items.length ? [...chunk.element.querySelectorAll(selector)] : [],
    );
  }

  _pieces(leaf, all) {
    const items = all.filter((item) => overlaps(leaf, item));
    const bounds = new Set([leaf.start, leaf.end]);
    for (const item of items)
      for (const at of [item.start, item.end]) if (at > leaf.start && at < leaf.end) bounds.add(at);
    const order = [...bounds].sort((a, b) => a - b);
    return order.slice(0, -1).flatMap((from, index) => {
      const to = order[index + 1];
      const inside = items.filter((item) => item.start <= from && item.end >= to);
      return this._piece(from, to, inside);
    });
  }

  _piece(from, to, inside) {
    const text = this.text.units.slice(from, to).replaceAll("\r", "");
    if (!inside.length) return [text];
    const owners = [...new Map(inside.map((item) => [item.id, item])).values()];
    owners.sort((a, b) => urgency(a.tone) - urgency(b.tone));
    const anchors = inside
      .filter((item) => item.anchor && item.first === from)
      .map((item) => h("span", { class: "anchor", id: item.anchor }));
    // In a source marks are no links: a stretch looks like one only while its claim is chosen.
    const link = this.badges ? { href: `#${encodeURIComponent(owners[0].id)}`, tabindex: -1 } : {};
    const claims = owners.map((item) => item.id).join(" ");
    const weak = owners.filter(({ id }) => inside.every((item) => item.id !== id || item.weak));
    const mark = h(
      this.badges ? "a" : "span",
      { class: `mark t-${owners[0].tone}`, ...link, "data-claims": claims, "data-tone": owners[0].tone, "data-weak": weak.map((item) => item.id).join(" ") || null },
      text,
    );
    const ending = this.badges ? owners.filter((item) => item.last === to).map(badge) : [];
    return [...anchors, mark, ...ending];
  }
}

const overlaps = (leaf, item) => leaf.start < item.end && leaf.end > item.start;
const firstOf = (chunk, item) => Math.max(item.start, chunk.leaves.find((leaf) => overlaps(leaf, item)).start);
const lastOf = (chunk, item) => Math.min(item.end, chunk.leaves.findLast((leaf) => overlaps(leaf, item)).end);

function badge({ id, tone, marked }) {
  const { label, mark } = look(tone);
  const name = tone === "excluded" ? "· skipped" : `${mark} ${id}`;
  return h("a", {
    class: `badge t-${tone}`,
    href: `#${encodeURIComponent(id)}`,
    "data-claims": id,
    "data-tone": tone,
    "data-label": marked ? `${name} ✎` : name,
    "aria-label": `Claim ${id}: ${label}${marked ? `, you marked it ${marked}` : ""}`,
  });
}

function paint(mark, tone, on) {
  for (const name of [...mark.classList]) if (name.startsWith("t-")) mark.classList.remove(name);
  mark.classList.add(`t-${tone}`);
  mark.classList.toggle("on", on);
  if (on && mark.matches(".badge")) mark.setAttribute("aria-current", "true");
  else mark.removeAttribute("aria-current");
}

/** Put the blocks of a Markdown text together until each chunk has some length. */
function formattedChunks(units) {
  const chunks = [];
  for (const block of blocks(units)) {
    const last = chunks.at(-1);
    if (last && last.end - last.start < CHUNK) {
      last.blocks.push(block);
      last.end = block.end;
    } else chunks.push({ start: block.start, end: block.end, blocks: [block] });
  }
  return chunks;
}

/** Cut a text into stretches that end where a line does, or a word if the line is very long. */
function plainChunks(units) {
  const chunks = [];
  for (let start = 0; start < units.length; ) {
    let end = units.indexOf("\n", start + CHUNK) + 1 || units.length;
    if (end - start > LONGEST_LINE) end = wordEnd(units, start);
    const last = units[end - 1] === "\n" ? end - 1 : end; // the chunk ends the line itself
    chunks.push({ start, end, blocks: [{ kind: "plain", leaves: [{ start, end: last, styles: [] }] }] });
    start = end;
  }
  return chunks;
}

function wordEnd(units, start) {
  const space = units.lastIndexOf(" ", start + LONGEST_LINE);
  const end = space > start ? space + 1 : start + LONGEST_LINE;
  const split = /[\ud800-\udbff]/.test(units[end - 1]); // never between the halves of a character
  return split ? end - 1 : end;
}

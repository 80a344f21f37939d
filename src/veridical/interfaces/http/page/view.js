// The two panes: the answer and its claims on the left, details and sources on the right.

import { probability } from "./bits.js";
import { card } from "./card.js";
import { byId, h, s } from "./dom.js";
import { MarkedText } from "./marks.js";
import { Text, oneLine } from "./text.js";
import { capital, checked, count, denominators, headline, listed, look, missing, onlyUnsure, reason, tone, tones } from "./words.js";

const EVERY_MS = 100; // how often what comes in is drawn
const wide = matchMedia("(min-width: 61em)");
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class View {
  constructor({ onmark }) {
    this._onmark = onmark;
    this._timer = null;
    this.show({ question: null, answer: null, sources: [], right: {} });
  }

  /** Show the texts of a check, with no claims yet. */
  show({ question, answer, sources, right = {} }) {
    clearTimeout(this._timer);
    this._timer = null;
    this.claims = new Map();
    this.right = right;
    this.selected = null;
    this.summary = null;
    this._pressed = new Set();
    this._asked = "";
    byId("search").value = "";
    byId("question-part").hidden = !question;
    byId("question-text").textContent = question ?? "";
    byId("answer-part").hidden = answer === null;
    byId("no-answer").hidden = answer !== null;
    const text = answer === null ? null : new Text(answer);
    this.answer = text && new MarkedText(byId("answer-text"), text, { badges: true });
    this.texts = new Map(sources.map((source) => [source.id, new Text(source.text)]));
    this.sources = new Map();
    byId("sources").replaceChildren(...[...this.texts].map(([id, each]) => this._source(id, each)));
    byId("made-by").textContent = "";
    this.select(null, { quiet: true });
    this.draw();
  }

  /** Take in a claim that was decided; it is drawn soon. */
  add(claim) {
    const known = this.claims.has(claim.id);
    this.claims.set(claim.id, claim);
    if (!known) this._mark(claim);
    this._timer ??= setTimeout(() => this.draw(), EVERY_MS);
  }

  /** Put the final report in place of what came in so far. */
  finish({ question, answer, sources, report, right }) {
    const { selected, _pressed: pressed, _asked: asked } = this;
    const known = (claim) => JSON.stringify(this.claims.get(claim.id)) === JSON.stringify(claim);
    const same = this.claims.size === report.claims.length && report.claims.every(known);
    if (!same) {
      this.show({ question, answer, sources, right });
      [this._pressed, this._asked] = [pressed, asked];
      byId("search").value = asked;
    }
    this.claims = new Map(report.claims.map((claim) => [claim.id, claim]));
    if (!same) for (const claim of report.claims) this._mark(claim);
    this.summary = report.summary;
    const { name, model, estimator } = report.backend;
    byId("made-by").textContent = `Checked with ${name} ${model} (${estimator.replaceAll("_", " ")}), ${Math.round(report.summary.latency_ms).toLocaleString("en")} ms.`;
    this.draw();
    this.select(selected, { quiet: true });
  }

  /** Draw what came in. */
  draw() {
    clearTimeout(this._timer);
    this._timer = null;
    this.answer?.draw();
    for (const source of this.sources.values()) source.draw();
    this._tally();
    this._list();
  }

  ordered() {
    return [...this.claims.values()].sort((a, b) => a.span.start - b.span.start || number(a) - number(b));
  }

  /** The claims that the filters let through, in text order. */
  shown() {
    const words = this._asked.toLowerCase().split(/\s+/).filter(Boolean);
    return this.ordered().filter((claim) => {
      if (this._pressed.size && !this._pressed.has(tone(claim))) return false;
      const text = `${claim.id} ${claim.text}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  find(words) {
    this._asked = words;
    this._list();
  }

  press(name) {
    if (!this._pressed.delete(name)) this._pressed.add(name);
    this._tally();
    this._list();
  }

  /** Select a claim by its id, or none; `quiet` leaves the address as it is. */
  select(id, { quiet = false, focus = false } = {}) {
    const claim = this.claims.get(id) ?? null;
    this.selected = claim ? id : null;
    const mark = claim && { id, tone: tone(claim) };
    this.answer?.select(mark);
    for (const source of this.sources.values()) source.select(mark);
    byId("card").replaceChildren(...(claim ? [this._card(claim)] : []));
    document.documentElement.classList.toggle("selected", Boolean(claim));
    this._current();
    if (!quiet) history.replaceState(null, "", claim ? `#${encodeURIComponent(id)}` : location.pathname + location.search);
    if (claim) this._reveal(id, focus);
  }

  /** Go to the next claim that `of(claim)` says yes to; `by` is 1 or -1. */
  step(by, of = checked) {
    const all = this.ordered();
    const stops = this.shown().filter(of);
    if (!stops.length) return;
    const at = all.findIndex((claim) => claim.id === this.selected);
    const ahead = stops.filter((claim) => (all.indexOf(claim) - at) * by > 0);
    const next = by > 0 ? (ahead[0] ?? stops[0]) : (ahead.at(-1) ?? stops.at(-1));
    this.select(next.id, { focus: true });
  }

  /** Scroll to the evidence of the selected claim and put the focus on its place. */
  toEvidence() {
    const place = byId("card").querySelector("[data-go]");
    this._toSource(this.selected, "center");
    (place ?? byId("details")).focus({ preventScroll: !place });
  }

  goTo(anchor) {
    let goal = byId(anchor);
    while (goal && !goal.matches(".mark")) goal = goal.nextElementSibling;
    if (goal) scroll(goal, "center");
  }

  redrawCard() {
    const claim = this.claims.get(this.selected);
    if (claim) byId("card").replaceChildren(this._card(claim));
  }

  /** The cards of the claims to look at, for paper. */
  print(on) {
    const cards = on ? this.ordered().filter(listed).map((claim) => card(claim, this.place)) : [];
    byId("printed").replaceChildren(...cards);
  }

  place = (evidence, index, claim) => {
    const text = this.texts.get(evidence.source);
    if (!text || evidence.start >= Math.min(evidence.end, text.length)) return { label: evidence.source };
    return { label: `${evidence.source}, line ${text.place(evidence.start).line}`, anchor: anchorOf(claim.id, index) };
  };

  _mark(claim) {
    const name = tone(claim);
    this.answer?.add(claim.span.start, claim.span.end, claim.id, name);
    claim.evidence.forEach(({ source, start, end }, index) =>
      this.sources.get(source)?.add(start, end, claim.id, name, anchorOf(claim.id, index)),
    );
  }

  _source(id, text) {
    const body = h("div", { class: "text", dir: "auto" });
    this.sources.set(id, new MarkedText(body, text));
    const title = h("h2", {}, h("span", { class: "chip" }, id), " ", h("span", { class: "n" }, count(text.length, "character")));
    return h("section", { class: "source", "aria-label": `Source ${id}` }, title, body);
  }

  _card(claim) {
    const said = this.right[claim.id];
    const button = (right, label) =>
      h("button", { type: "button", "aria-pressed": String(said === right), onclick: () => this._onmark(claim.id, right) }, label);
    const marking = this.summary && checked(claim)
      ? h("p", { class: "marking" }, "This verdict is", button(true, "Right"), button(false, "Wrong"))
      : null;
    return card(claim, this.place, marking);
  }

  _reveal(id, focus) {
    byId("details").scrollTop = 0;
    const badge = this.answer?.of(id).find((mark) => mark.matches(".badge"));
    const entry = byId("listed").querySelector(`[data-claims="${CSS.escape(id)}"]`);
    const goal = badge ?? entry;
    const inAnswer = this.answer?.of(id)[0] ?? entry;
    inAnswer?.scrollIntoView({ block: "nearest" });
    if (focus) goal?.focus({ preventScroll: true });
    if (wide.matches) this._toSource(id, "center");
  }

  /** Scroll to the evidence that comes first in the card: what decides, else what is nearest. */
  _toSource(id, block) {
    let goal = byId(anchorOf(id, 0));
    while (goal && !goal.matches(".mark")) goal = goal.nextElementSibling;
    if (goal) return scroll(goal, block);
    for (const source of this.sources.values()) {
      const [mark] = source.of(id);
      if (mark) return scroll(mark, block);
    }
  }

  _tally() {
    const counts = new Map();
    for (const claim of this.claims.values()) counts.set(tone(claim), (counts.get(tone(claim)) ?? 0) + 1);
    const present = tones().filter((name) => counts.has(name));
    const total = present.reduce((sum, name) => sum + (name === "excluded" ? 0 : counts.get(name)), 0);
    let x = 0;
    const stretches = present.filter((name) => name !== "excluded").map((name) => {
      const width = (100 * counts.get(name)) / total;
      x += width;
      return s("rect", { class: `t-${name}`, x: x - width, y: 0, width, height: 4 });
    });
    byId("bar").replaceChildren(...stretches);
    const focused = document.activeElement?.dataset?.tone;
    byId("legend").replaceChildren(...present.map((name) => this._filter(name, counts.get(name))));
    if (focused) byId("legend").querySelector(`[data-tone="${focused}"]`)?.focus();
    byId("tally").hidden = !present.length;
    if (!this.summary) return;
    const flagged = [...this.claims.values()].filter((claim) => claim.flagged).length;
    byId("headline").textContent = headline(this.summary, flagged);
    byId("totals").textContent = denominators(this.summary) + missing(this.claims.values()) + grounded(this.summary);
    byId("top").className = `top o-${this.summary.outcome}${onlyUnsure(this.summary) ? " unsure" : ""}`;
  }

  _filter(name, n) {
    const { mark, label, meaning } = look(name);
    return h("li", { class: `t-${name}` },
      h("button", { type: "button", class: `t-${name}`, "data-tone": name, "aria-pressed": String(this._pressed.has(name)), title: meaning, onclick: () => this.press(name) },
        h("span", { class: "sign", "aria-hidden": "true" }, mark), h("b", {}, String(n)), ` ${label}`));
  }

  _list() {
    const shown = this.shown();
    const ids = new Set(shown.map((claim) => claim.id));
    this.answer?.filter((id) => !ids.has(id));
    byId("listed").replaceChildren(...shown.map(entry));
    const all = this.claims.size;
    byId("listed-n").textContent = ids.size === all ? String(all) : `${ids.size} of ${all}`;
    this._current();
  }

  _current() {
    const list = byId("listed");
    for (const on of list.querySelectorAll(".on")) {
      on.classList.remove("on");
      on.removeAttribute("aria-current");
    }
    const mine = this.selected && list.querySelector(`[data-claims="${CSS.escape(this.selected)}"]`);
    mine?.classList.add("on");
    mine?.setAttribute("aria-current", "true");
  }
}

const number = (claim) => Number.parseInt(claim.id.replace(/\D+/g, ""), 10) || 0;
const anchorOf = (id, index) => `${id}-evidence-${index + 1}`;
const scroll = (element, block) =>
  element.scrollIntoView({ block, behavior: calm.matches ? "auto" : "smooth" });

function grounded({ probability_grounded: found }) {
  const known = found !== null && found !== undefined; // reports of earlier versions lack it
  return known ? `; probability that every checked claim is supported: ${probability(found)}` : "";
}

function entry(claim) {
  const { mark, label } = look(tone(claim));
  return h("li", {},
    h("a", { class: `entry t-${tone(claim)}`, href: `#${encodeURIComponent(claim.id)}`, "data-claims": claim.id },
      h("span", { class: "chip" }, `${mark} ${claim.id}`),
      h("span", { class: "what" },
        h("span", { class: "claim-text", dir: "auto" }, oneLine(claim.text)),
        h("span", { class: "why" }, h("b", {}, `${capital(label)}.`), ` ${reason(claim)}`))));
}

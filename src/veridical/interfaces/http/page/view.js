// A check as it is shown: the list of claims, the answer, the details of one claim, the sources.

import { probability } from "./bits.js";
import { card } from "./card.js";
import { ClaimList, inText } from "./claim_list.js";
import { byId, h } from "./dom.js";
import { LONGEST_FORMATTED, looksLikeMarkdown } from "./markdown.js";
import { MarkedText } from "./marked_text.js";
import { arrive, markAt } from "./scrolling.js";
import { Text } from "./text.js";
import { checked, count, deciding, listed, onlyUnsure, plain, tone } from "./words.js";

const EVERY_MS = 100; // how often what comes in is drawn
const wide = matchMedia("(min-width: 61em)");
const EMPTY = { question: null, answer: null, sources: [], marks: {} };

export class View {
  /** `controls(claim)` returns the controls for feedback on a claim. */
  constructor({ controls }) {
    this._controls = controls;
    this._timer = null;
    this.formatted = true;
    this.list = new ClaimList({ onchange: () => this._list() });
    this.show(EMPTY);
  }

  /** Show the texts of a check, with no claims yet. */
  show(check, { fresh = true } = {}) {
    clearTimeout(this._timer);
    this._timer = null;
    this._check = check;
    this.claims = new Map();
    this.marks = check.marks ?? {};
    this.selected = null;
    this.summary = null;
    if (fresh) this.list.reset();
    byId("question-part").hidden = !check.question;
    byId("question-text").textContent = check.question ?? "";
    byId("answer-part").hidden = check.answer === null;
    byId("no-answer").hidden = check.answer !== null;
    byId("made-by").textContent = "";
    this._texts();
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
  finish(check) {
    const { report } = check;
    const { selected } = this;
    const known = (claim) => JSON.stringify(this.claims.get(claim.id)) === JSON.stringify(claim);
    const same = this.claims.size === report.claims.length && report.claims.every(known);
    if (!same) {
      this.show(check, { fresh: false });
      this.claims = new Map(report.claims.map((claim) => [claim.id, claim]));
      for (const claim of report.claims) this._mark(claim);
    }
    this.summary = report.summary;
    this._head(report);
    this.draw();
    this.select(selected, { quiet: true });
  }

  /** Draw what came in. */
  draw() {
    clearTimeout(this._timer);
    this._timer = null;
    this.answer?.draw();
    for (const source of this.sources.values()) source.draw();
    this._list();
  }

  /** Show texts with their Markdown formatted, or as they are written. */
  format(on) {
    this.formatted = on;
    this._texts();
    for (const claim of this.claims.values()) this._mark(claim);
    this.draw();
    this.select(this.selected, { quiet: true });
  }

  ordered() {
    return inText(this.claims.values());
  }

  /** The claim to begin with: the first flagged one of the list, if there is one. */
  first() {
    return this.list.shown(this.claims.values()).find(listed)?.id ?? null;
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
    this.list.select(this.selected);
    const place = location.pathname + location.search;
    if (!quiet) history.replaceState(history.state, "", claim ? `#${encodeURIComponent(id)}` : place);
    if (claim) this._reveal(id, focus);
  }

  /** Go to the next claim of the list that `of(claim)` says yes to; `by` is 1 or -1. */
  step(by, of = checked) {
    const all = this.list.shown(this.claims.values());
    const stops = all.filter(of);
    if (!stops.length) return;
    const at = all.findIndex((claim) => claim.id === this.selected);
    const ahead = stops.filter((claim) => (all.indexOf(claim) - at) * by > 0);
    const next = by > 0 ? (ahead[0] ?? stops[0]) : (ahead.at(-1) ?? stops.at(-1));
    this.select(next.id, { focus: true });
  }

  /** Scroll to the evidence of the selected claim and put the focus on its place. */
  toEvidence() {
    const place = byId("card").querySelector("[data-go]");
    (place ?? byId("details")).focus({ preventScroll: true });
    return this._toSource(this.selected);
  }

  goTo(anchor) {
    const goal = markAt(anchor);
    return goal ? arrive(goal) : null;
  }

  /** Show what the user said of a claim. */
  remark(id, marks) {
    this.marks = marks;
    const mark = marks[id];
    this.answer?.show(id, mark ? (mark.right ? "right" : "wrong") : null);
    this._list();
    if (id === this.selected) byId("card").replaceChildren(this._card(this.claims.get(id)));
  }

  /** The cards of the claims to look at, for paper. */
  print(on) {
    const cards = on ? this.ordered().filter(listed).map((claim) => card(claim, this.place, { open: true })) : [];
    byId("printed").replaceChildren(...cards);
  }

  place = (evidence, index, claim) => {
    const text = this.texts.get(evidence.source);
    if (!text || evidence.start >= Math.min(evidence.end, text.length)) return { label: evidence.source };
    return { label: `${evidence.source}, line ${text.place(evidence.start).line}`, anchor: anchorOf(claim.id, index) };
  };

  _texts() {
    const { answer, sources } = this._check;
    const text = answer === null ? null : new Text(answer);
    const formatted = this.formatted && answer !== null && answer.length < LONGEST_FORMATTED;
    this.answer = text && new MarkedText(byId("answer-text"), text, { badges: true, formatted });
    this.texts = new Map(sources.map((source) => [source.id, new Text(source.text)]));
    this.sources = new Map();
    byId("sources").replaceChildren(...sources.map((source) => this._source(source)));
    byId("format").hidden = ![answer, ...sources.map((source) => source.text)].some((each) => each && looksLikeMarkdown(each));
    byId("format").setAttribute("aria-pressed", String(this.formatted));
  }

  _mark(claim) {
    const name = tone(claim);
    const mark = this.marks[claim.id];
    const marked = mark ? (mark.right ? "right" : "wrong") : null;
    if (!plain(claim)) this.answer?.add(claim.span.start, claim.span.end, claim.id, name, { marked });
    claim.evidence.forEach(({ source, start, end, role }, index) => {
      const weak = index !== deciding(claim) && role === "nearest";
      this.sources.get(source)?.add(start, end, claim.id, name, { anchor: anchorOf(claim.id, index), weak });
    });
  }

  _source({ id, name = null, text }) {
    const body = h("div", { class: "text", dir: "auto" });
    const written = name ? /\.(md|markdown)$/i.test(name) : looksLikeMarkdown(text);
    const formatted = this.formatted && written && text.length < LONGEST_FORMATTED;
    this.sources.set(id, new MarkedText(body, this.texts.get(id), { formatted }));
    const path = name && name !== id ? h("span", { class: "path" }, name) : null;
    const length = h("span", { class: "n" }, count(this.texts.get(id).length, "character"));
    return h("section", { class: "source", "aria-label": `Source ${id}` }, h("h2", {}, h("span", { class: "chip" }, id), path, length), body);
  }

  _card(claim) {
    const open = Boolean(byId("card").querySelector(".figures")?.open);
    return card(claim, this.place, { marking: this.summary ? this._controls(claim) : null, open });
  }

  _reveal(id, focus) {
    byId("details").scrollTop = 0;
    const badge = this.answer?.of(id).find((mark) => mark.matches(".badge"));
    const entry = this.list.entry(id);
    if (wide.matches) entry?.scrollIntoView({ block: "nearest" });
    (this.answer?.of(id)[0] ?? entry)?.scrollIntoView({ block: "nearest" });
    if (focus) (badge ?? entry)?.focus({ preventScroll: true });
    if (wide.matches) this._toSource(id);
  }

  /** Scroll to the evidence that decides, else to what is nearest. */
  _toSource(id) {
    const goal = markAt(anchorOf(id, deciding(this.claims.get(id)))) ?? [...this.sources.values()].flatMap((source) => source.of(id))[0];
    return goal ? arrive(goal) : null;
  }

  _list() {
    const claims = [...this.claims.values()];
    const shown = this.list.shown(claims);
    const ids = new Set(shown.map((claim) => claim.id));
    this.answer?.filter((id) => !ids.has(id));
    this.list.draw(claims, shown, this.marks);
    this.list.select(this.selected);
  }

  _head({ summary, backend }) {
    byId("headline").textContent = summary.headline ?? `${summary.outcome.replaceAll("_", " ")}`;
    byId("totals").textContent = summary.coverage ?? "";
    byId("top").className = `top o-${summary.outcome}${onlyUnsure(summary) ? " unsure" : ""}`;
    const { name, model, estimator } = backend;
    const took = summary.latency_ms ? ` in ${Math.round(summary.latency_ms).toLocaleString("en")} ms` : "";
    byId("made-by").textContent = `Checked with ${name} ${model} (${estimator.replaceAll("_", " ")})${took}${grounded(summary)}.`;
  }
}

const anchorOf = (id, index) => `${id}-evidence-${index + 1}`;

function grounded({ probability_grounded: found }) {
  const known = found !== null && found !== undefined; // reports of earlier versions lack it
  return known ? `. Probability that every checked claim is supported: ${probability(found)}` : "";
}

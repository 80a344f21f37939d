// What a user says of a verdict: right or wrong, what would have been right, and why. It shows at
// once; what the service does not take is taken back.

import { byId, h } from "./dom.js";
import { capital, checked, otherStatuses } from "./words.js";

export class Feedback {
  /** `send(id, mark)` tells the service, null for no mark; `onchange(id)` is called at each change. */
  constructor({ send, onchange }) {
    this._send = send;
    this._onchange = onchange;
    this._sent = Promise.resolve();
    this.marks = {};
  }

  /** Say that a verdict is right or wrong; the same once more takes it back. */
  toggle(id, right) {
    return this._set(id, this.marks[id]?.right === right ? null : { right, actual: null, comment: null });
  }

  async _set(id, mark) {
    const before = this.marks[id] ?? null;
    this._keep(id, mark);
    // One after the other, so that what was said last is what is kept.
    this._sent = this._sent.catch(() => {}).then(() => this._send(id, mark));
    try {
      await this._sent;
    } catch (error) {
      this._keep(id, before);
      throw error;
    }
  }

  _keep(id, mark) {
    const { [id]: _, ...others } = this.marks;
    this.marks = mark ? { ...others, [id]: mark } : others;
    this._onchange(id);
  }

  /** The controls for a claim; `act(promise)` waits for what they begin. */
  controls(claim, act) {
    if (!checked(claim)) return null;
    const mark = this.marks[claim.id] ?? null;
    const button = (right, name) =>
      h("button", { type: "button", "aria-pressed": String(mark?.right === right), onclick: () => act(this.toggle(claim.id, right)) }, name);
    const undo = h("button", { type: "button", class: "plain", onclick: () => act(this._set(claim.id, null)) }, "Undo");
    return h(
      "div",
      { class: "marking" },
      h("p", {}, mark ? `You marked this verdict ${mark.right ? "right" : "wrong"}.` : "Is this verdict", button(true, "Right"), button(false, "Wrong"), mark && undo),
      mark && this._more(claim, mark, act),
    );
  }

  _more(claim, mark, act) {
    const status = h(
      "select",
      { "aria-label": "The right status" },
      h("option", { value: "" }, "Right would be…"),
      otherStatuses(claim.status).map(([name, { label }]) => h("option", { value: name, selected: name === mark.actual }, capital(label))),
    );
    const comment = h("input", { type: "text", maxlength: 2000, placeholder: "Comment", "aria-label": "Comment", value: mark.comment ?? "", dir: "auto" });
    const save = (event) => {
      event.preventDefault();
      const actual = mark.right ? null : status.value || null;
      act(this._set(claim.id, { right: mark.right, actual, comment: comment.value.trim() || null }));
    };
    return h("form", { class: "more", onsubmit: save }, mark.right ? null : status, comment, h("button", {}, "Save"));
  }
}

/** Put the focus back on the control that had it, after the card was drawn again. */
export function keepFocus(draw) {
  const card = byId("card");
  const controls = () => [...card.querySelectorAll(".marking button, .marking select, .marking input")];
  const name = (each) => each.ariaLabel ?? each.textContent;
  const had = card.contains(document.activeElement) ? name(document.activeElement) : null;
  draw();
  if (had !== null) (controls().find((each) => name(each) === had) ?? controls()[0])?.focus();
}

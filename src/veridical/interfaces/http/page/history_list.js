// The reports that the service keeps: a list to search in, each with an address of its own.

import { byId, h } from "./dom.js";
import { oneLine } from "./text.js";
import { keptReports } from "./service.js";
import { count } from "./words.js";

const WAIT_MS = 200;

export class HistoryList {
  /** `onfail(error, again)` is called where the list cannot be had. */
  constructor({ onfail }) {
    this._onfail = onfail;
    this._timer = null;
    this._asked = 0;
    byId("history-open").addEventListener("click", () => this.open());
    byId("history-search").addEventListener("input", () => {
      clearTimeout(this._timer);
      this._timer = setTimeout(() => this._load(), WAIT_MS);
    });
  }

  open() {
    byId("history-search").value = "";
    byId("history").showModal();
    return this._load();
  }

  close() {
    byId("history").close();
  }

  async _load() {
    this._asked += 1;
    const mine = this._asked;
    const words = byId("history-search").value.trim();
    try {
      const { total, reports } = await keptReports(words);
      if (mine === this._asked) this._show(total, reports, words);
    } catch (error) {
      this.close();
      this._onfail(error, () => this.open());
    }
  }

  _show(total, reports, words) {
    const none = words ? "No report has these words." : "No report is kept yet. Each check that you run appears here for a while.";
    byId("history-n").textContent = total ? count(total, "report") : none;
    byId("history-list").replaceChildren(...reports.map(row));
  }
}

function row({ id, created, outcome, headline, question, answer, sources }) {
  const when = new Date(created);
  const text = oneLine(question || answer.replace(/[#*`|_>]+/g, " ")); // a line of Markdown is no Markdown
  return h("li", {},
    h("a", { href: `?report=${encodeURIComponent(id)}`, class: `kept o-${outcome}` },
      h("span", { class: "claim-text", dir: "auto" }, text),
      h("span", { class: "n" }, headline),
      h("span", { class: "n" }, h("time", { datetime: created }, when.toLocaleString("en", { dateStyle: "medium", timeStyle: "short" })), sources && ` · ${sources}`)));
}

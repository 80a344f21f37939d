// Where texts come in: typed, pasted, dropped.

import { byId, h } from "./dom.js";
import { sourcesOf } from "./uploads.js";
import { count } from "./words.js";

const ASIDE = 20_000; // a text of more characters is kept aside, for a text field would be slow

export class Form {
  /** `onfile(name, text)` says whether a file is a report; `onproblem(error, again)` tells a problem. */
  constructor({ onsubmit, onfile, onproblem }) {
    this._rows = [];
    this._onproblem = onproblem;
    this._onfile = onfile;
    byId("form").addEventListener("submit", (event) => {
      event.preventDefault();
      onsubmit();
    });
    byId("add-source").addEventListener("click", () => this._add().field.focus());
    byId("add-files").addEventListener("click", () => byId("file-sources").click());
    byId("file-sources").addEventListener("change", (event) => this.take(event.target));
    this._dropping();
    this._add();
  }

  /** What is to be checked; a string says what is missing. */
  request() {
    const answer = byId("answer-in").value;
    const question = byId("question-in").value.trim();
    const sources = this.sources();
    if (!answer.trim()) return "There is no answer to check.";
    if (!sources.length) return "There are no sources: add a text or a file to check against.";
    const ids = sources.map((source) => source.id);
    const twice = ids.find((id, index) => ids.indexOf(id) !== index);
    if (twice !== undefined) return `Two sources have the id ${twice}: give each its own.`;
    return { answer, sources, ...(question ? { question } : {}) };
  }

  sources() {
    const answer = byId("answer-in").value;
    return this._rows
      .map(({ id, text, name, given }) => {
        const cited = name && id.value === given && answer.includes(`[${name}]`);
        return { id: cited ? name : id.value.trim(), text: text(), ...(name ? { name } : {}) };
      })
      .filter(({ text }) => text.trim())
      .map((source, index) => ({ ...source, id: source.id || `S${index + 1}` }));
  }

  /** Whether nothing is filled in yet. */
  get empty() {
    return !byId("answer-in").value.trim() && !this.sources().length;
  }

  fill({ answer, question, sources }) {
    byId("answer-in").value = answer ?? "";
    byId("question-in").value = question ?? "";
    for (const row of [...this._rows]) this._remove(row);
    for (const source of sources) this._add(source);
    if (!sources.length) this._add();
  }

  async take(input) {
    await this._files([...input.files]);
    input.value = "";
  }

  async _files(files) {
    for (const file of files) {
      try {
        if (/\.json$/i.test(file.name) && (await this._onfile(file.name, await file.text()))) continue;
        const found = await sourcesOf(file);
        if (typeof found === "string") this._onproblem(found);
        else for (const { text, name } of found) this._add({ text, name });
      } catch (error) {
        this._onproblem(error, () => this._files([file]));
      }
    }
  }

  _freeId() {
    const taken = new Set(this._rows.filter((row) => row.text().trim()).map((row) => row.id.value.trim()));
    for (let n = 1; ; n += 1) if (!taken.has(`S${n}`)) return `S${n}`;
  }

  _add({ id = null, text = "", name = null } = {}) {
    const empty = this._rows.find((row) => row.field && !row.field.value.trim());
    if (text && empty) this._remove(empty);
    const number = this._rows.length + 1;
    const cited = name && byId("answer-in").value.includes(`[${name}]`);
    const given = id ?? (cited ? name : this._freeId());
    const label = h("input", { class: "sid", value: given, "aria-label": `Id of source ${number}`, spellcheck: "false", autocomplete: "off" });
    const aside = name !== null || text.length > ASIDE;
    const field = aside ? null : h("textarea", { "aria-label": `Text of source ${number}`, rows: 4, dir: "auto", spellcheck: "false", placeholder: "The text that the answer has to rest on" });
    if (field) field.value = text;
    const shown = field ?? h("div", { class: "file" }, h("b", {}, name ?? "Pasted text"), h("span", { class: "n" }, count(text.length, "character")));
    const row = { id: label, given: id === null ? given : null, name, field, text: () => (field ? field.value : text) };
    const remove = h("button", { type: "button", "aria-label": `Remove source ${number}`, onclick: () => this._remove(row) }, "✕");
    row.element = h("li", { class: "source-in" }, label, shown, remove);
    byId("sources-in").append(row.element);
    this._rows.push(row);
    return row;
  }

  _remove(row) {
    row.element.remove();
    this._rows = this._rows.filter((each) => each !== row);
  }

  _dropping() {
    const root = document.documentElement;
    const files = (event) => event.dataTransfer?.types.includes("Files");
    addEventListener("dragover", (event) => {
      if (!files(event)) return;
      event.preventDefault();
      root.classList.add("dropping");
    });
    addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) root.classList.remove("dropping");
    });
    addEventListener("drop", (event) => {
      root.classList.remove("dropping");
      if (!files(event)) return;
      event.preventDefault();
      this._files([...event.dataTransfer.files]);
    });
  }
}

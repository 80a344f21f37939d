// Blocks of a Markdown text with the place of every character: what is shown is a slice of the text.
//
// A block is `{kind, start, end, level, children, leaves}`; it has children or leaves. A leaf is
// `{start, end, styles}`, in UTF-16 units of the whole text. Characters in no leaf are syntax. A reader
// of its own, as others do not say where within a line a character stands; a test compares it with one.

import { runs } from "./markdown_inline.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const SETEXT = /^ {0,3}(=+|-+)[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|(\d{1,9})[.)])(?:([ \t]+)|$)/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const DEEPEST = 12;

export const LONGEST_FORMATTED = 300_000; // a longer text is shown as it is written

/** Whether a text has lines that are Markdown and would look odd as plain text. */
export const looksLikeMarkdown = (text) =>
  /(?:^|\n)(?:#{1,6} \S|[-*+] \S|\d{1,3}\. \S|```|> \S|\|.*\|[ \t]*\n\|?[ \t:|-]+\n)|\*\*\S/.test(text.slice(0, 50_000));

/** The leaves of a block, in text order. */
export const leavesOf = (block) => block.leaves ?? block.children.flatMap(leavesOf);

export function blocks(text) {
  const lines = [];
  for (let start = 0; start <= text.length; ) {
    const next = text.indexOf("\n", start);
    const end = next < 0 ? text.length : next;
    lines.push([start, text[end - 1] === "\r" ? end - 1 : end]);
    start = end + 1;
  }
  return new Reader(text).read(lines, 0);
}

class Reader {
  constructor(text) {
    this._text = text;
  }

  line([start, end]) {
    return this._text.slice(start, end);
  }

  blank(line) {
    return !this.line(line).trim();
  }

  read(lines, depth) {
    const found = [];
    for (let at = 0; at < lines.length; ) {
      if (this.blank(lines[at])) {
        at += 1;
        continue;
      }
      const [block, next] = this.block(lines, at, depth);
      found.push({ start: lines[at][0], end: lines[next - 1][1], ...block });
      at = next;
    }
    return found;
  }

  block(lines, at, depth) {
    const line = this.line(lines[at]);
    if (FENCE.test(line)) return this.fence(lines, at);
    if (HEADING.test(line)) return [this.heading(lines[at]), at + 1];
    if (RULE.test(line)) return [{ kind: "rule", leaves: [] }, at + 1];
    if (this.tableAt(lines, at)) return this.table(lines, at);
    if (QUOTE.test(line) && depth < DEEPEST) return this.quote(lines, at, depth);
    if (ITEM.test(line) && depth < DEEPEST) return this.list(lines, at, depth);
    if (/^(?: {4}| {0,3}\t)/.test(line)) return this.indented(lines, at);
    return this.paragraph(lines, at);
  }

  /** Whether a line begins another block than a paragraph, in the middle of one. */
  interrupts(lines, at) {
    const line = this.line(lines[at]);
    if (FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)) return true;
    const item = ITEM.exec(line);
    if (item && item[4] && line.slice(item[0].length).trim() && (!item[3] || Number(item[3]) === 1)) return true;
    return this.tableAt(lines, at);
  }

  fence(lines, at) {
    const [, ticks] = FENCE.exec(this.line(lines[at]));
    const indent = /^ */.exec(this.line(lines[at]))[0].length;
    const ends = (line) => {
      const trimmed = line.trim();
      return /^ {0,3}\S/.test(line) && trimmed.length >= ticks.length && trimmed === ticks[0].repeat(trimmed.length);
    };
    let to = at + 1;
    while (to < lines.length && !ends(this.line(lines[to]))) to += 1;
    const inner = lines.slice(at + 1, to).map((line) => this.cut(line, indent));
    return [{ kind: "code", leaves: this.whole(inner) }, Math.min(to + 1, lines.length)];
  }

  indented(lines, at) {
    let to = at;
    for (let next = at; next < lines.length; next += 1) {
      if (this.blank(lines[next])) continue;
      if (!/^(?: {4}| {0,3}\t)/.test(this.line(lines[next]))) break;
      to = next;
    }
    const inner = lines.slice(at, to + 1).map((line) => this.cut(line, 4));
    return [{ kind: "code", leaves: this.whole(inner) }, to + 1];
  }

  heading([start, end]) {
    const line = this.line([start, end]);
    const level = HEADING.exec(line)[1].length;
    const from = /^ {0,3}#+[ \t]*/.exec(line)[0].length;
    const rest = line.slice(from).replace(/(?:^|[ \t]+)#+[ \t]*$/, "").trimEnd();
    return { kind: "heading", level, leaves: this.styled([[start + from, start + from + rest.length]]) };
  }

  quote(lines, at, depth) {
    const inner = [];
    let to = at;
    for (; to < lines.length; to += 1) {
      const marker = QUOTE.exec(this.line(lines[to]));
      if (!marker && !this.continues(inner.at(-1), lines, to)) break;
      inner.push([lines[to][0] + (marker?.[0].length ?? 0), lines[to][1]]);
    }
    return [{ kind: "quote", children: this.read(inner, depth + 1) }, to];
  }

  /** Whether a line without a marker goes on with the paragraph of a quote. */
  continues(last, lines, to) {
    const line = this.line(last);
    if (!line.trim() || FENCE.test(line) || HEADING.test(line) || RULE.test(line)) return false;
    return !this.blank(lines[to]) && !this.interrupts(lines, to) && !ITEM.test(this.line(lines[to]));
  }

  list(lines, at, depth) {
    const first = ITEM.exec(this.line(lines[at]));
    const kindOf = (item) => (item[3] ? item[2].at(-1) : item[2]);
    const children = [];
    let next = at;
    while (next < lines.length) {
      const item = ITEM.exec(this.line(lines[next]));
      if (!item || kindOf(item) !== kindOf(first) || RULE.test(this.line(lines[next]))) break;
      const [child, after] = this.item(lines, next, item, depth);
      children.push(child);
      next = after;
    }
    const ordered = first[3] ? { ordered: true, first: Number(first[3]) } : { ordered: false };
    return [{ kind: "list", ...ordered, children }, this.unblank(lines, at, next)];
  }

  item(lines, at, marker, depth) {
    const spaces = marker[4]?.replaceAll("\t", "    ").length ?? 0;
    const width = marker[1].length + marker[2].length + (spaces > 4 || !spaces ? 1 : spaces);
    const used = spaces > 4 ? marker[1].length + marker[2].length + 1 : marker[0].length;
    const inner = [[lines[at][0] + used, lines[at][1]]];
    let to = at + 1;
    for (; to < lines.length; to += 1) {
      const line = this.line(lines[to]);
      const indent = /^[ \t]*/.exec(line)[0].replaceAll("\t", "    ").length;
      if (this.blank(lines[to])) inner.push([lines[to][1], lines[to][1]]);
      else if (indent >= width) inner.push(this.cut(lines[to], width));
      else if (this.blank(lines[to - 1]) || this.interrupts(lines, to) || ITEM.test(line)) break;
      else inner.push(this.cut(lines[to], indent));
    }
    to = this.unblank(lines, at, to);
    const children = this.read(inner, depth + 1);
    return [{ kind: "item", start: lines[at][0], end: lines[to - 1][1], children }, this.reblank(lines, to)];
  }

  /** Leave blank lines at the end out. */
  unblank(lines, at, to) {
    while (to > at + 1 && this.blank(lines[to - 1])) to -= 1;
    return to;
  }

  reblank(lines, to) {
    while (to < lines.length && this.blank(lines[to])) to += 1;
    return to;
  }

  tableAt(lines, at) {
    if (at + 1 >= lines.length || !this.line(lines[at]).includes("|")) return false;
    const under = this.line(lines[at + 1]);
    if (!TABLE_RULE.test(under) || !under.includes("-")) return false;
    return this.cells(lines[at]).length === this.cells(lines[at + 1]).length;
  }

  table(lines, at) {
    const rows = [lines[at]];
    let to = at + 2;
    while (to < lines.length && !this.blank(lines[to]) && (this.line(lines[to]).includes("|") || !this.interrupts(lines, to))) {
      rows.push(lines[to]);
      to += 1;
    }
    const children = rows.map((row, index) => ({
      kind: "row",
      start: row[0],
      end: row[1],
      children: this.cells(row).map(([start, end]) => ({
        kind: index ? "cell" : "head",
        start,
        end,
        leaves: this.styled([[start, end]]),
      })),
    }));
    return [{ kind: "table", children }, to];
  }

  /** Return the cells of a row, without the space around their texts. */
  cells([start, end]) {
    const line = this.line([start, end]);
    const found = [];
    const margin = /^[ \t]*\|?/.exec(line)[0].length;
    let from = margin;
    for (let at = margin; at <= line.length; at += 1) {
      if (line[at] === "\\") at += 1;
      else if (at === line.length || line[at] === "|") {
        const cell = line.slice(from, at);
        if (at < line.length || cell.trim() || !found.length) {
          const left = cell.length - cell.trimStart().length;
          found.push([start + from + left, start + from + Math.max(left, cell.trimEnd().length)]);
        }
        from = at + 1;
      }
    }
    return found;
  }

  paragraph(lines, at) {
    let to = at + 1;
    for (; to < lines.length && !this.blank(lines[to]); to += 1) {
      const under = SETEXT.exec(this.line(lines[to]));
      if (under) {
        const level = under[1][0] === "=" ? 1 : 2;
        return [{ kind: "heading", level, leaves: this.styled(this.trimmed(lines.slice(at, to))) }, to + 1];
      }
      if (this.interrupts(lines, to)) break;
    }
    return [{ kind: "paragraph", leaves: this.styled(this.trimmed(lines.slice(at, to))) }, to];
  }

  trimmed(lines) {
    return lines.map(([start, end], index) => {
      const line = this.line([start, end]);
      const right = index === lines.length - 1 ? line.length - line.trimEnd().length : 0;
      return [start + line.length - line.trimStart().length, end - right];
    });
  }

  /** Leave out up to `indent` columns of white space at the beginning of a line. */
  cut([start, end], indent) {
    let columns = 0;
    let at = start;
    for (; at < end && columns < indent && /[ \t]/.test(this._text[at]); at += 1) columns += this._text[at] === "\t" ? 4 : 1;
    return [at, end];
  }

  /** Return the leaves of lines as they stand, with the line breaks between them. */
  whole(lines) {
    return lines
      .map(([start, end], index) => ({ start, end: index < lines.length - 1 ? this.after(end) : end, styles: [] }))
      .filter(({ start, end }) => start < end);
  }

  after(end) {
    const at = this._text.indexOf("\n", end);
    return at < 0 ? end : at + 1;
  }

  /** Return the leaves of lines whose emphasis, code and links are read. */
  styled(lines) {
    const parts = this.whole(lines);
    const joined = parts.map(({ start, end }) => this._text.slice(start, end)).join("");
    const leaves = [];
    let index = 0;
    let offset = 0; // where the current part begins in the joined text
    for (const [start, end, styles] of runs(joined)) {
      for (let from = start; from < end; ) {
        while (from >= offset + parts[index].end - parts[index].start) {
          offset += parts[index].end - parts[index].start;
          index += 1;
        }
        const to = Math.min(end, offset + parts[index].end - parts[index].start);
        const shift = parts[index].start - offset;
        leaves.push({ start: from + shift, end: to + shift, styles });
        from = to;
      }
    }
    return leaves;
  }
}

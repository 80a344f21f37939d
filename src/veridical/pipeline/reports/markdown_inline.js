// Markdown within a line: emphasis, code, links, escapes, as runs of characters with their styles.
// Every run keeps the place of its characters; what is syntax belongs to no run. Markup of HTML is
// text here, as is `[S1]`, which is a citation and no link.

const PUNCTUATION = /[\p{P}\p{S}]/u;
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const AUTOLINK = /^<(https?:\/\/[^\s<>]{1,2000}|[\w.+-]{1,64}@[\w.-]{1,250})>/;
const LONGEST_LINK = 4000;
const LONGEST = 20_000; // a longer text is shown as it is: delimiters take more than linear time

/** Return runs `[start, end, styles]` of a text, in order: styles are names such as "strong". */
export function runs(text) {
  if (text.length > LONGEST) return [[0, text.length, []]];
  const found = [];
  const open = []; // delimiters that may begin or end emphasis
  scan(text, 0, text.length, [], found, open);
  pair(open);
  return split(found);
}

function scan(text, start, end, styles, found, open) {
  let from = start;
  const until = (to) => {
    if (to > from) found.push({ start: from, end: to, styles });
  };
  for (let at = start; at < end; ) {
    const [skip, act] = construct(text, at, end, styles, found, open) ?? [0, null];
    if (!skip) {
      at += 1;
      continue;
    }
    until(at);
    act();
    at += skip;
    from = at;
  }
  until(end);
}

/** Return how many characters a construct takes that begins here, and what notes it down. */
function construct(text, at, end, styles, found, open) {
  const sign = text[at];
  if (sign === "\\" && at + 1 < end && (ESCAPABLE.test(text[at + 1]) || text[at + 1] === "\n"))
    return [2, () => found.push({ start: at + 1, end: at + 2, styles })];
  if (sign === "`") return code(text, at, end, styles, found);
  if (sign === "<") return autolink(text, at, end, styles, found);
  if (sign === "[" || (sign === "!" && text[at + 1] === "[")) return link(text, at, end, styles, found, open);
  if (sign === "*" || sign === "_" || sign === "~") return delimiters(text, at, end, styles, found, open);
  return null;
}

function code(text, at, end, styles, found) {
  const ticks = /^`+/.exec(text.slice(at, end))[0].length;
  const literal = [ticks, () => found.push({ start: at, end: at + ticks, styles })];
  for (let to = at + ticks; to < end; ) {
    const next = text.indexOf("`", to);
    if (next < 0 || next >= end) return literal;
    const width = /^`+/.exec(text.slice(next, end))[0].length;
    if (width === ticks) {
      const inner = text.slice(at + ticks, next);
      const padded = inner.trim() && /^\s/.test(inner) && /\s$/.test(inner) ? 1 : 0;
      const run = { start: at + ticks + padded, end: next - padded, styles: [...styles, "code"] };
      return [next + ticks - at, () => found.push(run)];
    }
    to = next + width;
  }
  return literal;
}

function autolink(text, at, end, styles, found) {
  const match = AUTOLINK.exec(text.slice(at, Math.min(end, at + 2048)));
  if (!match) return null;
  const run = { start: at + 1, end: at + match[0].length - 1, styles: [...styles, "link"] };
  return [match[0].length, () => found.push(run)];
}

function link(text, at, end, styles, found, open) {
  const label = at + (text[at] === "!" ? 2 : 1);
  const close = closing(text, label, Math.min(end, at + LONGEST_LINK));
  if (close < 0 || text[close + 1] !== "(") return null;
  const rest = /^\([ \n]*(?:<[^<>\n]*>|(?:[^\s()<]|\([^\s()]*\))*)(?:[ \n]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \n]*\)/.exec(
    text.slice(close + 1, Math.min(end, close + LONGEST_LINK)),
  );
  if (!rest) return null;
  const within = [...styles, "link"];
  const inner = [];
  const act = () => {
    scan(text, label, close, within, found, inner);
    pair(inner);
  };
  return [close + 1 + rest[0].length - at, act];
}

/** Return the place of the bracket that ends a label, -1 if there is none. */
function closing(text, from, end) {
  let depth = 0;
  for (let at = from; at < end; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "`") {
      const ticks = /^`+/.exec(text.slice(at, end))[0];
      const next = text.indexOf(ticks, at + ticks.length);
      at = next > 0 && next < end ? next + ticks.length - 1 : at + ticks.length - 1;
    } else if (text[at] === "[") depth += 1;
    else if (text[at] === "]") {
      if (!depth) return at;
      depth -= 1;
    }
  }
  return -1;
}

// --- emphasis (CommonMark 0.31, 6.2) -----------------------------------------------------------

function delimiters(text, at, end, styles, found, open) {
  const sign = text[at];
  let width = 1;
  while (at + width < end && text[at + width] === sign) width += 1;
  if (sign === "~" && width !== 2) return null;
  const [before, after] = [text[at - 1] ?? " ", text[at + width] ?? " "];
  const leftFlanking = !/\s/.test(after) && (!PUNCTUATION.test(after) || /\s/.test(before) || PUNCTUATION.test(before));
  const rightFlanking = !/\s/.test(before) && (!PUNCTUATION.test(before) || /\s/.test(after) || PUNCTUATION.test(after));
  const run = { start: at, end: at + width, styles, delimiter: true, left: 0, right: 0 };
  const canOpen = leftFlanking && (sign !== "_" || !rightFlanking || PUNCTUATION.test(before));
  const canClose = rightFlanking && (sign !== "_" || !leftFlanking || PUNCTUATION.test(after));
  const mine = { sign, width, unused: width, canOpen, canClose, run, found };
  const act = () => {
    mine.index = found.push(run) - 1;
    open.push(mine);
  };
  return [width, act];
}

/** Pair delimiters up; the runs between two that belong together take their style. */
function pair(all) {
  for (let at = 0; at < all.length; at += 1) {
    const closer = all[at];
    while (closer.canClose && closer.unused > 0) {
      let begin = at - 1;
      while (begin >= 0 && !answers(all[begin], closer)) begin -= 1;
      if (begin < 0) break;
      style(all[begin], closer);
      for (let between = begin + 1; between < at; between += 1) all[between].canOpen = false;
    }
  }
}

function style(opener, closer) {
  const n = opener.sign === "~" || (opener.unused > 1 && closer.unused > 1) ? 2 : 1;
  const name = opener.sign === "~" ? "struck" : n === 2 ? "strong" : "em";
  for (const run of opener.found.slice(opener.index + 1, closer.index)) run.styles = [...run.styles, name];
  opener.unused -= n;
  closer.unused -= n;
  opener.run.right += n; // an opener is used from its inner end, a closer from its beginning
  closer.run.left += n;
}

function answers(opener, closer) {
  if (opener.sign !== closer.sign || !opener.canOpen || opener.unused < 1) return false;
  const three = (opener.canClose || closer.canOpen) && (opener.width + closer.width) % 3 === 0;
  return !three || (opener.width % 3 === 0 && closer.width % 3 === 0);
}

/** Leave out the used part of delimiters; delimiters that no other one answers are text. */
function split(found) {
  const shown = [];
  for (const { start, end, styles, delimiter, left, right } of found) {
    const [from, to] = delimiter ? [start + left, end - right] : [start, end];
    if (from < to) shown.push([from, to, [...new Set(styles)]]);
  }
  return shown;
}

// The answer of an exported report, drawn as Markdown: the page holds its plain text with marks and
// badges, and this puts them into elements of its blocks. Without scripts the plain text stays.

import { byId, h } from "./dom.js";
import { LONGEST_FORMATTED, blocks, leavesOf, looksLikeMarkdown } from "./markdown.js";
import { elements } from "./markdown_elements.js";

export function drawAnswer() {
  const container = byId("answer-text");
  const text = container?.textContent ?? "";
  if (text.length >= LONGEST_FORMATTED || !looksLikeMarkdown(text)) return;
  const read = blocks(text);
  const leaves = read.flatMap(leavesOf);
  if (!leaves.length) return;
  const content = contentOf(partsOf(container), leaves);
  container.classList.add("formatted");
  container.replaceChildren(h("div", { class: "block" }, elements(read, (leaf) => content.get(leaf))));
}

/** Return the texts, marks and badges with their places; a badge is at the end of its claim. */
function partsOf(container) {
  let at = 0;
  return [...container.childNodes].map((node) => {
    const start = at;
    at += node.textContent.length;
    return { node, start, end: at };
  });
}

/** Return the content of each leaf; a badge after syntax goes to the leaf before it. */
function contentOf(parts, leaves) {
  const content = new Map();
  let at = 0;
  for (const [index, leaf] of leaves.entries()) {
    const next = leaves[index + 1]?.start ?? Infinity;
    const found = [];
    for (; at < parts.length; at += 1) {
      const { node, start, end } = parts[at];
      if (start > next || (start === next && start < end)) break;
      if (start === end) found.push(node);
      else if (start < leaf.end && end > leaf.start) found.push(cut(node, leaf.start - start, leaf.end - start));
      if (end > next) break; // the rest belongs to the next leaf
    }
    content.set(leaf, found);
  }
  return content;
}

function cut(node, from, to) {
  const part = node.cloneNode(false);
  part.textContent = node.textContent.slice(Math.max(from, 0), to);
  return part;
}

// Elements for the blocks of a Markdown text; `pieces(leaf)` gives the content of a leaf.

import { h } from "./dom.js";

const TAGS = { strong: "strong", em: "em", struck: "s", code: "code" };

export function elements(blocks, pieces) {
  return blocks.map((block) => element(block, pieces));
}

function element(block, pieces) {
  switch (block.kind) {
    case "plain":
      return h("div", {}, inline(block, pieces));
    case "heading":
      return h("p", { class: "md md-heading", "data-level": block.level }, inline(block, pieces));
    case "code":
      return h("pre", { class: "md", tabindex: 0 }, h("code", {}, inline(block, pieces)));
    case "rule":
      return h("hr", { class: "md" });
    case "quote":
      return h("blockquote", { class: "md" }, elements(block.children, pieces));
    case "list":
      return h(block.ordered ? "ol" : "ul", { class: "md", start: block.ordered ? block.first : null }, elements(block.children, pieces));
    case "item":
      return h("li", {}, elements(block.children, pieces));
    case "table":
      return table(block, pieces);
    default:
      return h("p", { class: "md" }, inline(block, pieces));
  }
}

function table({ children: [head, ...rows] }, pieces) {
  const row = (each) => h("tr", {}, each.children.map((cell) => h(cell.kind === "head" ? "th" : "td", {}, inline(cell, pieces))));
  return h("div", { class: "md md-table", tabindex: 0, role: "region", "aria-label": "Table" }, h("table", {}, h("thead", {}, row(head)), h("tbody", {}, rows.map(row))));
}

const inline = (block, pieces) => block.leaves.map((leaf) => styled(leaf, pieces(leaf)));

function styled({ styles }, content) {
  return styles.reduce(
    (inner, style) => [h(TAGS[style] ?? "span", TAGS[style] ? {} : { class: `md-${style}` }, inner)],
    content,
  );
}

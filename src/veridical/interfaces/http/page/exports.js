// The check as a file: the report, the report with its texts, a page of its own; and the formats
// that the service writes.

import { card } from "./card.js";
import { byId, download, h } from "./dom.js";
import { withTexts } from "./opened.js";
import { converted } from "./service.js";
import { capital, formats } from "./words.js";

/** Add the formats of the service to the menu. */
export function offerFormats() {
  const entries = Object.entries(formats()).map(([name, { label }]) =>
    h("li", {}, h("button", { type: "button", "data-export": name }, capital(label))),
  );
  byId("formats").replaceWith(...entries);
}

export async function exported(kind, check, view) {
  if (kind === "json")
    download("report.json", `${JSON.stringify(check.report, null, 2)}\n`, "application/json");
  if (kind === "texts")
    download("check.json", `${JSON.stringify(withTexts(check), null, 2)}\n`, "application/json");
  if (kind === "html") download("report.html", await asPage(check, view), "text/html");
  if (kind in formats()) {
    const { suffix, type } = formats()[kind];
    download(`report.${suffix}`, await converted(check, kind), type);
  }
}

/** The report as one file that needs no other, no script and no network. */
async function asPage(check, view) {
  const styles = await Promise.all(["report-style", "page-style"].map(styleOf));
  const style = h("style", {}, styles.join("\n"));
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  const head = h(
    "head",
    {},
    h("meta", { charset: "utf-8" }),
    h("meta", { "http-equiv": "Content-Security-Policy", content: policy }),
    h("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    h("meta", { name: "color-scheme", content: "light dark" }),
    h("title", {}, `${byId("headline").textContent} – veridical`),
    style,
  );
  const body = h("body", {}, still("top"), h("main", {}, still("answer"), evidence(check, view)));
  return `<!DOCTYPE html>\n${h("html", { lang: "en", class: "alone" }, head, body).outerHTML}\n`;
}

const styleOf = async (id) => (await fetch(byId(id).href)).text();

function still(id) {
  const copy = byId(id).cloneNode(true);
  const inert = ".tools, .problem, progress, .listing .controls, #format, [hidden]";
  for (const control of copy.querySelectorAll(inert)) control.remove();
  for (const button of copy.querySelectorAll("button"))
    button.replaceWith(h("span", { class: button.className }, ...button.childNodes));
  for (const mark of copy.querySelectorAll(".on, .faded")) mark.classList.remove("on", "faded");
  return copy;
}

function evidence(check, view) {
  const cards = check.report.claims.map((claim) => {
    const found = card(claim, view.place, { open: false });
    found.id = claim.id;
    found.querySelector(".close").remove();
    return found;
  });
  const sources = still("sources");
  sources.removeAttribute("tabindex");
  return h("section", { class: "pane right" }, cards, sources);
}

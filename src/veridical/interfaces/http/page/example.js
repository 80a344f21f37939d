// A checked answer to look at before anything is typed: made with the embedded verifier and shipped
// with the page.

import { card } from "./card.js";
import { byId, h } from "./dom.js";
import { MarkedText } from "./marked_text.js";
import { opened } from "./opened.js";
import { Text } from "./text.js";
import { listed, tone } from "./words.js";

/** Show the example beside the form; `onopen(id)` opens it with a claim chosen. Return its check. */
export async function showExample(onopen) {
  const check = { ...opened(await (await fetch("page/example.json")).json()), id: "example" };
  const text = new MarkedText(byId("example-answer"), new Text(check.answer), { badges: true });
  for (const claim of check.report.claims) text.add(claim.span.start, claim.span.end, claim.id, tone(claim));
  text.draw();
  const place = ({ source, start }) => ({ label: `${source}, line ${lineOf(check, source, start)}` });
  const first = check.report.claims.filter(listed);
  byId("example-claims").replaceChildren(...first.map((claim) => h("li", {}, card(claim, place))));
  byId("example-pane").addEventListener("click", (event) => {
    const owner = event.target.closest("[data-claims]");
    if (!owner) return;
    event.preventDefault();
    onopen(owner.dataset.claims.split(" ")[0]);
  });
  return check;
}

function lineOf(check, id, start) {
  const source = check.sources.find((each) => each.id === id);
  return source ? new Text(source.text).place(start).line : 1;
}

// What went wrong, in words that say what to do, with a button that tries it again.

import { byId, h } from "./dom.js";
import { Problem } from "./service.js";

/** `[what happened, what to do, whether it may work the next time]` by status. */
const WORDS = {
  0: ["The service cannot be reached.", "Check that it runs and that you are connected.", true],
  401: ["This service asks for a key.", "", true],
  403: ["Your key may not do this.", "Ask whoever runs the service for one that may.", false],
  404: ["This report is not kept any more.", "Reports are kept for a while, for their project only: check the answer again.", false],
  413: ["These texts are too long for one check.", "Leave a source out, or check the answer in parts.", false],
  422: ["The service cannot work with this.", "", false],
  429: ["The service has too much to do.", "Other checks are under way.", true],
  500: ["Something failed in the service.", "Whoever runs it finds the cause in its logs.", true],
  501: ["A part of the service is not installed.", "", false],
  503: ["A part of the service is not available right now.", "", true],
};

let timer = null;

/** Show an error, or a text; `again` is what the button does; null hides what is shown. */
export function problem(error, { again = null, kept = "" } = {}) {
  clearInterval(timer);
  const box = byId("problem");
  box.hidden = error === null;
  if (error === null) return box.replaceChildren();
  const { what, todo, may, wait, request } = said(error);
  const retry = again && may ? h("button", { type: "button", class: "retry", onclick: () => run(again) }, "Try again") : null;
  const close = h("button", { type: "button", class: "plain", "aria-label": "Close this message", onclick: () => problem(null) }, "✕");
  const text = [todo, kept].filter(Boolean).join(" ");
  box.replaceChildren(
    h("p", {}, h("b", {}, what), text && ` ${text}`, request && h("span", { class: "n" }, ` Request ${request}.`)),
    ...[retry, close].filter(Boolean),
  );
  if (retry && wait) countDown(retry, wait);
}

function run(again) {
  problem(null);
  again();
}

function said(error) {
  if (typeof error === "string") return { what: error, todo: "", may: true };
  if (!(error instanceof Problem)) return { what: "The page cannot read what the service said.", todo: "Load the page again.", may: true };
  const [what, todo, may] = WORDS[error.status] ?? WORDS[error.status >= 500 ? 500 : 422];
  const own = error.status === 422 || error.status === 501 || error.status === 503 || error.status === 0;
  const told = own ? [error.detail, error.hint].filter(Boolean).map(sentence).join(" ") : "";
  return { what, todo: told || todo, may, wait: error.retryAfter, request: error.request };
}

function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

function countDown(button, seconds) {
  let left = Math.ceil(seconds);
  const tick = () => {
    button.disabled = left > 0;
    button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
    left -= 1;
    if (left < 0) clearInterval(timer);
  };
  tick();
  timer = setInterval(tick, 1000);
}

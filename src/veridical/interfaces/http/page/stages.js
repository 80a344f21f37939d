// The stages of the page: texts are filled in, a check runs, its result is shown.

import { byId } from "./dom.js";

const root = document.documentElement;
const wide = matchMedia("(min-width: 61em)");
const HEADLINE = byId("headline").textContent;
const TOTALS = byId("totals").textContent;

/** Show the form; with `back` there is a report to go back to. */
export function composing({ back }) {
  root.classList.add("composing");
  root.classList.remove("selected", "showing-example");
  byId("skip").href = "#compose";
  byId("headline").textContent = HEADLINE;
  byId("totals").textContent = TOTALS;
  byId("top").className = "top";
  byId("tally").hidden = true;
  byId("back").hidden = !back;
  if (wide.matches) byId("answer-in").focus({ preventScroll: true });
}

/** Show a check, whose result is still to come. */
export function showing({ example }) {
  root.classList.remove("composing");
  root.classList.toggle("showing-example", example);
  byId("skip").href = "#answer";
  byId("headline").textContent = "Checking…";
  byId("totals").textContent = "";
  byId("top").className = "top o-running";
  scrollTo(0, 0);
}

/** Begin or end to run. */
export function running(on) {
  root.classList.toggle("running", on);
  byId("submit").disabled = on;
  byId("progress").hidden = !on;
  if (!on) return;
  byId("progress").removeAttribute("value");
  byId("headline").focus({ preventScroll: true });
  say("Checking.");
}

export function progress({ done, total }) {
  byId("progress").max = Math.max(total, 1);
  byId("progress").value = done;
  byId("totals").textContent = `${done.toLocaleString("en")} of ${total.toLocaleString("en")} questions answered`;
}

/** Tell those who hear the page. */
export function say(text) {
  byId("said").textContent = text;
}

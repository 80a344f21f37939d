// The page: texts go in, claims appear as they are decided. This file joins the parts.

import { byId } from "./dom.js";
import { exported, offerFormats } from "./exports.js";
import { Form } from "./form.js";
import { fits, keep, kept, opened } from "./opened.js";
import { Problem, check as stream, keepKey, sendMark, session, storedReport } from "./service.js";
import { Text } from "./text.js";
import { View } from "./view.js";
import { loadWords, listed } from "./words.js";

const root = document.documentElement;
const wide = matchMedia("(min-width: 61em)");
const NO_CHECK = { question: null, answer: null, sources: [], report: null, right: {} };
let check = NO_CHECK;
let stopper = null;

await loadWords();
offerFormats();
const form = new Form({ onsubmit: submit, onfile: fileIn, onproblem: problem });
const view = new View({ onmark: mark });

// --- what is checked ---------------------------------------------------------------------------

async function submit() {
  const request = form.request();
  if (typeof request === "string") return problem(request);
  problem(null);
  check = { ...NO_CHECK, ...request, question: request.question ?? null, right: {} };
  show(check);
  running(true);
  try {
    await run(request);
  } catch (error) {
    await failed(error);
  } finally {
    running(false);
  }
}

async function run(request) {
  stopper = new AbortController();
  for await (const [event, data] of stream(request, stopper.signal)) {
    if (event === "progress") progress(data);
    if (event === "claim") view.add(data);
    if (event === "report") finished(data);
  }
}

function finished(report) {
  check = { ...check, report };
  view.finish(check);
  keep(check);
  say(byId("headline").textContent);
  open(idOfAddress() ?? (wide.matches && !view.selected ? firstFlagged() : view.selected));
}

async function failed(error) {
  view.draw();
  const n = view.claims.size;
  const stays = n ? ` ${n === 1 ? "The claim" : `The ${n} claims`} decided until then stay.` : "";
  if (!n) compose();
  else byId("headline").textContent = "Not finished";
  if (error.name === "AbortError") return problem(`Stopped.${stays}`);
  if (!(error instanceof Problem)) {
    problem(`The page cannot read what the service said.${stays}`);
    throw error;
  }
  if (error.status === 401) return askForKey(error, submit);
  const wait = error.retryAfter ? ` Try again in ${Math.ceil(error.retryAfter)} seconds.` : "";
  problem(`${error.message}${wait}${stays}${error.request ? ` (request ${error.request})` : ""}`);
}

function askForKey(error, again) {
  const dialog = byId("key");
  byId("key-in").value = "";
  session().then(({ login }) => { byId("sign-in").hidden = !login; });
  dialog.returnValue = "cancel";
  dialog.showModal();
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "use") return problem(error.message);
    keepKey(byId("key-in").value.trim());
    again();
  }, { once: true });
}

async function mark(id, right) {
  if (!check.report) return;
  try {
    await sendMark(check.report, id, right);
    check.right = { ...check.right, [id]: right };
    view.right = check.right;
    keep(check);
    problem(null);
    say(`Kept: the verdict on ${id} is ${right ? "right" : "wrong"}.`);
  } catch (error) {
    if (error.status === 401) return askForKey(error, () => mark(id, right));
    problem(`Not kept. ${error instanceof Problem ? error.message : ""}`);
  }
  const had = byId("card").contains(document.activeElement);
  view.redrawCard();
  if (had) byId("card").querySelector('.marking [aria-pressed="true"]')?.focus();
}

async function save(kind) {
  try {
    await exported(kind, check, view);
    problem(null);
  } catch (error) {
    if (error.status === 401) return askForKey(error, () => save(kind));
    problem(`Not saved. ${error instanceof Problem ? error.message : ""}`);
  }
}

// --- what is opened ----------------------------------------------------------------------------

async function atStart() {
  problem(null);
  const id = new URLSearchParams(location.search).get("report");
  if (id === null) return restore(kept());
  try {
    restore(opened(await storedReport(id)));
  } catch (error) {
    if (error.status === 401) return askForKey(error, atStart);
    problem(error instanceof Problem ? error.message : "That report cannot be read.");
  }
}

function restore(found) {
  if (!found) return;
  if (!found.report) return form.fill(found);
  check = { ...NO_CHECK, ...found };
  if (check.answer === null) adopt();
  else form.fill(check);
  show(check);
  view.finish(check);
  open(idOfAddress() ?? (wide.matches ? firstFlagged() : null));
}

/** Put a report without texts to those that are filled in, if it is about them. */
function adopt() {
  const request = form.request();
  if (typeof request === "string") return;
  const texts = new Map(request.sources.map((source) => [source.id, new Text(source.text)]));
  if (fits(check.report, new Text(request.answer), texts)) check = { ...check, ...request };
}

async function fileIn(name, text) {
  if (!/\.json$/i.test(name)) return false;
  let found = null;
  try {
    found = opened(JSON.parse(text));
  } catch {
    return false;
  }
  if (found) {
    problem(null);
    restore(found);
    if (check.report) keep(check);
  }
  return found !== null;
}

// --- what is shown -----------------------------------------------------------------------------

function show({ question, answer, sources, right }) {
  root.classList.remove("composing");
  byId("skip").href = "#answer";
  byId("headline").textContent = "Checking…";
  byId("totals").textContent = "";
  byId("top").className = "top o-running";
  view.show({ question, answer, sources, right });
  scrollTo(0, 0);
}

function compose() {
  root.classList.add("composing");
  root.classList.remove("selected");
  byId("skip").href = "#compose";
  byId("headline").textContent = "Check an answer against its sources";
  byId("totals").textContent = "";
  byId("top").className = "top";
  byId("tally").hidden = true;
  byId("back").hidden = !check.report;
  byId("answer-in").focus();
}

function running(on) {
  root.classList.toggle("running", on);
  byId("submit").disabled = on;
  byId("progress").hidden = !on;
  if (!on) return;
  byId("progress").removeAttribute("value");
  byId("headline").focus({ preventScroll: true });
  say("Checking.");
}

function progress({ done, total }) {
  byId("progress").max = Math.max(total, 1);
  byId("progress").value = done;
  byId("totals").textContent = `${done.toLocaleString("en")} of ${total.toLocaleString("en")} questions answered`;
}

function problem(text) {
  byId("problem").hidden = !text;
  byId("problem").textContent = text ?? "";
}

function say(text) {
  byId("said").textContent = text;
}

const firstFlagged = () => view.ordered().find(listed)?.id ?? null;

function idOfAddress() {
  try {
    const id = decodeURIComponent(location.hash.slice(1));
    return view.claims.has(id) ? id : null;
  } catch {
    return null;
  }
}

function open(id) {
  view.select(id, { quiet: true });
}

function colours() {
  const dark = [...byId("report-style").sheet.cssRules].filter((rule) =>
    rule.media?.mediaText.includes("prefers-color-scheme"),
  );
  const choices = ["auto", "light", "dark"];
  const media = { auto: "(prefers-color-scheme: dark)", light: "not all", dark: "all" };
  const said = { auto: "as the system has them", light: "light", dark: "dark" };
  const choose = (choice) => {
    for (const rule of dark) rule.media.mediaText = media[choice];
    document.querySelector("meta[name=color-scheme]").content = choice === "auto" ? "light dark" : choice;
    byId("theme").textContent = choice.charAt(0).toUpperCase() + choice.slice(1);
    byId("theme").setAttribute("aria-label", `Colours: ${said[choice]}`);
    byId("theme").title = `Colours: ${said[choice]}`;
    localStorage.setItem("veridical.colours", choice);
    return choice;
  };
  const before = localStorage.getItem("veridical.colours");
  let now = choose(choices.includes(before) ? before : "auto");
  byId("theme").addEventListener("click", () => {
    now = choose(choices[(choices.indexOf(now) + 1) % choices.length]);
  });
}

// --- what is pressed ---------------------------------------------------------------------------

byId("stop").addEventListener("click", () => stopper?.abort());
byId("edit").addEventListener("click", compose);
byId("back").addEventListener("click", () => {
  show(check);
  view.finish(check); // the form stays as it was edited
});
byId("open").addEventListener("click", () => byId("file-open").click());
byId("file-open").addEventListener("change", async ({ target }) => {
  for (const file of target.files)
    if (!(await fileIn(file.name, await file.text())))
      problem(`${file.name} is not a report of veridical.`);
  target.value = "";
});
byId("export").addEventListener("click", async ({ target }) => {
  const kind = target.closest("[data-export]")?.dataset.export;
  if (!kind || !check.report) return;
  byId("export").open = false;
  if (kind === "print") print();
  else await save(kind);
});
byId("help-open").addEventListener("click", () => byId("help").showModal());
byId("search").addEventListener("input", ({ target }) => view.find(target.value));
addEventListener("beforeprint", () => view.print(true));
addEventListener("afterprint", () => view.print(false));
addEventListener("hashchange", () => idOfAddress() && open(idOfAddress()));

document.addEventListener("click", (event) => {
  if (!event.target.closest("#export")) byId("export").open = false;
  const place = event.target.closest("[data-go]");
  if (place) {
    event.preventDefault();
    return view.goTo(place.dataset.go);
  }
  if (event.target.closest(".close")) return view.select(null);
  const owner = event.target.closest("[data-claims]");
  if (!owner || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const ids = owner.dataset.claims.split(" ");
  const at = ids.indexOf(view.selected);
  if (at >= 0 && ids.length === 1 && event.detail === 0) return view.toEvidence(); // Enter, again
  view.select(ids[(at + 1) % ids.length]);
});

document.addEventListener("keydown", (event) => {
  const composing = root.classList.contains("composing");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && composing) {
    event.preventDefault();
    return submit();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") return escape();
  if (event.target.closest("input, textarea, select")) return;
  if (event.key === "?") byId("help").showModal();
  else if (composing) return;
  else if (!pressed(event)) return;
  event.preventDefault();
});

function pressed({ key, target }) {
  const onClaim = target.closest(".badge, .entry");
  const onControl = target.closest("a, button, summary");
  if (key === "j" || (onClaim && key === "ArrowDown")) view.step(1);
  else if (key === "k" || (onClaim && key === "ArrowUp")) view.step(-1);
  else if (key === "f") view.step(1, listed);
  else if (key === "/") byId("search").focus();
  else if (key === "Enter" && !onControl && view.selected) view.toEvidence();
  else if ((key === "r" || key === "w") && view.selected) mark(view.selected, key === "r");
  else return false;
  return true;
}

function escape() {
  const search = byId("search");
  byId("export").open = false;
  if (document.activeElement === search) {
    search.value = "";
    view.find("");
    search.blur();
  } else if (!root.classList.contains("composing")) view.select(null);
}

colours();
await atStart();

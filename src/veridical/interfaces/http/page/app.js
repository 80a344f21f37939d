// The page: texts go in, claims appear as they are decided. This file joins the parts.

import { goTo, place } from "./address.js";
import { byId } from "./dom.js";
import { showExample } from "./example.js";
import { exported, offerFormats } from "./exports.js";
import { Feedback, keepFocus } from "./feedback.js";
import { Form } from "./form.js";
import { HistoryList } from "./history_list.js";
import { listen } from "./keyboard.js";
import { fits, keep, kept, opened } from "./opened.js";
import { problem } from "./problems.js";
import { check as stream, converted, keepKey, key, sendMark, session, signOut, storedCheck } from "./service.js";
import { composing, progress, running, say, showing } from "./stages.js";
import { Text } from "./text.js";
import { theme } from "./theme.js";
import { View } from "./view.js";
import { checked, loadWords } from "./words.js";

const wide = matchMedia("(min-width: 61em)");
const NO_CHECK = { id: null, question: null, answer: null, sources: [], report: null, marks: {} };
let check = NO_CHECK;
let stopper = null;

await loadWords();
offerFormats();
const form = new Form({ onsubmit: submit, onfile: fileIn, onproblem: failed });
const feedback = new Feedback({ send: store, onchange: marked });
const view = new View({ controls: (claim) => (marking(claim.id) ? feedback.controls(claim, act) : null) });
const history_ = new HistoryList({ onfail: failed });

// --- what is checked ---------------------------------------------------------------------------

async function submit() {
  const request = form.request();
  if (typeof request === "string") return problem(request);
  problem(null);
  check = { ...NO_CHECK, ...request, question: request.question ?? null };
  show(check);
  running(true);
  try {
    await run(request);
  } catch (error) {
    unfinished(error);
  } finally {
    running(false);
  }
}

async function run(request) {
  stopper = new AbortController();
  for await (const [event, data] of stream(request, stopper.signal)) {
    if (event === "id") check = { ...check, id: data };
    if (event === "progress") progress(data);
    if (event === "claim") view.add(data);
    if (event === "report") finished(data);
  }
}

function finished(report) {
  check = { ...check, report };
  keep(check);
  goTo(check.id);
  view.finish(check);
  say(byId("headline").textContent);
  if (!view.selected && wide.matches) view.select(view.first());
}

/** Say why a check did not end; the claims decided until then stay. */
function unfinished(error) {
  view.draw();
  const n = view.claims.size;
  if (!n) compose();
  else byId("headline").textContent = "Not finished";
  const text = n ? `${n === 1 ? "The claim" : `The ${n} claims`} decided until then stay.` : "";
  if (error.name === "AbortError") return problem(`Stopped. ${text}`.trim());
  failed(error, submit, text);
}

/** Say what went wrong; `again` tries it once more. */
function failed(error, again = null, text = "") {
  if (error?.status === 401 && again) return askForKey(error, again);
  problem(error, { again, kept: text });
}

function askForKey(error, again) {
  const dialog = byId("key");
  byId("key-in").value = "";
  byId("key-title").textContent = key() ? "The service does not accept this key" : "This service asks for a key";
  session().then(({ login }) => { byId("sign-in").hidden = !login; });
  dialog.returnValue = "cancel";
  dialog.showModal();
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "use") return problem(error, { again });
    keepKey(byId("key-in").value.trim());
    again();
  }, { once: true });
}

// --- feedback and files ------------------------------------------------------------------------

/** Whether a verdict can be marked: it is one of a report, and not of the example. */
const marking = (id) => check.report && check.id !== "example" && checked(view.claims.get(id));

function store(id, mark) {
  return sendMark(check.report, id, mark);
}

function marked(id) {
  check = { ...check, marks: feedback.marks };
  keepFocus(() => view.remark(id, feedback.marks));
  const mark = feedback.marks[id];
  say(mark ? `The verdict on ${id} is marked ${mark.right ? "right" : "wrong"}.` : `The mark on ${id} is removed.`);
}

async function act(change) {
  try {
    await change;
    keep(check);
    problem(null);
  } catch (error) {
    failed(error, null, "The mark is not kept.");
  }
}

async function save(kind) {
  try {
    await exported(kind, check, view);
    problem(null);
  } catch (error) {
    failed(error, () => save(kind));
  }
}

async function fileIn(name, text) {
  if (!/\.json$/i.test(name)) return false;
  let found = null;
  try {
    found = opened(JSON.parse(text));
  } catch {
    return false;
  }
  if (!found) return false;
  problem(null);
  await restore({ ...found, id: null });
  if (check.report) keep(check);
  return true;
}

// --- what an address opens ---------------------------------------------------------------------

async function route() {
  problem(null);
  const { report, example: wanted, claim } = place();
  if (wanted) return restore(await example, claim);
  if (!report) return compose();
  if (check.id === report && check.report) return again(claim);
  const here = kept();
  if (here?.id === report && here.report) return restore(here, claim);
  try {
    await restore(opened(await storedCheck(report)), claim);
  } catch (error) {
    if (!check.report) compose();
    failed(error, route);
  }
}

async function restore(found, claim = null) {
  if (!found) return;
  if (!found.report) {
    form.fill(found);
    return toForm();
  }
  check = { ...NO_CHECK, ...found };
  if (check.answer === null) adopt();
  else if (check.id !== "example") form.fill(check);
  check.report = await withReasons(check);
  goTo(check.id);
  again(claim);
}

/** Fill in the texts of the last check of this tab, to which there is a way back. */
function remember(found) {
  form.fill(found);
  if (found.report) check = { ...NO_CHECK, ...found };
}

/** Show the check once more, with a claim chosen. */
function again(claim = null) {
  show(check);
  view.finish(check);
  view.select(view.claims.has(claim) ? claim : wide.matches ? view.first() : null, { quiet: !claim });
}

/** Reports of earlier versions do not say their reasons: the service writes them once more. */
async function withReasons(found) {
  const { report } = found;
  if (report.summary.headline && report.claims.every((claim) => claim.reason)) return report;
  return converted(found, "json").then(JSON.parse, () => report);
}

/** Put a report without texts to those that are filled in, if it is about them. */
function adopt() {
  const request = form.request();
  if (typeof request === "string") return;
  const texts = new Map(request.sources.map((source) => [source.id, new Text(source.text)]));
  if (fits(check.report, new Text(request.answer), texts)) check = { ...check, ...request };
}

// --- what is shown -----------------------------------------------------------------------------

function show(shown) {
  showing({ example: shown.id === "example" });
  feedback.marks = shown.marks ?? {};
  view.show(shown);
}

function compose() {
  composing({ back: Boolean(check.report) && check.id !== "example" });
}

function toForm() {
  goTo(null);
  compose();
}

/** End the sign-in; the page begins anew, without the texts of who signed out. */
async function leave() {
  try {
    await signOut();
    location.assign(location.pathname);
  } catch (error) {
    problem(error, { again: leave });
  }
}

async function openExample(claim) {
  problem(null);
  await restore(await example, claim);
}

// --- what is pressed ---------------------------------------------------------------------------

byId("stop").addEventListener("click", () => stopper?.abort());
byId("edit").addEventListener("click", toForm);
byId("back").addEventListener("click", () => {
  goTo(check.id);
  again();
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
byId("format").addEventListener("click", () => view.format(!view.formatted));
byId("help-open").addEventListener("click", () => byId("help").showModal());
byId("sign-out").addEventListener("click", leave);
byId("example-open").addEventListener("click", () => openExample(null));
byId("example-fill").addEventListener("click", async () => form.fill(await example));
byId("history-list").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history_.close();
  history.pushState(null, "", link.href);
  route();
});
addEventListener("beforeprint", () => view.print(true));
addEventListener("afterprint", () => view.print(false));
addEventListener("popstate", route);
listen({ view, submit, mark: (id, right) => marking(id) && act(feedback.toggle(id, right)) });

theme();
session().then(({ signed_in: has }) => { byId("sign-out").hidden = !has; });
const example = showExample(openExample);
const before = kept();
if (before && !before.id && !place().report && !place().example) await restore(before, place().claim);
else {
  if (before) remember(before);
  await route();
}

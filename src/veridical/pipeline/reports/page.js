import { drawAnswer } from "./markdown_answer.js";

drawAnswer();
const root = document.documentElement;
const all = (selector, within) => [...(within || document).querySelectorAll(selector)];
const cards = all(".card");
const marks = all("[data-claims]");
const stops = cards.filter((card) => "assertive" in card.dataset);
const flagged = cards.filter((card) => "flagged" in card.dataset);
const wide = matchMedia("(min-width: 61em)");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let current = null;
root.classList.add("js");

const owners = (mark) => mark.dataset.claims.split(" ").map(Number);
const scroll = (element, block) =>
  element.scrollIntoView({ block, behavior: calm.matches ? "auto" : "smooth" });

const tone = (element) => [...element.classList].find((name) => name.startsWith("t-"));
for (const mark of marks) mark.dataset.tone = tone(mark);

// A stretch that several claims share takes the colour of the one that is selected.
function paint(mark, name) {
  mark.classList.remove(tone(mark));
  mark.classList.add(name);
}

function select(card, { quiet = false } = {}) {
  current = card;
  const index = card ? Number(card.dataset.index) : -1;
  for (const other of cards) other.classList.toggle("on", other === card);
  for (const mark of marks) {
    const on = owners(mark).includes(index);
    mark.classList.toggle("on", on);
    paint(mark, on ? tone(card) : mark.dataset.tone);
    if (on && mark.matches(".badge, .entry")) mark.setAttribute("aria-current", "true");
    else mark.removeAttribute("aria-current");
  }
  root.classList.toggle("selected", card !== null);
  if (!quiet) history.replaceState(null, "", card ? `#${encodeURIComponent(card.id)}` : "#");
  if (card) reveal(card, index);
}

function reveal(card, index) {
  const mine = marks.filter((mark) => owners(mark).includes(index));
  const inAnswer = mine.find((mark) => mark.matches("#answer-text .mark"));
  const inSource = mine.find((mark) => mark.matches(".sources .mark"));
  document.getElementById("details").scrollTop = 0;
  if (inAnswer) inAnswer.scrollIntoView({ block: "nearest" });
  if (inSource && wide.matches) scroll(inSource, "center");
}

function step(list, by) {
  if (!list.length) return;
  const order = cards.indexOf(current);
  const ahead = list.filter((card) => (cards.indexOf(card) - order) * by > 0);
  const next = by > 0 ? ahead[0] : ahead[ahead.length - 1];
  const card = next || (by > 0 ? list[0] : list[list.length - 1]);
  select(card);
  const badge = marks.find(
    (mark) => mark.matches(".badge") && owners(mark)[0] === Number(card.dataset.index),
  );
  if (badge) badge.focus({ preventScroll: true });
}

function fromHash() {
  const id = decodeURIComponent(location.hash.slice(1));
  return cards.find((card) => card.id === id) || null;
}

document.addEventListener("click", (event) => {
  const place = event.target.closest("[data-go]");
  if (place) {
    let goal = document.getElementById(place.dataset.go);
    while (goal && !goal.matches(".mark")) goal = goal.nextElementSibling;
    event.preventDefault();
    if (goal) scroll(goal, "center");
    return;
  }
  if (event.target.closest(".close")) return select(null);
  const mark = event.target.closest("[data-claims]");
  if (!mark || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const mine = owners(mark);
  const at = current ? mine.indexOf(Number(current.dataset.index)) : -1;
  select(cards[mine[(at + 1) % mine.length]]);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const onMark = event.target.closest(".badge, .entry");
  if (event.key === "j" || (onMark && event.key === "ArrowDown")) step(stops, 1);
  else if (event.key === "k" || (onMark && event.key === "ArrowUp")) step(stops, -1);
  else if (event.key === "f") step(flagged, 1);
  else if (event.key === "Escape") select(null);
  else return;
  event.preventDefault();
});

addEventListener("hashchange", () => select(fromHash(), { quiet: true }));
const first = fromHash() || (wide.matches ? flagged[0] || null : null);
if (first) select(first, { quiet: true });

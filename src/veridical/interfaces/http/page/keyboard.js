// What the keys and a click on a claim do.

import { byId } from "./dom.js";
import { listed } from "./words.js";

const root = document.documentElement;
const composing = () => root.classList.contains("composing");

/** `submit()` checks what is typed, `mark(id, right)` marks a verdict. */
export function listen({ view, submit, mark }) {
  document.addEventListener("click", (event) => clicked(event, view));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && composing()) {
      event.preventDefault();
      return submit();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return escape(view);
    if (event.target.closest("input, textarea, select")) return;
    if (event.key === "?") byId("help").showModal();
    else if (composing() || !pressed(event, view, mark)) return;
    event.preventDefault();
  });
}

function clicked(event, view) {
  if (!event.target.closest("#export")) byId("export").open = false;
  if (composing()) return;
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
}

function pressed({ key, target }, view, mark) {
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

function escape(view) {
  const search = byId("search");
  byId("export").open = false;
  if (document.activeElement === search) {
    view.list.find("");
    search.blur();
  } else if (!composing()) view.select(null);
}

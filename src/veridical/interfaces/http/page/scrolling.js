// Scrolling to a place in a long text, whose parts out of view have no height of their own yet.

const MOST_FRAMES = 40;
const wide = matchMedia("(min-width: 61em)");
let latest = 0;

/** Scroll until an element is in view: what comes into view on the way changes the heights. */
export async function arrive(goal) {
  latest += 1;
  const mine = latest;
  goal.closest(".block")?.style.setProperty("content-visibility", "visible");
  let still = 0;
  let before = null;
  for (let n = 0; n < MOST_FRAMES && still < 3 && mine === latest; n += 1) {
    goal.scrollIntoView({ block: wide.matches ? "center" : "start", behavior: "instant" });
    await frame();
    const now = goal.getBoundingClientRect().top;
    still = before !== null && Math.abs(now - before) < 1 ? still + 1 : 0;
    before = now;
  }
}

const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

/** Return the mark behind an anchor, which stands before it. */
export function markAt(anchor) {
  let goal = document.getElementById(anchor);
  while (goal && !goal.matches(".mark")) goal = goal.nextElementSibling;
  return goal;
}

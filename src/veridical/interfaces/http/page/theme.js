// Light or dark, as the system has it or as the user wants it.

import { byId } from "./dom.js";

const STORED = "veridical.colours";
const MEDIA = { auto: "(prefers-color-scheme: dark)", light: "not all", dark: "all" };
const SAID = { auto: "as the system has them", light: "light", dark: "dark" };

export function theme() {
  const dark = [...byId("report-style").sheet.cssRules].filter((rule) =>
    rule.media?.mediaText.includes("prefers-color-scheme"),
  );
  const choices = Object.keys(MEDIA);
  const choose = (choice) => {
    for (const rule of dark) rule.media.mediaText = MEDIA[choice];
    document.querySelector("meta[name=color-scheme]").content = choice === "auto" ? "light dark" : choice;
    const button = byId("theme");
    button.textContent = choice.charAt(0).toUpperCase() + choice.slice(1);
    button.setAttribute("aria-label", `Colours: ${SAID[choice]}`);
    button.title = `Colours: ${SAID[choice]}`;
    localStorage.setItem(STORED, choice);
    return choice;
  };
  const before = localStorage.getItem(STORED);
  let now = choose(choices.includes(before) ? before : "auto");
  byId("theme").addEventListener("click", () => {
    now = choose(choices[(choices.indexOf(now) + 1) % choices.length]);
  });
}

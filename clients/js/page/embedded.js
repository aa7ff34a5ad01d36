/**
 * Within another site's page: tell it how tall the form is, and that an answer is counted or none can be.
 *
 * Nothing of it depends on what is filled in: the height is that of the form with every item shown, on its tallest page,
 * and is told before anything is touched.
 */

import { startKeys } from "./moving.js";

const TOUCHES = ["pointerdown", "keydown", "click", "input"];
const STATES = { answered: "#sent", refused: "#problem:not([hidden], .correctable), #closed" };
let isTouched = false;

const isSeen = (selector) => document.querySelector(selector)?.checkVisibility();

const formHeight = () => {
  const root = document.documentElement;
  root.classList.add("whole");
  const pages = [...document.querySelectorAll(".page")].map((page) => page.offsetHeight);
  const height = pages.reduce((rest, page) => rest - page, root.offsetHeight) + Math.max(...pages);
  root.classList.remove("whole");
  return height;
};

const report = (origin) => {
  const tell = (deniable, more) => parent.postMessage({ deniable, ...more }, origin);
  const told = new Set();
  let width;
  const look = () => {
    if (!isTouched && isSeen("#fill") && width !== innerWidth) {
      width = innerWidth;
      tell("height", { height: formHeight() });
    }
    for (const [state, selector] of Object.entries(STATES)) {
      if (told.has(state) || !isSeen(selector)) continue;
      told.add(state);
      tell(state);
    }
  };
  addEventListener("resize", look);
  new MutationObserver(look).observe(document.body, { attributeFilter: ["hidden"], subtree: true });
  look();
};

export const startEmbedding = () => {
  if (parent === self) return;
  startKeys();
  for (const type of TOUCHES) addEventListener(type, () => (isTouched = true), { capture: true });
  addEventListener("message", function hear({ source, origin, data }) {
    if (source !== parent || data?.deniable !== "hello") return;
    removeEventListener("message", hear);
    report(origin);
  });
};

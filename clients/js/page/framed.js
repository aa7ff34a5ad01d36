/**
 * What the participant's page needs only within another page, and loads only there.
 *
 * It tells that page how tall the form is, and that an answer is counted or none can be. Nothing of it depends on what is
 * filled in: the height is that of the form with every item shown, on its tallest page, and is told before anything is touched.
 */

import { at, make } from "../../../src/deniable/server/pages/dom.js";
import { focusOn } from "./moving.js";

const STOPS = "a[href], button:enabled, input:enabled, select, summary";
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

/** Of a group of radio buttons, one is a stop: that which is chosen, else the first. */
const isStop = (one) => {
  if (!one.checkVisibility()) return false;
  const group = one.type === "radio" ? [...document.getElementsByName(one.name)] : [];
  return (group.find(({ checked }) => checked) ?? group[0] ?? one) === one;
};

const ARROWS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

/** What can be stopped at, and what has the focus, in their order. */
const stops = () =>
  [...document.querySelectorAll(`${STOPS}, [tabindex]`)].filter((one) => one === document.activeElement || (one.matches(STOPS) && isStop(one)));

/** What the focus moves on to with a key: another button of the group, another stop; nothing if it leaves this page. */
const nextTo = (now, key, isBack) => {
  const all = key === "Tab" ? stops() : [...document.getElementsByName(now.name)];
  const place = all.indexOf(now);
  return key === "Tab" ? all[place + (isBack ? -1 : 1)] : all.at((place + ARROWS[key]) % all.length);
};

/** Let keys move the focus in the same way. It comes and goes through gates that are at one place, whatever is shown. */
const startKeys = () => {
  const gates = [0, 1].map(() => make("span", { class: "gate", tabindex: 0 }));
  let isLeaving = false;
  gates.forEach((gate, end) =>
    gate.addEventListener("focus", () => isLeaving || setTimeout(() => focusOn(stops().at(end ? -2 : 1)))));
  document.body.prepend(gates[0]);
  document.body.append(gates[1]);
  addEventListener("keydown", (event) => {
    const { key, shiftKey } = event;
    const now = document.activeElement;
    if (!(key === "Tab" || (now.type === "radio" && ARROWS[key]))) return;
    const next = nextTo(now, key, shiftKey);
    if (next) {
      event.preventDefault();
      focusOn(next);
      if (key !== "Tab") next.click();
    } else {
      isLeaving = true;
      gates[shiftKey ? 0 : 1].focus({ preventScroll: true });
      isLeaving = false;
    }
  });
};

/** What stands in place of the form within another site's page. */
const addOffer = () =>
  at("#asker").before(make("section", { "data-on": "framed", id: "framed", "aria-labelledby": "framed-head", hidden: true },
    make("h2", { id: "framed-head", tabindex: -1, "data-say": "framed.head" }),
    make("p", { "data-say": "framed" }),
    make("p", {}, make("a", { class: "button", target: "_blank", rel: "noopener", "data-say": "framed.open" }))));

/** Begin; the page around this one is told nothing until it has said hello, and from which origin. */
export const startFrame = (hello) => {
  addOffer();
  startKeys();
  for (const type of TOUCHES) addEventListener(type, () => (isTouched = true), { capture: true });
  hello.then(report);
};

/**
 * What has the focus comes into view, within this page only.
 *
 * A browser's own way scrolls the pages around a frame as well, and so tells them where in the form somebody is, which
 * depends on what is filled in.
 */

import { make } from "../../../src/deniable/server/pages/dom.js";

const STOPS = "a[href], button:enabled, input:enabled, select, summary";

/** Bring something into view: to this part of the window's height, if it is given. */
export const bring = (element, share) => {
  const { top, bottom, height } = element.getBoundingClientRect();
  if (share === undefined && top >= 0 && bottom <= innerHeight) return;
  scrollTo({ top: scrollY + top - (share ?? 0.5) * Math.max(innerHeight - height, 0) });
};

export const focusOn = (element) => {
  element.focus({ preventScroll: true });
  bring(element);
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
export const startKeys = () => {
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

/**
 * What has the focus comes into view, within this page only.
 *
 * A browser's own way scrolls the pages around a frame as well, and so tells them where in the form somebody is, which
 * depends on what is filled in.
 */

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

/** What the focus moves on to with a key: another button of the group, another stop; nothing if it leaves this page. */
const nextTo = (now, key, isBack) => {
  if (key !== "Tab") {
    const group = [...document.getElementsByName(now.name)];
    return group.at((group.indexOf(now) + ARROWS[key]) % group.length);
  }
  const stops = [...document.querySelectorAll(STOPS)].filter((one) => one !== now && isStop(one));
  const isAfter = (one) => now.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING;
  return isBack ? stops.findLast((one) => !isAfter(one)) : stops.find(isAfter);
};

/** Let keys move the focus in the same way. */
export const startKeys = () =>
  addEventListener("keydown", (event) => {
    const { key, shiftKey, altKey, ctrlKey, metaKey } = event;
    const now = document.activeElement;
    if (altKey || ctrlKey || metaKey || !(key === "Tab" || (now.type === "radio" && ARROWS[key]))) return;
    const next = nextTo(now, key, shiftKey);
    if (!next) return;
    event.preventDefault();
    focusOn(next);
    if (key !== "Tab") next.click();
  });

/**
 * What has the focus comes into view, within this page only.
 *
 * A browser's own way scrolls the pages around a frame as well, and so tells them where in the form somebody is, which
 * depends on what is filled in.
 */

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

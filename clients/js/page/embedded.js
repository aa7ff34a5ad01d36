/**
 * Within another site's page: tell it how tall this one is, and that an answer is counted or none can be.
 *
 * Nothing else is told, and only to the page around this one, which the collector allows to frame it.
 */

const isSeen = (selector) => document.querySelector(selector)?.checkVisibility() ?? false;

const report = (origin) => {
  const tell = (deniable, more) => parent.postMessage({ deniable, ...more }, origin);
  const states = { answered: "#sent", refused: "#problem:not([hidden]), #closed:not([hidden])" };
  const told = {};
  const look = () => {
    tell("height", { height: document.documentElement.getBoundingClientRect().height });
    for (const [state, selector] of Object.entries(states)) {
      const is = isSeen(selector);
      if (is && !told[state]) tell(state);
      told[state] = is;
    }
  };
  new ResizeObserver(look).observe(document.documentElement);
  new MutationObserver(look).observe(document.body, { attributeFilter: ["hidden"], subtree: true });
  look();
};

export const startEmbedding = () => {
  if (parent === self) return;
  addEventListener("message", function hear({ source, origin, data }) {
    if (source !== parent || data?.deniable !== "hello") return;
    removeEventListener("message", hear);
    report(origin);
  });
};

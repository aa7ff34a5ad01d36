/** Does what was counted look like what people who follow the protocol would send? Check by check. */

import { pText } from "./charts.js";
import { at, make } from "./dom.js";

const NAMES = { slots: "Questions", answers: "Answers", coefficients: "Estimates" };

export const honesty = ({ checks }) => {
  const rows = checks.map(({ name, alarm, p_value: p, sentence }) =>
    make("li", {},
      make("span", { class: `verdict ${alarm ? "bad" : "good"}` }, `${alarm ? "✕" : "✓"} ${NAMES[name] ?? name}`),
      make("span", { class: "why" }, alarm ? make("strong", {}, "Alarm. ") : "", sentence),
      make("span", { class: "p" }, p === null ? "" : `p ${p < 0.001 ? "" : "= "}${pText(p)}`)),
  );
  at("#honest").replaceChildren(make("ul", { class: "checks" }, rows));
};

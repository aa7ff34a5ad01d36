/** Which surveys are read together: the menu beside the survey's, and what is said of them. */

import { withCommas } from "./charts.js";
import { at, make } from "./dom.js";

const short = (id) => id.slice(0, 8);

/** Fill the menu with the surveys that can be pooled with this one; the others say why they cannot be. */
export const poolMenu = ({ surveys }, pool) => {
  at("#with").hidden = !surveys.length;
  const option = ({ survey, people, shared, refused }) =>
    make("option", { value: survey, selected: pool.includes(survey), disabled: refused !== null || !people, title: refused ?? "" },
      `${short(survey)} (${withCommas(people)} people, ${shared.length} attribute${shared.length === 1 ? "" : "s"} alike${refused === null ? "" : ": not poolable"})`);
  at("#with select").replaceChildren(
    make("option", { value: "", selected: !pool.length }, "no other survey"), ...surveys.map(option));
};

/** Say of whom pooled tables are, and whether their errors are exact. */
export const sayPooled = (pooled) => {
  at("#pooled").hidden = pooled === null;
  at("#pooled").textContent = pooled?.note ?? "";
};

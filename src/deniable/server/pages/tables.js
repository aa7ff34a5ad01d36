/** The matrix of associations, and one table with its intervals. */

import { counted, shown } from "./charts.js";
import { make } from "./dom.js";
import { spoken } from "./words.js";

const DOUBTFUL = 0.1; // as in the report: a larger q-value may be noise
const MOST_NUMBERS = 12; // attributes of a matrix that says its numbers
const MOST_ATTRIBUTES = 40;
const MOST_ROWS = 24;
const LONG = 14; // letters of a value from which on it may be broken
const SHADES = 6;

export const isDoubtful = ({ q_value: q }) => !(q !== null && q !== undefined && q <= DOUBTFUL);

const key = (a, b) => JSON.stringify([a, b].sort());

/** What the tests of all pairs say together, in a sentence. */
export const pairWords = (rows) => {
  const clear = rows.filter((row) => !isDoubtful(row));
  if (!clear.length) return `None of the ${counted(rows.length)} pairs stands out from the noise yet.`;
  const { a, b, cramers_v: v } = clear.reduce((most, row) => (row.cramers_v > most.cramers_v ? row : most));
  return `${counted(clear.length)} of ${counted(rows.length)} pairs ${clear.length > 1 ? "hang" : "hangs"} together beyond noise (q-value up to ${DOUBTFUL}); most of all ${a} and ${b}, with a Cramér’s V of ${v.toFixed(2)}.`;
};

/** A grid of buttons, one for each pair: one stop for the keyboard, arrows move within. */
export const matrix = (names, rows, chosen, choose) => {
  const strongest = [...rows].sort((a, b) => isDoubtful(a) - isDoubtful(b) || b.cramers_v - a.cramers_v);
  const few = new Set(strongest.flatMap(({ a, b }) => [a, b]).filter((name, i, all) => all.indexOf(name) === i).slice(0, MOST_ATTRIBUTES));
  const shownNames = names.length > MOST_ATTRIBUTES ? names.filter((name) => few.has(name)) : names;
  const found = new Map(rows.map((row) => [key(row.a, row.b), row]));
  const top = Math.max(0.05, ...rows.filter((row) => !isDoubtful(row)).map((row) => row.cramers_v));
  const buttons = new Map();
  const cell = (a, b, row, column) => {
    const pair = found.get(key(a, b));
    const v = pair?.cramers_v;
    const isKnown = v !== null && v !== undefined;
    const faint = !pair || isDoubtful(pair);
    const shade = isKnown && !faint ? Math.min(SHADES - 1, Math.max(1, Math.ceil((v / top) * (SHADES - 1)))) : 0;
    const ends = pair?.cramers_v_low == null ? "" : `, ${pair.cramers_v_low.toFixed(2)} to ${pair.cramers_v_high.toFixed(2)}`;
    const words = isKnown ? `Cramér’s V ${v.toFixed(2)}${ends}; ${faint ? "may be noise" : "beyond noise"} (q-value ${shown(pair.q_value)})` : "not known";
    const isChosen = chosen === key(a, b);
    const button = make(
      "button",
      {
        type: "button", class: `s${shade} ${faint ? "faint" : "clear"}`, "data-pair": key(a, b), tabindex: -1,
        "aria-label": `${a} and ${b}: ${words}`, "aria-pressed": `${isChosen}`, "data-tip": `${a} × ${b}\n${words}`,
        onclick: () => choose(a, b),
      },
      isKnown ? v.toFixed(2) : "–",
    );
    buttons.set(`${row},${column}`, button);
    return make("td", {}, button);
  };
  const body = shownNames.slice(1).map((b, i) =>
    make("tr", {}, make("th", { scope: "row", title: b }, b), shownNames.slice(0, i + 1).map((a, j) => cell(a, b, i, j))),
  );
  body.push(
    make("tr", {}, make("td"), shownNames.slice(0, -1).map((name) => make("th", { scope: "col", title: name }, make("span", {}, name)))),
  );
  const table = make(
    "table",
    { class: shownNames.length > MOST_NUMBERS ? "matrix dense" : "matrix" },
    make("caption", { class: "hidden" }, "Cramér’s V of every pair of attributes; arrow keys move, Enter shows the pair’s table"),
    make("tbody", {}, body),
  );
  const stop = [...buttons.values()].find((button) => button.ariaPressed === "true") ?? buttons.get("0,0");
  if (stop) stop.tabIndex = 0;
  table.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const here = [...buttons].find(([, button]) => button === event.target)?.[0].split(",").map(Number);
    const next = step && here && buttons.get(`${here[0] + step[0]},${here[1] + step[1]}`);
    if (!step) return;
    event.preventDefault();
    if (!next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  const isDense = shownNames.length > MOST_NUMBERS;
  const shades = make("span", { class: "shades", "aria-hidden": "true" }, [1, 2, 3, 4, 5].map((i) => make("i", { class: `s${i}` })));
  const note = shownNames.length < names.length ? ` Of ${counted(names.length)} attributes, the ${MOST_ATTRIBUTES} in the strongest pairs are shown.` : "";
  return [
    make("p", { class: "small" }, "Cramér’s V: 0", shades, `${top.toFixed(2)}. ${isDense ? "With a dot" : "Underlined"}: beyond noise. Dashed: may be noise.${note} Choose a pair to see its table.`),
    make("div", { class: "scroll" }, table),
  ];
};

export const pairKey = key;

/** The cells of a table, the last attribute fastest. */
const cells = ({ attributes, values, low, high }) => {
  const rows = [];
  const walk = (held, estimate, from, to) => {
    const next = attributes[held.length];
    if (!next) return rows.push({ held, estimate, low: from, high: to });
    return next.values.forEach((value, code) => walk([...held, value], estimate?.[code], from?.[code], to?.[code]));
  };
  walk([], values, low, high);
  return rows;
};

const said = (value) => (typeof value === "boolean" ? spoken(value).toLowerCase() : spoken(value));

const signed = (share, digits) => {
  const text = (100 * share).toFixed(digits);
  return Number(text) ? text.replace("-", "−") : text.replace("-", "");
};

const reach = (row, least, most) => {
  const place = (share) => `${(100 * (share - least)) / (most - least || 1)}%`;
  const box = make("div", { class: "reach", "aria-hidden": "true" });
  const put = (tag, from, to) => {
    const mark = make(tag);
    mark.style.left = place(from);
    if (to !== undefined) mark.style.width = `calc(${place(to)} - ${place(from)})`;
    box.append(mark);
  };
  if (Number.isFinite(row.low)) put("i", row.low, row.high);
  if (least < 0) put("u", 0);
  put("b", row.estimate);
  return box;
};

/** One table, a row per cell, with intervals in numbers and drawn. */
export const tableOf = (form) => {
  const names = form.attributes.map(({ name }) => name);
  if (!form.known) return [make("p", {}, `${names.join(" × ")} is not known yet: these attributes were not asked about together.`)];
  let rows = cells(form);
  const hasEnds = rows.every((row) => Number.isFinite(row.low) && Number.isFinite(row.high));
  const ends = rows.flatMap((row) => [row.estimate, row.low ?? 0, row.high ?? 0]);
  const [least, most] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const total = rows.length;
  if (total > MOST_ROWS) rows = rows.sort((a, b) => b.estimate - a.estimate).slice(0, MOST_ROWS);
  const digits = hasEnds && (rows[0].high - rows[0].low) / 2 < 0.01 ? 2 : 1;
  const kind = form.kind === "unbiased" ? "unbiased estimates" : `${form.kind} estimates`;
  const table = make(
    "table",
    { class: "list" },
    make("caption", {}, `${names.join(" × ")}, ${kind} from ${counted(form.people)} people`),
    make("thead", {}, make("tr", {},
      names.map((name) => make("th", { scope: "col" }, name)),
      make("th", { scope: "col", class: "number" }, "share, %"),
      hasEnds && make("th", { scope: "col", class: "number interval" }, `${Math.round(100 * form.level)} % interval`),
      make("th", { scope: "col", class: "drawn" }, make("span", { class: "hidden" }, "drawn")))),
    make("tbody", {}, rows.map((row) =>
      make("tr", {},
        row.held.map((value) => make("th", { scope: "row", class: `${value}`.length > LONG && "long" }, said(value))),
        make("td", { class: "number" }, signed(row.estimate, digits)),
        hasEnds && make("td", { class: "number interval" }, `${signed(row.low, digits)} to ${signed(row.high, digits)}`),
        make("td", { class: "drawn" }, reach(row, least, most))))),
  );
  const made = [make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table of ${names.join(" and ")}` }, table)];
  if (!form.plausible) made.unshift(make("p", { class: "banner" }, "No people can have given these reports: see integrity."));
  if (rows.length < total) made.push(make("p", { class: "small soft" }, `The ${MOST_ROWS} largest of ${counted(total)} cells; the exports have all.`));
  return made;
};

/** The matrix of associations, and one table with its intervals. */

import { withCommas } from "./charts.js";
import { make } from "./dom.js";
import { labelled, named } from "./wording.js";
import { valueText } from "./words.js";

const MOST_ATTRIBUTES = 40;
// Pixels: of the names beside a matrix, and of its columns, with and without numbers.
const [HEADS, NUMBER, MOST_NUMBER, LEAST, DOT] = [116, 38, 52, 14, 26];
const MOST_ROWS = 24;
const LONG = 14; // letters of a name or a value from which on it may be broken
const LONGEST = 24; // letters of a name that a matrix shows

/** A name that is not too long; its end stays, which often tells it from others. */
const cut = (name) => (name.length > LONGEST ? `${name.slice(0, LONGEST - 9)}…${name.slice(-8)}` : name);

const key = (a, b) => JSON.stringify([a, b].sort());

/** What the tests of all pairs say together, in a sentence. */
export const pairWords = (rows) => {
  const clear = rows.filter((row) => !row.doubtful);
  if (!clear.length) return `None of the ${withCommas(rows.length)} pairs stands out from the noise yet.`;
  const { a, b, cramers_v: v, cramers_v_low: low, cramers_v_high: high } = clear.reduce((most, row) => (row.p_value < most.p_value ? row : most));
  return `${withCommas(clear.length)} of ${withCommas(rows.length)} pairs ${clear.length > 1 ? "depend" : "depends"} on each other beyond noise; surest of all ${a} and ${b}, with a Cramér’s V of ${v.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)}). Intervals are so wide that they hold on average over the surest pairs, however many one looks at.`;
};

/** A text that may be broken into lines after marks, and anywhere if it is long. */
const breakable = (text) => {
  const parts = text.split(/(?<=[_./…-])/);
  return parts.flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
};
const long = (text) => (text.length > LONG ? "long" : undefined);

/** The pixels that a matrix of all pairs takes. */
export const matrixWidth = (names) => HEADS + DOT * (Math.min(names.length, MOST_ATTRIBUTES) - 1);

/** A grid of buttons, one for each pair, in some pixels: one stop for the keyboard, arrows move within. */
export const matrix = (names, rows, choice, choose, room) => {
  const limit = Math.max(2, Math.min(MOST_ATTRIBUTES, Math.floor((room - HEADS) / LEAST) + 1));
  const surest = [...rows].sort((a, b) => (a.p_value ?? 2) - (b.p_value ?? 2));
  const few = new Set(surest.flatMap(({ a, b }) => [a, b]).filter((name, i, all) => all.indexOf(name) === i).slice(0, limit));
  const shownNames = names.length > limit ? names.filter((name) => few.has(name)) : names;
  const column = Math.floor((room - HEADS) / (shownNames.length - 1));
  const isDense = column < NUMBER;
  const byPair = new Map(rows.map((row) => [key(row.a, row.b), row]));
  const buttons = new Map();
  const cell = (a, b, row, column) => {
    const { doubtful, shade, text, words } = byPair.get(key(a, b));
    const isChosen = choice === key(a, b);
    const button = make(
      "button",
      {
        type: "button", class: `s${shade} ${doubtful ? "faint" : "clear"}`, "data-pair": key(a, b), tabindex: -1,
        "aria-label": `${a} and ${b}: ${words}`, "aria-pressed": `${isChosen}`, "data-tip": `${a} × ${b}\n${words}`,
        onclick: () => choose(a, b),
      },
      text,
    );
    buttons.set(`${row},${column}`, button);
    return make("td", {}, button);
  };
  const body = shownNames.slice(1).map((b, i) =>
    make("tr", {}, make("th", { scope: "row", title: b }, make("span", {}, named(b, breakable(cut(b))))), shownNames.slice(0, i + 1).map((a, j) => cell(a, b, i, j))),
  );
  body.push(
    make("tr", {}, make("td"), shownNames.slice(0, -1).map((name) => make("th", { scope: "col", title: name }, make("span", {}, cut(name))))),
  );
  const table = make(
    "table",
    { class: isDense ? "matrix dense" : "matrix" },
    make("caption", { class: "hidden" }, "Cramér’s V of every pair of attributes; arrow keys move, Enter shows the pair’s table"),
    make("tbody", {}, body),
  );
  table.style.setProperty("--cell", `${Math.min(isDense ? DOT : MOST_NUMBER, column) - 2}px`);
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
  const shades = make("span", { class: "shades", "aria-hidden": "true" }, [1, 2, 3, 4, 5].map((i) => make("i", { class: `s${i}` })));
  const note = shownNames.length < names.length ? ` Of ${withCommas(names.length)} attributes, the ${shownNames.length} in the surest pairs are shown.` : "";
  const top = rows[0]?.top ?? null;
  const legend = top !== null
    ? ["Cramér’s V: 0", shades, `${top.toFixed(2)}, ${isDense ? "with a dot" : "underlined"}: beyond noise. Dashed: may be noise, whatever its V.`]
    : ["Dashed: may be noise, whatever its Cramér’s V, so none is shaded."];
  return [
    make("p", { class: "small" }, legend, `${note} Choose a pair to see its table.`),
    make("div", { class: "scroll" }, table),
  ];
};

export const pairKey = key;

/** The cells of a table, the last attribute fastest. */
const cells = ({ attributes, values, low, high }) => {
  const rows = [];
  const walk = (values, estimate, from, to) => {
    const next = attributes[values.length];
    if (!next) return rows.push({ values, estimate, low: from, high: to });
    return next.labels.forEach((label, code) => walk([...values, label], estimate?.[code], from?.[code], to?.[code]));
  };
  walk([], values, low, high);
  return rows;
};

const withSign = (share, digits) => {
  const text = (100 * share).toFixed(digits);
  return Number(text) ? text.replace("-", "−") : text.replace("-", "");
};

/** The round ends of a scale that holds all shares, and 0. */
const scaleOf = (shares) => {
  const [low, high] = [Math.min(0, ...shares), Math.max(0, ...shares)];
  const size = 10 ** Math.floor(Math.log10(high - low || 1));
  const step = [0.2, 0.5, 1, 2].map((times) => times * size).find((one) => (high - low) / one <= 5);
  return { least: Math.floor(low / step) * step, most: Math.ceil(high / step) * step };
};

/** A line with marks on it, each a tag at a share, perhaps as far as another. */
const ruler = (kind, { least, most }, tags) => {
  const position = (share) => `${(100 * (share - least)) / (most - least || 1)}%`;
  return make("div", { class: kind, "aria-hidden": "true" }, tags.map(([tag, from, to, text = ""]) => {
    const element = make(tag, {}, text);
    element.style.left = position(from);
    if (to !== undefined) element.style.width = `calc(${position(to)} - ${position(from)})`;
    return element;
  }));
};

const reach = ({ estimate, low, high }, scale) =>
  ruler("reach", scale, [...(scale.least < 0 ? [["u", 0]] : []), ...(Number.isFinite(low) ? [["i", low, high]] : []), ["b", estimate]]);

const axis = (scale) => {
  const end = (share) => `${Number((100 * share).toPrecision(3))}`.replace("-", "−");
  const ticks = [...new Set([scale.least, 0, scale.most])];
  return ruler("axis", scale, ticks.map((share) => ["span", share, undefined, end(share) + (share === scale.most ? " %" : "")]));
};

/** One table, a row per cell, with intervals in numbers and drawn: beside each other, or below where it must be narrow. */
export const tableOf = (form, isNarrow) => {
  const names = form.attributes.map(({ name }) => name);
  if (!form.known) return [make("p", {}, `${names.join(" × ")}: ${form.words}`)];
  let rows = cells(form);
  const hasEnds = rows.every((row) => Number.isFinite(row.low) && Number.isFinite(row.high));
  const scale = scaleOf(rows.flatMap((row) => [row.estimate, row.low ?? 0, row.high ?? 0]));
  const total = rows.length;
  if (total > MOST_ROWS) rows = rows.sort((a, b) => b.estimate - a.estimate).slice(0, MOST_ROWS);
  const digits = hasEnds && (rows[0].high - rows[0].low) / 2 < 0.01 ? 2 : 1;
  const kind = form.kind === "unbiased" ? "unbiased estimates" : `${form.kind} estimates`;
  const bars = { bootstrap: " (intervals bootstrapped)", posterior: " (intervals of the model’s posterior)", unprocessed: " (intervals of the unbiased ones)" };
  const title = `${names.join(" × ")}, ${kind}${bars[form.interval_kind] ?? ""} from ${withCommas(form.people)} people`;
  /** A row: its heads, its numbers, and a drawing of these, which says nothing new. */
  const line = (tag, heads, numbers, drawing) => {
    const cell = (...content) => make(tag, { class: "number", scope: tag === "th" && "col" }, ...content);
    return isNarrow
      ? [
          make("tr", { class: "above" }, heads, cell(numbers.flatMap((text, i) => (i ? [make("br"), text] : [text])))),
          make("tr", { "aria-hidden": "true" }, make("td", { colspan: heads.length + 1 }, drawing)),
        ]
      : [make("tr", {}, heads, numbers.map((text) => cell(text)), make("td", { class: "drawn", "aria-hidden": "true" }, drawing))];
  };
  const table = make(
    "table",
    { class: `list${isNarrow ? " narrow" : ""}${form.swamped ? " swamped" : ""}` },
    make("caption", { class: "hidden" }, title),
    make("thead", {}, line(
      "th", names.map((name) => make("th", { scope: "col", class: long(name) }, named(name, breakable(name)))),
      ["share, %", ...(hasEnds ? [`${Math.round(100 * form.level)} % interval`] : [])], axis(scale))),
    make("tbody", {}, rows.flatMap((row) => line(
      "td", row.values.map((label, i) => make("th", { scope: "row", class: long(label) }, labelled(names[i], label, breakable(valueText(label))))),
      [withSign(row.estimate, digits), ...(hasEnds ? [`${withSign(row.low, digits)} to ${withSign(row.high, digits)}`] : [])], reach(row, scale)))),
  );
  const nodes = [
    make("p", { class: "small soft", "aria-hidden": "true" }, title), // as the caption, which a table that scrolls would cut off
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table of ${names.join(" and ")}` }, table),
  ];
  if (form.swamped) nodes.unshift(make("p", { class: "warning" }, form.words));
  if (!form.plausible) nodes.unshift(make("p", { class: "banner" }, "No people can have given these reports: see integrity."));
  if (rows.length < total) nodes.push(make("p", { class: "small soft" }, `The ${MOST_ROWS} largest of ${withCommas(total)} cells; the exports have all.`));
  return nodes;
};

/** Percentages of a table: what they are of, and those within each value of an attribute, crossed. */

import { withCommas } from "./charts.js";
import { at, make } from "./dom.js";
import { labelled, named } from "./wording.js";

/** Offer what percentages may be of; return what is chosen: an attribute of the table, or nothing. */
export const offered = (names) => {
  const menu = at("#within select");
  const kept = names.length > 1 && names.includes(menu.value) ? menu.value : "";
  menu.replaceChildren(
    make("option", { value: "" }, "of everybody"),
    ...names.map((name) => make("option", { value: name, selected: name === kept }, `within each ${name}`)));
  at("#within").hidden = names.length < 2;
  return kept;
};

const percent = (share) => {
  const text = (100 * share).toFixed(1);
  return Number(text) ? text.replace("-", "−") : text.replace("-", "");
};

/** The shares of people within each value of an attribute; the last attribute's values are the columns. */
export const crossed = (form, within) => {
  const { attributes, values, doubtful } = form;
  const names = attributes.map(({ name }) => name);
  if (!form.known) return [make("p", {}, `${names.join(" × ")}: ${form.words}`)];
  const place = names.indexOf(within), last = attributes.at(-1);
  const rows = [];
  const walk = (codes, shares, faint) => {
    if (codes.length === attributes.length - 1) rows.push({ codes, shares, faint });
    else shares.forEach((part, code) => walk([...codes, code], part, faint[code]));
  };
  walk([], values, doubtful);
  const wholes = attributes[place].values.map(() => 0);
  for (const { codes, shares } of rows) shares.forEach((share, code) => (wholes[[...codes, code][place]] += share));
  const label = ({ name, labels }, code) => labelled(name, labels[code]);
  const cell = (share, whole, isFaint) => make("td", { class: isFaint ? "number faint" : "number" }, whole > 0 ? percent(share / whole) : "–");
  const title = `${names.join(" × ")}: percent of the people within each value of ${within}, from ${withCommas(form.people)} people. Dashed: may be noise.`;
  const table = make("table", { class: form.swamped ? "list cross swamped" : "list cross" },
    make("caption", { class: "hidden" }, title),
    make("thead", {},
      make("tr", {}, names.slice(0, -1).map(() => make("td")), make("th", { scope: "colgroup", colspan: last.values.length }, named(last.name))),
      make("tr", {}, names.slice(0, -1).map((name) => make("th", { scope: "col" }, named(name))),
        last.values.map((_, code) => make("th", { class: "number", scope: "col" }, label(last, code))))),
    make("tbody", {}, rows.map(({ codes, shares, faint }) =>
      make("tr", {}, codes.map((code, i) => make("th", { scope: "row" }, label(attributes[i], code))),
        shares.map((share, code) => cell(share, wholes[[...codes, code][place]], faint[code]))))));
  return [
    ...(form.swamped ? [make("p", { class: "warning" }, form.words)] : []),
    make("p", { class: "small soft", "aria-hidden": "true" }, title),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Percentages of ${names.join(" and ")}` }, table),
    make("p", { class: "small soft" }, "Percentages of a part have no intervals here; release.conditional in Python has them."),
  ];
};

/** Numbers: one with its distribution, its means by group, and two of them against each other. */

import { drawing, listing, pText, withCommas } from "./charts.js";
import { at, make } from "./dom.js";
import { named } from "./wording.js";
import { valueText } from "./words.js";

const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const withUnit = (name, unit) => (unit ? `${name}, ${unit}` : name);
const QUARTILES = { 0.25: "lower quartile", 0.5: "median", 0.75: "upper quartile" };

/** A table that scrolls where it must, with a name for those who hear it. */
const scrolled = (label, table) => make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);

/** The mean, the quartiles, and both drawings of one number. */
const summary = (form) => {
  const { attribute, unit, mean, quantiles, missing, level, people, bars } = form;
  const rows = [
    ["mean", mean.text, mean.interval],
    ...quantiles.map(({ probability, text, interval }) => [QUARTILES[probability] ?? `quantile ${probability}`, text, interval]),
    ...(missing === null ? [] : [["no number", percent(missing), ""]]),
  ];
  const caption = `${attribute} among ${withCommas(people)} people`;
  const interval = `${Math.round(100 * level)} % interval`;
  return [
    scrolled(caption, listing(caption, ["", withUnit(attribute, unit), interval], rows, [1, 2])),
    make("div", { class: "curves" }, drawing(form.drawing.histogram), drawing(form.drawing.curve)),
    make("p", { class: "small soft" },
      `Means are unbiased. Quartiles and shares are fitted to all answers about ${attribute} alone, of the people who have a number; the band holds the whole curve at once (${Math.round(100 * level)} %).`),
    make("details", { class: "small" }, make("summary", {}, "The same as a table"),
      scrolled(`Distribution of ${attribute}`, listing(`Distribution of ${attribute}`, [withUnit(attribute, unit), "share", "up to there", "band"],
        bars.map(({ points, share, cumulative, low, high }) => [points, percent(share), percent(cumulative), `${percent(low)} to ${percent(high)}`]), [1, 2, 3]))),
  ];
};

/** An interval with its estimate, as the collector placed them. */
const reach = ({ left, width, at: place }) => {
  if (place === undefined) return "";
  const [line, mark] = [make("i"), make("b")];
  line.style.left = `${left}%`;
  line.style.width = `${width}%`;
  mark.style.left = `${place}%`;
  return make("div", { class: "reach", "aria-hidden": "true" }, line, mark);
};

/** The means of groups, with their intervals in numbers and drawn. */
const groups = ({ attribute, unit, by, p_value: p, level, means }) => {
  const title = `Mean of ${attribute} by ${by.join(", ")}`;
  const numeric = { class: "number" };
  const table = make("table", { class: "list" },
    make("caption", { class: "hidden" }, title),
    make("thead", {}, make("tr", {},
      make("th", { scope: "col" }, by.join(", ")), make("th", { ...numeric, scope: "col" }, withUnit("mean", unit), make("br"), `${Math.round(100 * level)} % interval`), make("td", { class: "drawn", "aria-hidden": "true" }))),
    make("tbody", {}, means.map(({ drawing: row }) =>
      make("tr", {}, make("th", { scope: "row" }, row.name), make("td", numeric, row.mean, row.interval ? [make("br"), make("span", { class: "soft" }, row.interval)] : []),
        make("td", { class: "drawn", "aria-hidden": "true" }, reach(row))))));
  return [
    make("h3", {}, "Mean of ", named(attribute), " by ", by.flatMap((name, i) => [i ? ", " : "", named(name)])),
    make("p", { class: "small soft" }, `Any difference between the groups: p ${p < 0.001 ? "" : "= "}${pText(p)}.`),
    scrolled(title, table),
  ];
};

const spokenBin = ({ labels }, code) => valueText(labels[code]);

/** Two numbers' bins against each other, the second one upwards; dashed is what may be 0. */
const heatMap = (form) => {
  const [across, up] = form.attributes;
  const title = `${across.name} × ${up.name}`;
  if (!form.known) return [make("p", {}, `${title}: ${form.words}`)];
  const top = Math.max(1e-9, ...form.values.flat());
  const cell = (i, j) => {
    const [share, low, high] = [form.values[i][j], form.low[i]?.[j], form.high[i]?.[j]];
    const isFaint = form.doubtful[i][j];
    const shade = Math.min(5, Math.floor(6 * Math.sqrt(Math.max(0, share) / top)));
    const ends = Number.isFinite(low) ? `\n${percent(low)} to ${percent(high)}` : "";
    const words = `${across.name} ${spokenBin(across, i)}, ${up.name} ${spokenBin(up, j)}: ${percent(share)}${ends}`;
    return make("td", { class: isFaint ? `faint s${Math.min(2, shade)}` : `s${shade}`, "data-tip": words }, (100 * share).toFixed(1).replace(/^-(?=0\.0$)/, "").replace("-", "−"));
  };
  const rows = up.values.map((_, j) => make("tr", {}, make("th", { scope: "row" }, spokenBin(up, j)), across.values.map((__, i) => cell(i, j)))).reverse();
  const foot = make("tr", {}, make("td", { class: "corner" }, `${up.name} ↑ ${across.name} →`), across.values.map((_, i) => make("th", { scope: "col" }, spokenBin(across, i))));
  const words = `Share of people, %. Dashed: may be noise.`;
  const table = make("table", { class: "heat" }, make("caption", { class: "hidden" }, `${title}: ${words}`), make("tbody", {}, rows), make("tfoot", {}, foot));
  const warning = form.swamped ? [make("p", { class: "warning" }, form.words)] : [];
  return [...warning, make("p", { class: "small soft", "aria-hidden": "true" }, words), scrolled(`Heat map of ${across.name} and ${up.name}`, table)];
};

const correlation = ({ attributes, text, interval, level }) => [
  make("h3", {}, attributes.join(" × ")),
  make("p", {}, interval === "anything" ? "Their correlation cannot be told yet: it may be anything." : `Correlation ${text} (${interval}, ${Math.round(100 * level)} % interval).`),
];

/** The part of the page that is about numbers: what is chosen there, and what it shows. */
export const numberSection = (part, guard, consistency) => {
  const choice = { number: undefined, by: undefined, other: undefined, key: undefined };
  const clear = (...ids) => ids.forEach((id) => at(`#${id}`).replaceChildren());

  const show = async () => {
    const { number, by, other } = choice;
    const isCurrent = () => number === choice.number && by === choice.by && other === choice.other;
    const into = (id, path, draw, query) => {
      const element = at(`#${id}`);
      return part(element, path, (form) => isCurrent() && element.replaceChildren(...draw(form)), query);
    };
    await into("number", "release/number", summary, { attribute: number });
    if (by) await into("number-groups", "release/means", groups, { attribute: number, by });
    else clear("number-groups");
    if (!other) return clear("number-correlation", "number-map");
    await into("number-correlation", "release/correlation", correlation, { attributes: [number, other] });
    return into("number-map", "release/marginal", heatMap, { attributes: [number, other], consistency: consistency() });
  };

  const select = (label, names, isOptional, key) =>
    make("label", {}, label, make("select", {
      autocomplete: "off", "data-choice": key,
      onchange: async (event) => {
        choice[key] = event.target.value || undefined;
        if (choice.other === choice.number) choice.other = undefined;
        chooser();
        await guard(show);
        at("#number-told").textContent = [choice.number, choice.by && `by ${choice.by}`, choice.other && `with ${choice.other}`].filter(Boolean).join(" ") + " is shown.";
      },
    }, isOptional ? make("option", { value: "" }, "–") : [], names.map((name) => make("option", { value: name, selected: name === choice[key] }, name))));

  let overview;
  const chooser = () => {
    const focused = document.activeElement?.dataset?.choice;
    const names = overview.numbers.map(({ name }) => name);
    const isPaired = overview.order > 1;
    at("#number-choice").replaceChildren(
      select("number", names, false, "number"),
      ...(isPaired && overview.categories.length ? [select("mean by", overview.categories, true, "by")] : []),
      ...(isPaired && names.length > 1 ? [select("with another number", names.filter((name) => name !== choice.number), true, "other")] : []),
    );
    if (focused) at(`#number-choice [data-choice="${focused}"]`)?.focus();
  };

  return async (form) => {
    overview = form;
    at("#numbers").hidden = !form.numbers.length;
    if (!form.numbers.length) return;
    if (choice.key !== form.survey) {
      const names = form.numbers.map(({ name }) => name);
      const isPaired = form.order > 1;
      Object.assign(choice, { key: form.survey, number: names[0], by: isPaired ? form.categories[0] : undefined, other: isPaired ? names[1] : undefined });
      clear("number", "number-groups", "number-correlation", "number-map");
      chooser();
    }
    await show();
  };
};

/** The form of a survey: complete and valid before anything is asked, and kept nowhere. */

import { at, make } from "../../../src/deniable/server/pages/dom.js";
import { textOf } from "../src/language.js";
import { within } from "../src/words.js";
import { language, nodesOf, prose, said, say } from "./speech.js";

const FEW = 7; // values that are radio buttons; more are a list to choose from
const TOGETHER = 20; // items of a group, where there are more than fit into two

const isTruth = (values) => values.length === 2 && values.includes(true) && values.includes(false);
const capital = (text) => text[0].toLocaleUpperCase(language.tag) + text.slice(1);

/** A value's words beside its button: those of the catalogue begin with a capital there. */
const labelOf = ({ label }, value) => {
  const own = label(value);
  return own.text === say(value ? "yes" : "no") ? { ...own, text: capital(own.text) } : own;
};

const chosenFrom = (key, values, spoken) => {
  const order = values.map((_, code) => code);
  if (isTruth(values)) order.sort((a, b) => values[b] - values[a]); // yes first
  return order.map((code) =>
    make("label", {}, make("input", { type: "radio", name: key, value: code, autocomplete: "off" }), make("span", {}, said(labelOf(spoken, values[code])))));
};

const listOf = (key, values, spoken) =>
  make(
    "select",
    { id: key, autocomplete: "off" },
    make("option", { value: "" }, say("choice")),
    values.map((value, code) => make("option", { value: code }, textOf(within(labelOf(spoken, value), language)))),
  );

/** How a number or a day is entered: the field's attributes, what is said of it, and what is said while it is open. */
const entryOf = ({ values, grid, points, days }, { label, unit }) => {
  if (values) {
    const ranges = values.map((value) => textOf(within(label(value), language)));
    return { field: { type: "number", step: "any" }, hint: say("bins", { ranges: textOf(language.listing(ranges)) }) };
  }
  if (days) {
    const { first, last } = days;
    const hint = say("beyond.day", { low: language.day(first), high: language.day(last) });
    return { field: { type: "date", min: first, max: last }, hint, lack: "lack.day" };
  }
  const [min, max, step] = grid ? [+grid.low, +grid.high, +grid.step] : [+points[0], +points.at(-1), "any"];
  const isWhole = Number.isInteger(min) && Number.isInteger(step);
  // The keys of some telephones have no minus.
  const inputmode = min >= 0 && (isWhole ? "numeric" : "decimal");
  const high = language.number(max) + (unit ? `\u00a0${textOf(within(unit, language))}` : "");
  return { field: { type: "number", min, max, step, inputmode }, hint: say("beyond", { low: min, high }), lack: "lack.number" };
};

/**
 * One attribute: its element, `read`, which returns the person's value, or nothing while it is open, and perhaps what is
 * said then, `lack`.
 */
const item = (attribute, spoken, key) => {
  const { values, edges, missing } = attribute;
  const isListed = values && !edges;
  const helpId = spoken.help && `${key}-help`;
  const help = helpId && make("div", { class: "help", id: helpId }, prose(spoken.help));
  if (isListed && values.length <= FEW) {
    const choice = make("div", { class: values.length < 3 ? "choice short" : "choice" }, chosenFrom(key, values, spoken));
    const box = make("fieldset", { class: "item", "aria-describedby": helpId }, make("legend", {}, said(spoken.text)), help, choice);
    const read = () => {
      const input = at(":checked", box);
      return input && { value: values[input.value] };
    };
    return { box, read };
  }
  const choice = make("div", { class: "choice" });
  const label = make("label", { class: "name", for: key }, said(spoken.text));
  const box = make("div", { class: "item" }, label, help, choice);
  if (isListed) {
    const list = listOf(key, values, spoken);
    choice.append(list);
    return { box, read: () => (list.value ? { value: values[list.value] } : undefined) };
  }
  const { field, hint, lack } = entryOf(attribute, spoken);
  const entry = make("input", { ...field, id: key, autocomplete: "off" });
  choice.append(spoken.unit ? make("div", { class: "number" }, entry, make("span", { "aria-hidden": "true" }, said(spoken.unit))) : entry);
  const absent = make("input", { type: "checkbox", autocomplete: "off" });
  if (missing != null) {
    const own = spoken.absent();
    choice.append(make("label", {}, absent, make("span", {}, said(typeof missing === "string" ? own : { ...own, text: capital(own.text) }))));
    absent.addEventListener("change", () => (entry.disabled = absent.checked));
  }
  choice.append(make("p", { class: "hint", id: `${key}-hint` }, hint));
  const read = () =>
    absent.checked
      ? { value: null }
      : Number.isFinite(entry.valueAsNumber)
        ? { value: field.type === "date" ? entry.value : entry.valueAsNumber }
        : undefined;
  return { box, read, lack };
};

const isAsked = ({ box }) => !box.hidden;
const isOpen = (one) => isAsked(one) && !one.read();

/** How far one is among some items: how many are answered, of how many that are asked. */
const progressOf = (items) => {
  const all = items.filter(isAsked);
  return { n: all.filter(({ read }) => read()).length, all: all.length };
};

/**
 * A long form in groups that fold, each of which says what is answered in it. The first is open, and a complete one opens
 * the next.
 */
const groupsOf = (items) => {
  const groups = [];
  for (let from = 0; from < items.length; from += TOGETHER) {
    const own = items.slice(from, from + TOGETHER);
    const count = make("span", { class: "soft" });
    const name = say("bin.between", { from: from + 1, to: from + own.length });
    const subject = nodesOf(language.parts("item", { name, says: said(own[0].spoken.text) }));
    const group = make("details", { class: "group", open: !from }, make("summary", {}, subject, " ", count), own.map(({ box }) => box));
    let before = 0;
    const tell = () => {
      const { n, all } = progressOf(own);
      count.textContent = `(${say("done", { n, all })})`;
      group.hidden = !all;
      if (n === all && before < n && group.nextSibling) group.nextSibling.open = true;
      before = n;
    };
    groups.push({ group, tell });
  }
  return groups;
};

/** One page of the form: a title and an introduction, perhaps, and its items. */
const pageOf = (items, { title, introduction }) => {
  const groups = items.length > 2 * TOGETHER ? groupsOf(items) : [];
  const content = groups.length ? groups.map(({ group }) => group) : items.map(({ box }) => box);
  const box = make("div", { class: "page" }, title && make("h3", {}, said(title)), prose(introduction), content);
  return { box, items, tell: () => groups.forEach(({ tell }) => tell()) };
};

/**
 * Fill a place with the fields of some attributes or labels, `spoken` of each in words; return how to read, mark, turn
 * and clear them. `skipped` tells which are not asked, by the answers so far; `pages` are lists of positions.
 */
export const formOf = ({ attributes, spoken, element, kind = "a", pages, skipped = () => [], onTurn = () => {} }) => {
  const items = attributes.map((attribute, number) => ({ ...item(attribute, spoken[number], `${kind}${number}`), spoken: spoken[number] }));
  const leaves = (pages ?? [{ attributes: items.map((_, number) => number) }]).map((page) =>
    pageOf(page.attributes.map((number) => items[number]), page));
  let leaf = 0;
  element.replaceChildren(...leaves.map(({ box }) => box));

  const answered = () =>
    Object.fromEntries(items.flatMap(({ read }, number) => {
      const answer = read();
      return answer ? [[attributes[number].name, answer.value]] : [];
    }));

  /** The pages on which something is asked. */
  const used = () => leaves.filter((each) => each.items.some(isAsked) || each === leaves[leaf]);

  const refresh = () => {
    const gone = new Set(skipped(answered()));
    items.forEach(({ box }, number) => (box.hidden = gone.has(number)));
    leaves.forEach((each, number) => {
      each.box.hidden = number !== leaf;
      each.tell();
    });
    onTurn();
  };

  const flag = ({ box, lack = "lack" }, number, isMissing) => {
    box.classList.toggle("open", isMissing);
    const hintId = `${kind}${number}-missing`;
    at(".missing", box)?.remove();
    if (isMissing) at(".choice", box).append(make("p", { class: "missing", id: hintId }, say(lack)));
    for (const field of box.querySelectorAll("input, select")) {
      const isRadio = field.type === "radio";
      const hints = [!isRadio && at(".help", box)?.id, at(".hint", box)?.id, isMissing && hintId].filter(Boolean).join(" ");
      if (hints) field.setAttribute("aria-describedby", hints);
      else field.removeAttribute("aria-describedby");
      if (!isRadio) field.setAttribute("aria-invalid", isMissing);
    }
  };
  items.forEach((one, number) => {
    flag(one, number, false);
    one.box.addEventListener("input", () => {
      if (one.box.classList.contains("open")) flag(one, number, !one.read());
      refresh();
    });
  });
  refresh();

  const fieldsOf = () => [...element.querySelectorAll("input, select")];

  return {
    /** The whole record of what is asked, or nothing; then what is open is marked. */
    record() {
      items.forEach((one, number) => flag(one, number, isOpen(one)));
      if (items.some(isOpen)) return undefined;
      return Object.fromEntries(items.flatMap((one, number) => (isAsked(one) ? [[attributes[number].name, one.read().value]] : [])));
    },
    /** What is open, in words. */
    open: () => items.filter(isOpen).map((one) => one.spoken.text),
    progress: () => progressOf(items),
    /** Where one is: the number of the page among those that are used, and of how many. */
    place: () => ({ n: used().indexOf(leaves[leaf]) + 1, all: used().length }),
    /** Go so many pages on. */
    turn(by) {
      leaf = leaves.indexOf(used()[used().indexOf(leaves[leaf]) + by]);
      refresh();
    },
    /** Go to the first that is open. */
    seek() {
      const one = items.find(isOpen);
      leaf = leaves.findIndex((each) => each.items.includes(one));
      refresh();
      const group = one.box.closest(".group");
      if (group) group.open = true;
      at("input, select", one.box).focus();
    },
    /** What is in the fields, and where one is; and to put it back into the same form in other words. */
    state: () => ({ leaf, fields: fieldsOf().map(({ type, checked, value }) => (/radio|checkbox/.test(type) ? checked : value)) }),
    restore(state) {
      leaf = state.leaf;
      fieldsOf().forEach((field, place) => {
        const value = state.fields[place];
        if (typeof value === "boolean") field.checked = value;
        else field.value = value;
        if (value === true) field.dispatchEvent(new Event("change"));
      });
      refresh();
    },
    clear: () => element.replaceChildren(),
  };
};

/** The form of a survey: complete and valid before anything is asked, and kept nowhere. */

import { make } from "./dom.js";
import { day, grouped, spoken } from "./words.js";

const FEW = 7; // values that are radio buttons; more are a list to choose from
const TOGETHER = 20; // items of a group, where there are more than fit into two

const isTruth = (values) => values.length === 2 && values.includes(true) && values.includes(false);

const chosenFrom = (key, values) => {
  const order = values.map((_, code) => code);
  if (isTruth(values)) order.sort((a, b) => values[b] - values[a]); // yes first
  return order.map((code) =>
    make(
      "label",
      {},
      make("input", { type: "radio", name: key, value: code, autocomplete: "off" }),
      spoken(values[code]),
    ),
  );
};

const listOf = (key, values) =>
  make(
    "select",
    { id: key, autocomplete: "off" },
    make("option", { value: "" }, "Please choose"),
    values.map((value, code) => make("option", { value: code }, spoken(value))),
  );

/** How a number or a day is entered: the field's attributes, what is said of it, and what is said while it is open. */
const entryOf = ({ values, grid, points, days, unit }) => {
  if (values) return { field: { type: "number", step: "any" }, hint: `A number. Only its range counts: ${values.join(", ")}.` };
  const beyond = "what is beyond counts as the end.";
  if (days) {
    const { first, last } = days;
    return { field: { type: "date", min: first, max: last }, hint: `${day(first)} to ${day(last)}; ${beyond}`, lack: "Please enter a day." };
  }
  const [min, max, step] = grid ? [+grid.low, +grid.high, +grid.step] : [+points[0], +points.at(-1), "any"];
  const isWhole = Number.isInteger(min) && Number.isInteger(step);
  // The keys of some telephones have no minus.
  const inputmode = min >= 0 && (isWhole ? "numeric" : "decimal");
  const hint = `${grouped(min)} to ${grouped(max)}${unit ? ` ${unit}` : ""}; ${beyond}`;
  return { field: { type: "number", min, max, step, inputmode }, hint, lack: "Please enter a number." };
};

/**
 * One attribute: its element, `read`, which returns the person's value, or nothing while it is open, and perhaps what is
 * said then, `lack`.
 */
const item = (attribute, key) => {
  const { name, values, edges, missing, unit } = attribute;
  const isListed = values && !edges;
  if (isListed && values.length <= FEW) {
    const choice = make("div", { class: values.length < 3 ? "choice short" : "choice" }, chosenFrom(key, values));
    const box = make("fieldset", { class: "item" }, make("legend", {}, name), choice);
    const read = () => {
      const input = box.querySelector(":checked");
      return input && { value: values[input.value] };
    };
    return { box, read };
  }
  const choice = make("div", { class: "choice" });
  const label = make("label", { class: "name", for: key }, name);
  const box = make("div", { class: "item" }, label, choice);
  if (isListed) {
    const list = listOf(key, values);
    choice.append(list);
    return { box, read: () => (list.value ? { value: values[list.value] } : undefined) };
  }
  const { field, hint, lack } = entryOf(attribute);
  const entry = make("input", { ...field, id: key, "aria-describedby": `${key}-hint`, autocomplete: "off" });
  choice.append(unit ? make("div", { class: "number" }, entry, make("span", { "aria-hidden": "true" }, unit)) : entry);
  const absent = make("input", { type: "checkbox", autocomplete: "off" });
  if (missing !== undefined && missing !== null) {
    choice.append(make("label", {}, absent, typeof missing === "string" ? spoken(missing) : `No answer (${missing})`));
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

/**
 * A long form in groups that fold, each of which says what is answered in it. The first is open, and a complete one opens
 * the next.
 */
const groupsOf = (items, attributes) => {
  const groups = [];
  for (let from = 0; from < items.length; from += TOGETHER) {
    const own = items.slice(from, from + TOGETHER);
    const last = attributes[from + own.length - 1].name;
    const count = make("span", { class: "soft" });
    const name = `${from + 1} to ${from + own.length}: ${attributes[from].name} to ${last}`;
    const group = make("details", { class: "group", open: !from }, make("summary", {}, name, count), own.map(({ box }) => box));
    let before = 0;
    const tell = () => {
      const answered = own.filter(({ read }) => read()).length;
      count.textContent = ` (${answered} of ${own.length} answered)`;
      if (answered === own.length && before < answered && group.nextSibling) group.nextSibling.open = true;
      before = answered;
    };
    group.addEventListener("input", tell);
    tell();
    groups.push(group);
  }
  return groups;
};

/** Fill a place with the fields of some attributes or labels; return how to read, mark and clear them. */
export const formOf = (attributes, element, kind = "a") => {
  const items = attributes.map((attribute, number) => item(attribute, `${kind}${number}`));
  const isLong = items.length > 2 * TOGETHER;
  element.replaceChildren(...(isLong ? groupsOf(items, attributes) : items.map(({ box }) => box)));

  const flag = ({ box, lack = "Please answer this one." }, number, isOpen) => {
    box.classList.toggle("open", isOpen);
    const hintId = `${kind}${number}-missing`;
    box.querySelector(".missing")?.remove();
    if (isOpen) box.querySelector(".choice").append(make("p", { class: "missing", id: hintId }, lack));
    for (const field of box.querySelectorAll("input, select")) {
      const hints = [box.querySelector(".hint")?.id, isOpen && hintId].filter(Boolean).join(" ");
      if (hints) field.setAttribute("aria-describedby", hints);
      else field.removeAttribute("aria-describedby");
      if (field.type !== "radio") field.setAttribute("aria-invalid", isOpen);
    }
  };
  items.forEach((one, number) =>
    one.box.addEventListener("input", () => one.box.classList.contains("open") && flag(one, number, !one.read())),
  );

  return {
    /** The whole record, or nothing; then what is open is marked. */
    record() {
      const answers = items.map(({ read }) => read());
      items.forEach((one, number) => flag(one, number, !answers[number]));
      if (!answers.every(Boolean)) return undefined;
      return Object.fromEntries(answers.map(({ value }, number) => [attributes[number].name, value]));
    },
    /** The names of what is open. */
    open: () => items.flatMap(({ read }, number) => (read() ? [] : [attributes[number].name])),
    /** Go to the first that is open. */
    seek() {
      const box = items.find(({ read }) => !read())?.box;
      const group = box?.closest(".group");
      if (group) group.open = true;
      box?.querySelector("input, select").focus();
    },
    clear: () => element.replaceChildren(),
  };
};

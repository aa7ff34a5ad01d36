/** The form of a survey, field by field: a reader of the definition that all clients share (docs/formats.md). */

import { DEFINITION } from "./definition.js";
import { big } from "./exact.js";

const isText = (value) => typeof value === "string";

/** A number with so many digits, or as many as it needs; below 10^-4 and from 10^most on as a power of ten. */
const decimal = (number, most, tail, count) => {
  const [full, exponent] = Math.abs(number).toExponential(count).split("e");
  const mantissa = count ? full.replace(/\.?0+$/, "") : full;
  const digits = mantissa.replace(".", "");
  const e = +exponent;
  const sign = number < 0 ? "-" : "";
  if (e < -4 || e >= most) return `${sign}${mantissa}e${e < 0 ? "-" : "+"}${`${Math.abs(e)}`.padStart(2, "0")}`;
  if (e < 0) return `${sign}0.${"0".repeat(-e - 1)}${digits}`;
  const whole = digits.slice(0, e + 1).padEnd(e + 1, "0");
  return `${sign}${whole}${digits[e + 1] ? `.${digits.slice(e + 1)}` : tail}`;
};

/** A double as its shortest decimal text, as Python writes it. */
export const shortest = (number) => decimal(number, 16, ".0");

/** An edge as the names of buckets show it: briefly, if that is exact. */
export const edgeText = (edge) => (+edge.toPrecision(6) === edge ? decimal(edge, 6, "", 5) : shortest(edge));

/** A pattern of the letters that the definition lists under a name, with more of it before and behind. */
export const lettersOf = (name, before = "[", behind = "]", flags = "u") =>
  RegExp(before + DEFINITION[name].map((ends) => ends.map((code) => `\\u{${code.toString(16)}}`).join("-")).join("") + behind, flags);
const HIDDEN = lettersOf("hidden");
const UNSEEN = lettersOf("hidden", "^[ ", "]*$");
const UNWRITTEN = lettersOf("unwritten");

/**
 * What a text must be beside its length: whole letters; visible ones; words, of which something is visible, and which
 * change nothing of how the rest of a page reads; no signs that a database would read.
 */
const isSound = (text, { seen, words, column }) =>
  !/\p{Cs}/u.test(text) &&
  !((seen || words) && /^ | $/.test(text)) &&
  !(seen && HIDDEN.test(text)) &&
  !(words && (/^\n|\n$/.test(text) || UNWRITTEN.test(text) || UNSEEN.test(text))) &&
  !(column && /[\0-\x7f]/.test(text.replace(/[\w -]/g, "")));

const within = (value, [low, high]) => value >= low && value <= high;
const isObject = (form) => form === Object(form) && !Array.isArray(form);

const KINDS = {
  is: (form, { is }) => form === is,
  in: (form, { in: constants }) => constants.includes(form),
  any: (form, { any }) => any.some((rule) => fits(rule, form)),
  whole: (form, { whole }) => Number.isInteger(form) && within(form, whole),
  digits: (form, { digits }) => isText(form) && /^(0|[1-9]\d{0,19})$/.test(form) && within(big(form), digits.map(big)),
  double: (form, { double: [low = -Infinity, high = Infinity] }) =>
    isText(form) && isFinite(form) && shortest(+form) === form && +form > low && +form <= high,
  text: (form, rule) => isText(form) && within([...form].length, rule.text) && isSound(form, rule),
  day: (form, { day }) => isText(form) && isDay(form) && within(form, day),
  matches: (form, { matches }) => isText(form) && RegExp(`^(${matches})$`).test(form),
  map: (form, { map, keys, count }) =>
    isObject(form) &&
    within(Object.keys(form).length, count) &&
    Object.entries(form).every(([name, each]) => fits(keys, name) && fits(map, each)),
  list: (form, { list, count, rising }) =>
    Array.isArray(form) &&
    within(form.length, count) &&
    form.every((each, i) => fits(list, each) && !(rising && i && each <= form[i - 1])),
  fields: (form, { fields, one, apart, needs = {} }) => {
    if (!isObject(form)) return false;
    const has = (name) => Object.hasOwn(form, name);
    return (
      Object.keys(form).every(
        (name) => !/\?/.test(name) && (Object.hasOwn(fields, name) || Object.hasOwn(fields, `${name}?`)),
      ) &&
      Object.entries(fields).every(([name, rule]) => {
        const bare = name.replace("?", "");
        return has(bare) ? fits(rule, form[bare]) : bare !== name;
      }) &&
      !(one && one.filter(has).length !== 1) &&
      !apart?.every(has) &&
      Object.entries(needs).every(([name, other]) => !has(name) || has(other))
    );
  },
};

/** Tell whether a text is a day, such as 2026-11-01. */
const isDay = (text) => new Date(text).toJSON()?.slice(0, 10) === text;

/** Tell whether a form keeps a rule, or the rule of a name. */
export const fits = (rule, form) => {
  const ownRule = isText(rule) ? DEFINITION.rules[rule] : rule;
  return KINDS[Object.keys(ownRule).find((kind) => KINDS[kind])](form, ownRule);
};

/** A language: messages, numbers, days and lists as it says them; the same as Python's `deniable.languages`. */

import { fill } from "./messages.js";

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const UTC = { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" };

/** The part of a tag that is the language itself. */
export const baseOf = (tag) => tag.toLowerCase().split("-")[0];

/** The direction of a text, by its first letter that has one. */
export const directionOf = (text) => (RIGHT_TO_LEFT.test(text.match(/\p{L}/u)?.[0] ?? "") ? "rtl" : "ltr");

/** Parts as one text; what is in another language is marked with its tag. */
export const textOf = (parts) =>
  parts.map((part) => (part.tag ? `${textOf(part.parts)} [${part.tag}]` : part)).join("");

/**
 * What a catalogue says. `parts` and `listing` return parts: texts, `{ parts, tag }` of what is in another language, and
 * whatever else was put in, such as elements.
 */
export const languageOf = (tag, { locale, direction, messages, liaisons = [], first_day = "1" }, reserve = {}) => {
  const own = `${locale}-u-nu-latn`; // digits from 0 to 9, as the values of a survey have
  const rules = new Intl.PluralRules(own);

  /** A text of somebody else's so that its direction does not disturb what is around it. */
  const isolate = (text) => (direction === "ltr" && !RIGHT_TO_LEFT.test(text) ? text : `\u2068${text}\u2069`);

  const number = (value, most = 15) => {
    const text = value.toLocaleString(own, { maximumFractionDigits: most }).replace(/[\u200e\u200f\u061c]/g, "");
    return value < 0 ? isolate(text) : text;
  };

  /** What stands between things of a list, before one that may begin so that something else is said. */
  const joint = (between, thing) => {
    const isSo = ([usual, , before]) => usual === between && RegExp(`^[^\\p{L}\\p{N}]*(${before})`, "iu").test(textOf([thing].flat()));
    return liaisons.find(isSo)?.[1] ?? between;
  };

  const english = (name, args) => {
    const parts = languageOf("en", reserve).parts(name, args);
    return direction === "ltr" ? parts : ["\u2068", ...parts, "\u2069"];
  };

  const parts = (name, args = {}) =>
    messages[name] || !reserve.messages
      ? fill(messages[name] ?? name, args, number, (value) => rules.select(value))
      : [{ parts: english(name, args), tag: "en" }];

  return {
    tag,
    direction,
    isolate,
    number,
    parts,
    say: (name, args) => textOf(parts(name, args)),
    has: (name) => !!(messages[name] ?? reserve.messages?.[name]),
    percent: (value) => textOf(parts("percent", { n: value })),

    /** A day, which is given as 2026-11-01, in words. */
    day: (day) => new Date(day).toLocaleDateString(own, UTC).replace(/^1\b/, first_day),

    /** Parts of several things as a list within a sentence: with the last *and*, or *or*. */
    listing: (things, type = "conjunction") => {
      let next = 0;
      return new Intl.ListFormat(own, { type })
        .formatToParts(things.map(() => "x"))
        .flatMap((part) => (part.type === "element" ? things[next++] : joint(part.value, things[next])));
    },
  };
};

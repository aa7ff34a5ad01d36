/**
 * A question in the words of a language: a lead, what it is about line by line, and the device's odds.
 *
 * Sentences are whole messages of a catalogue; names, wordings and labels stand apart from them, one line each. Python
 * says the same (`deniable.questions.words`).
 */

import { WORD, big } from "./exact.js";
import { baseOf, textOf } from "./language.js";
import { legible } from "./legible.js";
import { partsOf, readAnswer, sizesOf, symbolsOf } from "./question.js";

const MIXED = /[,;?"“”„«»،؛]/;

/** The words of a text's language, or of one that is a variety of the same. */
const wordsOf = ({ languages }, tag) =>
  languages[tag] ?? Object.entries(languages).find(([name]) => baseOf(name) === baseOf(tag))?.[1] ?? {};

/** The words of a survey in a language, and whether those of its default one are foreign to it. */
export const wordsIn = (texts, tag) => {
  const other = texts && baseOf(texts.default) !== baseOf(tag) ? texts.default : undefined;
  const [own, reserve] = texts ? [wordsOf(texts, tag), wordsOf(texts, texts.default)] : [{}, {}];

  /** What `pick` finds among the words: `{ text, tag }`, the tag only where it is of the default language. */
  return (pick) => {
    const text = pick(own);
    const either = text ?? pick(reserve);
    return either == null ? undefined : { text: either, tag: text == null ? other : undefined, prose: true };
  };
};

/** The name of the values below, between or above edges. */
const bin = (edges, index, language) => {
  const [from, to] = [edges[index - 1], edges[index]];
  return language.say(`bin.${index ? (to ? "between" : "above") : "below"}`, { from: +from, to: +to });
};

/** How each attribute is spoken of in a language, by name: its `text`, `label` of a value, `missing`, `unit`, `help`. */
export const wordings = (attributes, language, texts) => {
  const find = wordsIn(texts, language.tag);
  const entries = attributes.map(({ name, values = [], edges = [], missing, unit }, at) => {
    const own = (field) => find(({ attributes: all }) => all?.[at]?.[field]);
    const label = (value) => {
      const index = values.indexOf(value);
      return (
        (index < 0 ? undefined : find(({ attributes: all }) => all?.[at]?.values?.[index])) ??
        (edges.length && index >= 0 && index <= edges.length ? { text: bin(edges, index, language) } : declared(value, language))
      );
    };
    const absent = () => own("missing") ?? (values.includes(missing) ? label(missing) : absence(missing, language));
    return [name, { text: own("wording") ?? { text: name }, help: own("help"), unit: own("unit") ?? (unit && { text: unit }), label, absent }];
  });
  return new Map(entries);
};

/** A value that no text words. */
const declared = (value, language) => ({ text: value === !!value ? language.say(value ? "yes" : "no") : `${value}` });

const absence = (missing, language) => ({
  text: typeof missing === "string" ? missing : `${language.say("absent")} (${missing})`,
});

/** How an attribute is spoken of: as it is declared, if nothing else is said of it. */
const wordingOf = (name, language, spoken) => spoken.get(name) ?? { text: { text: name }, label: (value) => declared(value, language) };

/**
 * A text of the survey's as parts of what a language says, perhaps within a message such as a quote. What nobody wrote as
 * `prose` is said to the letter.
 */
export const within = ({ text, tag, prose }, language, message) => {
  const shown = prose ? legible(text.trim().replace(/\s+/g, " ")) : legible(text, message ? /^$|["“”„«»]/ : /^$|^"/);
  const own = language.isolate(shown);
  const parts = message && (prose || shown === text) ? language.parts(message, { text: own }) : [own];
  return tag ? [{ parts, tag }] : parts;
};

/** Whether one would not see in a list where a label ends. */
const areMixed = (labels, language) => {
  const joint = RegExp(`(^| )${textOf(language.listing(["", ""], "disjunction")).trim()}( |$)`);
  return labels.some(({ text }) => joint.test(text) || (labels[1] && MIXED.test(text)));
};

/** A probability out of 2^64, as after *with probability*: a simple fraction where it is one, else three digits and percent. */
const chance = (t, language) => {
  for (let q = 1n; q < 13n; q++) {
    const p = (2n * t * q + WORD) / (2n * WORD);
    const gap = t * q - p * WORD;
    if (p && (gap < 0n ? -gap : gap) * 1000000000n < q * WORD) return language.say("chance", { chance: q > 1n ? `${p}/${q}` : `${p}` });
  }
  if (t * 1000n > WORD * 999n) return language.say("chance.high", { chance: language.percent(99.9) });
  if (t * 1000n <= WORD) return language.say("chance.low", { chance: language.percent(0.1) });
  const scale = t * 100n < WORD ? 1000n : t * 10n < WORD ? 100n : 10n;
  const scaled = 100n * t * scale;
  let digits = scaled / WORD;
  const rest = 2n * (scaled % WORD);
  if (rest > WORD || (rest === WORD && digits % 2n)) digits++; // ties go to the even digit
  return language.say("chance.percent", { chance: language.percent(Number(digits) / Number(scale)) });
};

const oddsText = ({ way, M, w, t, t0 }, language) => {
  const n = Number(M);
  const say = (name, odds, rest) => language.say(name, { n, chance: chance(odds, language), ...rest });
  return way === "bitwise"
    ? say("flip.each", WORD - t)
    : way === "unary"
      ? say("unary", t, { own: chance(t, language), other: chance(t0, language) })
      : M === 2n
        ? say("flip", WORD - t)
        : w > 1n
          ? say("some", t, { chosen: Number(w) })
          : say("one", t, { n: n - 1 });
};

/** A question in words: `lead`, `items` of [name, says] in parts, or `questions` of these two, and `odds`. */
export const compose = ({ asks, answer }, language, spoken = new Map()) => {
  const point = (value) => (typeof value === "string" ? language.day(value) : language.number(value));
  const range = ({ above, to, or, unit }, own) => {
    const ends = [[point(above)], ...(to === undefined ? [] : [[point(to)]])];
    const measure = own.unit ?? (unit && { text: unit });
    if (measure) ends.at(-1).push("\u00a0", ...within(measure, language));
    const isDay = typeof above === "string";
    const parts = language.parts(to === undefined ? (isDay ? "after" : "above") : isDay ? "until" : "between", { above: ends[0], to: ends[1] });
    if (or === undefined) return parts;
    const missing = own.absent?.() ?? absence(or, language);
    return language.parts("range.or", { range: parts, missing: within(missing, language, "quote") });
  };

  const item = (term) => {
    const own = wordingOf(term.attribute, language, spoken);
    if (!term.values) return [within(own.text, language), range(term, own)];
    const labels = term.values.map(own.label);
    const message = areMixed(labels, language) && "quote";
    return [within(own.text, language), language.listing(labels.map((label) => within(label, language, message)), "disjunction")];
  };

  const parity = (bit) => {
    const items = bit.map(item);
    const n = bit.length;
    if (n < 2) return { lead: language.say(bit[0].values ? "one.value" : "one.range", { n: bit[0].values?.length }), items };
    if (n < 3) return { lead: language.say("pair"), items };
    const numbers = [1, 3, 5].filter((odd) => odd <= n).map((odd) => language.number(odd));
    const odd = language.listing([...numbers, ...(n > 6 ? ["…"] : [])], "disjunction");
    return { lead: language.say("odd", { n, odd }), items };
  };

  const { cell, parities } = asks;
  const odds = oddsText(readAnswer(answer), language);
  if (cell) return { lead: language.say(cell[1] ? "cell" : "cell.one", { n: Number(symbolsOf(asks)) }), items: cell.map(item), odds };
  const n = parities.length;
  if (n < 2) return { ...parity(parities[0]), odds };
  if (parities.every((bit) => bit.length < 2)) return { lead: language.say("each", { n }), items: parities.map(([term]) => item(term)), odds };
  return { lead: language.say("several", { n }), questions: parities.map(parity), odds };
};

/** What a possible answer says, as parts: the answer to each part of the question, which it names unless it is brief. */
export const answerWords = ({ asks }, symbol, language, spoken, isBrief) => {
  const sizes = sizesOf(asks);
  const parts = partsOf(asks).map(({ attribute, values }, index) => {
    const digit = Number(symbol % big(sizes[index]));
    symbol /= big(sizes[index]);
    if (!asks.cell) return [language.say(digit ? "yes" : "no")];
    const own = wordingOf(attribute, language, spoken);
    const says = within(own.label(values[digit]), language);
    return isBrief ? says : language.parts("item", { name: within(own.text, language), says });
  });
  return language.listing(parts);
};

/** A question's words as lines of text. */
export const linesOf = ({ lead, items = [], questions = [], odds }, language, indent = "") => [
  `${indent}${lead}`,
  ...items.map(([name, says]) => `${indent}• ${textOf(language.parts("item", { name, says }))}`),
  ...questions.flatMap((question, index) => {
    const [first, ...rest] = linesOf(question, language);
    return [`${index + 1}. ${first}`, ...rest.map((line) => `   ${line}`)];
  }),
  ...(odds ? [odds] : []),
];

/** A question in plain English, the same as Python's `Question.english(full=True)` to the letter. */

import { WORD, big } from "./exact.js";
import { legible } from "./legible.js";
import { lawOf, partsOf, readAnswer, sizesOf, symbolsOf } from "./question.js";

const withCommas = (n) => n.toLocaleString("en", { maximumFractionDigits: 15 });
const isTruth = ({ values }) => values?.length < 2 && values[0] === true;

/** A text that stands in a list, in quotes where one would not see where it ends. */
const quote = (text) => legible(`${text}`, /^$|[,;?"]| and \p{Nd}+ more$/u);
const inWords = (names) =>
  names[1] ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0];
const valuesOf = ({ values }) => values.map(quote).join(", ");

/** What is said if there is something to say. */
const tail = (before, thing, say = withCommas) => (thing === undefined ? "" : before + say(thing));
const rangeText = ({ above, to, or, unit }) =>
  tail("above ", above) + tail(" and up to ", to) + tail(" ", unit, legible) + tail(", or ", or, quote);

const fact = (term) =>
  isTruth(term)
    ? legible(term.attribute)
    : `${quote(term.attribute)} is ${!term.values ? rangeText(term) : (term.values.length < 2 ? "" : "one of ") + valuesOf(term)}`;

const parity = (bit) => {
  const [{ attribute, values }] = bit;
  const facts = bit.map(fact);
  if (facts[1]) {
    const those = bit.every(isTruth) ? `${inWords(facts)} true for you` : `these true for you: ${facts.join("; ")}`;
    return `Is ${facts[2] ? "an odd number" : "exactly one"} of ${those}?`;
  }
  if (!values) return `Is your ${quote(attribute)} ${rangeText(bit[0])}?`;
  return values.length < 2 || values.some((value) => value === !!value)
    ? `Is it true for you: ${facts}?`
    : `Is your ${quote(attribute)} one of these ${withCommas(values.length)}: ${valuesOf(bit[0])}?`;
};

const questionText = (asks) => {
  const { cell, parities } = asks;
  if (cell) {
    const those = cell[1]
      ? `combinations of ${inWords(cell.map((term) => `${legible(term.attribute)} (${valuesOf(term)})`))} is yours`
      : `values of ${legible(cell[0].attribute)} is yours: ${valuesOf(cell[0])}`;
    return `Which of the ${withCommas(symbolsOf(asks))} ${those}?`;
  }
  if (!parities[1]) return parity(parities[0]);
  const isSimple = parities.flat().every(isTruth);
  const phrases = (phrase) => parities.map((bit, i) => (isSimple ? "" : `(${i + 1}) `) + phrase(bit));
  const facts = phrases(([term]) => fact(term));
  return parities.some((bit) => bit[1])
    ? `${parities.length} questions at once. ${phrases(parity).join(" ")}`
    : `For each of these ${parities.length}: ${isSimple ? inWords(facts) : facts.join("; ")}: is it true for you?`;
};

/** A probability out of 2^64 as a simple fraction where it is one, else as a percentage. */
const chance = (t) => {
  const percent = Number(100n * t) / Number(WORD);
  for (let q = 1; q < 13; q++) {
    const p = Math.round((percent * q) / 100);
    if (p && Math.abs(percent / 100 - p / q) < 1e-9) return q > 1 ? `${p}/${q}` : p;
  }
  if (t * 1000n > WORD * 999n) return "more than 99.9%";
  if (t * 1000n <= WORD) return "below 0.1%";
  // Ties go to the even digit; only a number of few binary places is one.
  const scale = percent < 1 ? 1000 : percent < 10 ? 100 : 10;
  let digits = Math.round(percent.toPrecision(3) * scale);
  if (digits % 2 && (percent * 16) % 1 === 0 && digits - percent * scale === 0.5) digits--;
  return `${digits / scale}%`;
};

const odds = ({ parities }, { way, M, w, t, t0 }) => {
  const probability = (t) => ` probability ${chance(t)}`;
  const symbols = parities ? " combinations of yes and no" : " possible answers";
  return way === "bitwise"
    ? `Each answer is reported as its opposite with${probability(WORD - t)}.`
    : way === "unary"
      ? `Your device answers yes or no to each of the ${withCommas(M)}${parities ? " combinations" : ""}: yes to the true one with${probability(t)}, yes to any other with${probability(t0)}.`
      : M === 2n
        ? `With${probability(WORD - t)} your device reports the opposite.`
        : w > 1n
          ? `Your device reports ${w} of the ${withCommas(M)}${symbols}; the true one is among them with${probability(t)}.`
          : `With${probability(t)} your device reports the true ${parities ? "answers" : "one"}, otherwise one of the other ${withCommas(M - 1n)}${parities ? symbols : ""} at random.`;
};

/** All that a person may want to know of a question, and of a report to it if there is one. */
export const explain = ({ asks, answer }, report) => {
  const { symbols, reported = [], ...law } = lawOf({ answer }, report);
  const sizes = sizesOf(asks);

  /** What a possible answer says. */
  const says = (symbol) =>
    partsOf(asks)
      .map(({ attribute, values }, i) => {
        const digit = symbol % sizes[i];
        symbol /= sizes[i];
        return asks.cell ? `${quote(attribute)} is ${quote(values[digit])}` : digit ? "yes" : "no";
      })
      .join(", ");

  return {
    text: `${questionText(asks)} ${odds(asks, readAnswer(answer))}`,
    ...law,
    answers: symbols > 256 ? [] : Array.from({ length: Number(symbols) }, (_, symbol) => says(big(symbol))),
    reported: reported.map(says),
  };
};

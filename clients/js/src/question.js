/** A question: its exact ε, the true answer of a record, and the deniable one that is drawn. */

import { canonical } from "./canonical.js";
import { WORD, below, big, comb, randomWord, rank, unrank } from "./exact.js";

/** What a question asks, part by part: the terms of a cell, or the bits, each a list of terms. */
export const partsOf = ({ cell, parities }) => cell ?? parities;

/** The attributes of some terms. */
export const touchedBy = (terms) => new Set(terms.map((term) => term.attribute));

/** The number of true answers to each part. */
export const sizesOf = (asks) => partsOf(asks).map((part) => big(asks.cell ? part.values.length : 2));

/** The number of true answers. */
export const symbolsOf = (asks) => sizesOf(asks).reduce((a, b) => a * b);

/** Read a way of answering strictly; `ratio` is e^ε as [numerator, denominator]. */
export const readAnswer = (answer) => {
  const { way } = answer;
  const c = big(answer.bits ?? 1);
  const M = big(answer.symbols ?? 1n << c);
  const w = big(answer.chosen ?? 1);
  const t = big(answer.threshold ?? answer.own);
  const t0 = big(answer.other ?? 1);
  const rest = WORD - t;
  const [form, ...ratio] = {
    bitwise: [`"bits":${c},"threshold":"${t}"`, t ** c, rest ** c],
    subset: [`"chosen":${w},"symbols":${M},"threshold":"${t}"`, t * (M - w), rest * w],
    unary: [`"other":"${t0}","own":"${t}","symbols":${M}`, t * (WORD - t0), t0 * rest],
  }[way];
  if (way === "subset" && ratio[0] < ratio[1]) ratio.reverse();
  const isSound = t > 0 && rest > 0 && t0 > 0 && w > 0 && w < M && ratio[0] > ratio[1];
  if (!isSound || `{${form},"way":"${way}"}` !== canonical(answer)) throw TypeError();
  return { way, M, w, t, t0, c, ratio };
};

/** The true answer of a record, a map of declared values. */
export const symbolOf = (asks, record) => {
  const place = ({ attribute, values }) => values.indexOf(record.get(attribute));
  const sizes = sizesOf(asks);
  const digit = (part) => (asks.cell ? place(part) : part.filter((term) => place(term) >= 0).length % 2);
  return partsOf(asks).reduceRight((symbol, part, i) => symbol * sizes[i] + big(digit(part)), 0n);
};

/**
 * Draw what is reported for a record: `{value}` as a decimal text, or `{packed}` in base64.
 *
 * The number of words taken does not depend on the record.
 */
export const reply = ({ asks, answer }, record, word = randomWord) => {
  const { way, M, w, t, t0, c } = readAnswer(answer);
  let value = symbolOf(asks, record);
  if (way === "subset") {
    const keep = word() < t;
    const companions = below(comb(M - 1n, w - 1n), word);
    const strangers = below(comb(M - 1n, w), word);
    const others = keep ? unrank(companions, w - 1n) : unrank(strangers, w);
    const members = others.map((other) => (other < value ? other : other + 1n));
    if (keep) members.splice(others.filter((other) => other < value).length, 0, value);
    value = rank(members);
  } else if (way === "bitwise") {
    for (let j = 0n; j < c; j++) if (word() >= t) value ^= 1n << j;
  } else {
    let bits = "";
    for (let s = 0n; s < M; s++) bits = +(word() < (s === value ? t : t0)) + bits;
    value = big(`0b${bits}`);
  }
  if (value < 1n << 63n) return { value: `${value}` };
  const digits = value.toString(16);
  const pairs = ((digits.length % 2 ? "0" : "") + digits).match(/../g).reverse();
  return { packed: btoa(pairs.map((pair) => String.fromCharCode(`0x${pair}`)).join("")) };
};

/** A question: its exact ε, the true answer of a record, and the deniable one that is drawn. */

import { DEFINITION } from "./definition.js";
import { WORD, below, big, comb, manyWords, randomWord, rank, unrank } from "./exact.js";
import { fits } from "./forms.js";
import { isPoint } from "./order.js";
import { refuse } from "./refused.js";

/** What a question asks, part by part: the terms of a cell, or the bits, each a list of terms. */
export const partsOf = ({ cell, parities }) => cell ?? parities;

/** The number of true answers to each part. */
export const sizesOf = (asks) => partsOf(asks).map((part) => big(asks.cell ? part.values.length : 2));

/** The number of true answers. */
export const symbolsOf = (asks) => sizesOf(asks).reduce((a, b) => a * b);

/** Read a way of answering strictly; `ratio` is e^ε as [numerator, denominator], `outcomes` how many numbers may be sent. */
export const readAnswer = (answer) => {
  if (!fits("answer", answer)) throw TypeError();
  const { way } = answer;
  const c = big(answer.bits ?? 1);
  const M = big(answer.symbols ?? 1n << c);
  const w = big(answer.chosen ?? 1);
  const t = big(answer.threshold ?? answer.own);
  const t0 = big(answer.other ?? 1);
  const rest = WORD - t;
  const ratio = {
    bitwise: [t ** c, rest ** c],
    subset: [t * (M - w), rest * w],
    unary: [t * (WORD - t0), t0 * rest],
  }[way];
  if (way === "subset" && ratio[0] < ratio[1]) ratio.reverse();
  // Large sets take for ever to number, and how long would tell whether the true symbol is among them.
  const outcomes = way === "subset" && w < M && w <= DEFINITION.limits.chosen ? comb(M, w) : way === "bitwise" ? M : 0n;
  const isNumbered = way === "unary" || (outcomes && outcomes < 1n << 63n);
  if (!isNumbered || ratio[0] <= ratio[1]) throw TypeError();
  return { way, M, w, t, t0, c, ratio, outcomes };
};

/**
 * What a report to a question can tell: ε and `suspicion`, what a suspicion of one half can become at most; how many
 * `symbols` there are; and those that a report names, `reported` (none of a yes or no to each).
 */
export const lawOf = ({ answer }, report) => {
  const { way, M, w, ratio } = readAnswer(answer);
  const suspicion = Number((ratio[0] * WORD) / (ratio[0] + ratio[1])) / 2 ** 64;
  const value = big(report?.value ?? 0);
  return {
    epsilon: Math.log(suspicion / (1 - suspicion)),
    suspicion,
    symbols: M,
    reported: !report || way === "unary" ? undefined : way === "subset" ? unrank(value, w) : [value],
  };
};

/** Tell whether a term of a question is true of a declared value. */
const holds = ({ values, above, to, or }, value) =>
  values
    ? values.includes(value)
    : value === (or ?? NaN) || (isPoint(value, above) && value > above && !(value > to));

/** The true answer of a record, a map of declared values: one that the question has, or nothing is drawn. */
export const symbolOf = (asks, record) => {
  const valueOf = ({ attribute }) => record.get(attribute);
  const sizes = sizesOf(asks);
  const digit = (part) =>
    asks.cell ? part.values.indexOf(valueOf(part)) : part.filter((term) => holds(term, valueOf(term))).length % 2;
  const digits = partsOf(asks).map(digit);
  if (digits.some((one) => one < 0)) refuse("question", "It does not list every value.");
  return digits.reduceRight((symbol, one, i) => symbol * sizes[i] + big(one), 0n);
};

/** Bytes as what is sent: `{value}` as a decimal text below 2^63, or `{packed}` in base64. */
const wireValue = (bytes) => {
  let end = bytes.length;
  while (end && !bytes[end - 1]) end--;
  if (end < 8 || (end === 8 && bytes[7] < 128)) {
    return { value: `${bytes.slice(0, end).reduceRight((value, byte) => value * 256n + big(byte), 0n)}` };
  }
  let text = "";
  for (let at = 0; at < end; at++) text += String.fromCharCode(bytes[at]);
  return { packed: btoa(text) };
};

/**
 * Draw what is reported for a record.
 *
 * The number of words taken does not depend on the record. A true answer that the question does not have is
 * an error before any word is taken, and a value that it does not have is never returned.
 */
export const reply = ({ asks, answer }, record, word = randomWord) => {
  const { way, M, w, t, t0, c, outcomes } = readAnswer(answer);
  const symbol = symbolOf(asks, record);
  if (symbolsOf(asks) !== M || symbol < 0n || symbol >= M) refuse("question", "It has no such answer.");
  if (way === "unary") {
    const bytes = new Uint8Array(Number((M + 7n) / 8n));
    const own = Number(symbol);
    if (word === randomWord && M > 64n) word = manyWords();
    for (let s = 0; s < M; s++) if (word() < (s === own ? t : t0)) bytes[s >> 3] |= 1 << (s & 7);
    return wireValue(bytes);
  }
  let value = symbol;
  if (way === "subset") {
    const keep = word() < t;
    // Both are always drawn and made, so that timing tells nothing.
    const companions = unrank(below(comb(M - 1n, w - 1n), word), w - 1n);
    const strangers = unrank(below(comb(M - 1n, w), word), w);
    const others = keep ? companions : strangers;
    const members = others.map((other) => (other < value ? other : other + 1n));
    if (keep) members.splice(others.filter((other) => other < value).length, 0, value);
    value = rank(members);
  } else {
    for (let j = 0n; j < c; j++) if (word() >= t) value ^= 1n << j;
  }
  if (value < 0n || value >= outcomes) refuse("question", "It has no such answer.");
  return { value: `${value}` };
};

/** What a question says, and a report to it: in plain English, or in another language. */

import { ENGLISH } from "./english.js";
import { languageOf, textOf } from "./language.js";
import { lawOf } from "./question.js";
import { answerWords, compose, linesOf } from "./words.js";

const english = languageOf("en", ENGLISH);

/** All that a person may want to know of a question, and of a report to it if there is one. */
export const explain = (question, report, language = english, spoken = new Map()) => {
  const { symbols, reported = [], ...law } = lawOf(question, report);
  const says = (symbol) => textOf(answerWords(question, BigInt(symbol), language, spoken));
  return {
    text: linesOf(compose(question, language, spoken), language).join("\n"),
    ...law,
    answers: symbols > 256 ? [] : [...Array(Number(symbols)).keys()].map(says),
    reported: reported.map(says),
  };
};

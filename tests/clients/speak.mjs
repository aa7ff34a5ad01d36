// Says what the JavaScript client makes of questions and surveys: a list of them a line.
import { createInterface } from "node:readline";

import { explain } from "../../clients/js/src/explain.js";
import { exceeds } from "../../clients/js/src/exact.js";
import { readAnswer } from "../../clients/js/src/question.js";
import { readSurvey } from "../../clients/js/src/survey.js";

const say = {
  /** A question in English, and whether its epsilon is above a limit. */
  question: ({ question, limit }) => ({
    english: explain(question).text,
    exceeds: exceeds(readAnswer(question.answer).ratio, limit),
  }),

  /** The questions that a survey has in some slots, and the slot that is drawn from some words. */
  survey: ({ survey, id, slots, words }) => {
    const own = readSurvey(survey, id);
    const left = words.map(BigInt);
    const questions = slots.map((slot) => own.question(slot));
    for (const question of questions) own.verify(question, own.epsilon);
    return { questions, drawn: `${own.draw(() => left.shift())}` };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { kind, told } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(told.map(say[kind]))}\n`);
}

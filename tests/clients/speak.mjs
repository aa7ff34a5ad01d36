// Says questions in English, and whether their epsilon is above a limit: a list a line.
import { createInterface } from "node:readline";

import { english } from "../../clients/js/src/english.js";
import { exceeds } from "../../clients/js/src/exact.js";
import { readAnswer } from "../../clients/js/src/question.js";

for await (const line of createInterface({ input: process.stdin })) {
  const made = JSON.parse(line).map(({ question, limit }) => ({
    english: english(question),
    exceeds: exceeds(readAnswer(question.answer).ratio, limit),
  }));
  process.stdout.write(`${JSON.stringify(made)}\n`);
}

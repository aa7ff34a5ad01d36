/** The vectors that all clients share: ids, questions, answers, English, and what must be refused. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { asking } from "../src/asking.js";
import { canonical, hex, sha256, utf8 } from "../src/canonical.js";
import { english, explain } from "../src/english.js";
import { readAnswer, reply, symbolOf } from "../src/question.js";
import { readSurvey } from "../src/survey.js";

const vectors = (name) =>
  JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));
const surveys = [...vectors("surveys"), ...vectors("subspace"), ...vectors("mixed")];

/** A source that gives recorded words, and no more. */
const recorded = (words) => {
  const left = words.map(BigInt);
  return { left, word: () => left.shift() ?? assert.fail("there are no more words") };
};

test("golden surveys keep their canonical JSON and their id", async () => {
  for (const { id, survey, canonical: text } of surveys) {
    assert.equal(canonical(survey), text);
    assert.equal(hex(await sha256(utf8(text))), id);
  }
});

test("golden questions are derived, and pass every check", () => {
  for (const { id, survey, questions } of surveys) {
    const own = asking(survey, id);
    for (const { question, epsilon } of questions) {
      assert.deepEqual(own.question(question.slot), question);
      const { verify } = readSurvey(survey, id);
      verify(question, Number(survey.epsilon));
      verify(question, Number(survey.epsilon), own);
      assert.ok(Math.abs(explain(question).epsilon - Number(epsilon)) < 1e-9);
    }
  }
});

test("golden slots follow from their words", () => {
  for (const { id, survey, draws } of surveys) {
    for (const { words, slot } of draws ?? []) {
      const { left, word } = recorded(words);
      assert.equal(`${asking(survey, id).draw(word)}`, slot);
      assert.equal(left.length, 0);
    }
  }
});

test("golden answers follow from their words", () => {
  const answers = [...vectors("answers"), ...surveys.flatMap((vector) => vector.answers ?? [])];
  assert.ok(answers.length > 100);
  for (const { question, record, words, symbol, value } of answers) {
    const { left, word } = recorded(words);
    const held = new Map(Object.entries(record));
    assert.equal(`${symbolOf(question.asks, held)}`, symbol);
    const drawn = reply(question, held, word);
    const bytes = Buffer.from(drawn.packed ?? "", "base64").reverse();
    assert.equal(drawn.value ?? `${BigInt(`0x${bytes.toString("hex")}`)}`, value);
    assert.equal(left.length, 0);
  }
});

test("bad ways of answering are refused", () => {
  for (const { why, form } of vectors("bad").questions) {
    const survey = { schema: { attributes: ["a", "b"].map((name) => ({ name, values: [false, true] })) }, order: 2, epsilon: "5.0", mechanism: "MargPS" };
    const { verify } = readSurvey(survey, "s");
    assert.throws(() => verify(form, 1000), undefined, why);
  }
});

/** The vectors that all clients share: ids, questions, answers, English, and what must be refused. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { asking } from "../src/asking.js";
import { canonical, hex, sha256, utf8 } from "../src/canonical.js";
import { exceeds } from "../src/exact.js";
import { explain } from "../src/english.js";
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
    const survey = { schema: { attributes: ["a", "b"].map((name) => ({ name, values: [false, true] })) }, epsilon: "5.0", shapes: [{ attributes: 2 }] };
    const { verify } = readSurvey(survey, "s");
    assert.throws(() => verify(form, 1000), undefined, why);
  }
});

const shared = vectors("clients");

test("questions are said in the same English, to the letter", () => {
  for (const { question, english: said } of shared.english) assert.equal(explain(question).text, said);
});

test("records are taken and refused alike", () => {
  const { schema, records } = shared.records;
  const { check } = readSurvey({ schema, shapes: [{ attributes: 1 }], epsilon: "1.0" }, "s");
  for (const { record, held } of records) {
    if (held) assert.deepEqual(Object.fromEntries(check(record)), held);
    else assert.throws(() => check(record), { reason: "record" });
  }
});

test("an issued id has its slot in every client", async () => {
  for (const { survey, id, slot } of shared.hashed) {
    const known = hex(await sha256(utf8(survey)));
    assert.equal(`${await asking(JSON.parse(survey), known).hashed(id)}`, slot);
  }
});

test("epsilon is compared with a limit exactly", () => {
  for (const { answer, limit, exceeds: isAbove } of shared.limits) {
    assert.equal(exceeds(readAnswer(answer).ratio, Number(limit)), isAbove);
  }
  assert.ok(shared.limits.some((row) => row.exceeds) && shared.limits.some((row) => !row.exceeds));
});

test("questions that were tampered with are refused for the same reason", async () => {
  for (const { survey, id, limit, sound, refused } of shared.refused) {
    const { verify } = readSurvey(JSON.parse(survey), id);
    const own = asking(JSON.parse(survey), id);
    for (const strict of [undefined, own]) {
      verify(sound, limit, strict);
      for (const { why, reason, question } of refused) {
        const got = await (async () => verify(question, limit, strict))().then(
          () => "accepted",
          (error) => error.reason ?? "question",
        );
        assert.ok(got === reason || (strict && got === "question"), `${why}: ${got}, not ${reason}`);
      }
    }
  }
});

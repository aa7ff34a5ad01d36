/** The vectors that all clients share: ids, questions, answers, and what must be refused. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { canonical, hex, sha256, utf8 } from "../src/canonical.js";
import { exceeds } from "../src/exact.js";
import { surveyLog } from "../src/log.js";
import { lawOf, readAnswer, reply, symbolOf } from "../src/question.js";
import { readSurvey } from "../src/survey.js";
import { readTexts } from "../src/texts.js";

const at = (name) => new URL(`../../../tests/vectors/${name}.json`, import.meta.url);
const vectors = (name) => JSON.parse(readFileSync(at(name), "utf8"));
const surveys = ["surveys", "subspace", "mixed", "numbers"].flatMap(vectors);

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
    const own = readSurvey(survey, id);
    for (const { question, epsilon } of questions) {
      assert.deepEqual(own.question(question.slot), question);
      own.verify(question, Number(survey.epsilon));
      assert.ok(Math.abs(lawOf(question).epsilon - Number(epsilon)) < 1e-9);
    }
  }
});

test("golden records with numbers are taken and refused alike", () => {
  const numbers = vectors("numbers");
  const [{ survey, id, records }] = numbers;
  const { check } = readSurvey(survey, id);
  for (const { record, held } of records) {
    if (held) assert.deepEqual(Object.fromEntries(check(record)), held);
    else assert.throws(() => check(record), { reason: "record" });
  }
});

test("golden slots follow from their words", () => {
  for (const { id, survey, draws } of surveys) {
    for (const { words, slot } of draws ?? []) {
      const { left, word } = recorded(words);
      assert.equal(`${readSurvey(survey, id).draw(word)}`, slot);
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

test("bad questions are refused", () => {
  const { survey, id } = surveys.find((vector) => vector.survey.mechanism === "InpHT");
  const { verify } = readSurvey(survey, id);
  for (const { why, form } of vectors("bad").questions) {
    assert.throws(() => verify(form && { ...form, survey: id }, 1000), undefined, why);
    if (form?.answer && !/parit|slot|listed|fewer|fraction|twice|many|range/.test(why)) {
      assert.throws(() => readAnswer(form.answer), undefined, why);
    }
  }
});

test("bad surveys are refused, and hostile ones as Python does", async () => {
  const sound = surveys.find((vector) => vector.survey.mechanism === "InpHT").survey;
  for (const { why, text, change } of vectors("bad").surveys) {
    assert.throws(() => readSurvey(text ? JSON.parse(text) : { ...sound, ...change }, "0"), undefined, why);
  }
  for (const { why, text, id } of vectors("hostile")) {
    if (!id) {
      assert.throws(() => readSurvey(JSON.parse(text), "0"), undefined, why);
      continue;
    }
    const form = JSON.parse(text);
    assert.equal(hex(await sha256(utf8(canonical(form)))), id);
    readSurvey(form, id);
  }
});

test("an impossible answer is an error before anything is drawn", () => {
  const never = () => assert.fail("a word was drawn");
  const subset = { way: "subset", symbols: 4, chosen: 1, threshold: "9000000000000000000" };
  const cell = (...values) => ({ cell: [{ attribute: "a", values }, { attribute: "b", values: [false, true] }] });
  const record = (a) => new Map(Object.entries({ a, b: true }));
  const bitwise = { way: "bitwise", bits: 2, threshold: "13835058055282163712" };
  for (const answer of [subset, bitwise]) {
    assert.throws(() => reply({ asks: cell("x", "y"), answer }, record("z"), never), { reason: "question" });
    assert.throws(() => reply({ asks: cell("x", "y"), answer }, new Map(), never), { reason: "question" });
    assert.throws(() => reply({ asks: cell("x", "y", "z"), answer }, record("z"), never), { reason: "question" });
    reply({ asks: cell("x", "z"), answer }, record("z"), () => 5n);
  }
});

test("packed answers of many symbols are the bytes of their bits", () => {
  const values = Array.from({ length: 200 }, (_, i) => i);
  const answer = { way: "unary", symbols: 200, own: "2", other: "1" };
  const question = { asks: { cell: [{ attribute: "a", values }] }, answer };
  const drawn = (at) => reply(question, new Map([["a", 150]]), ((s) => () => (at(s++) ? 0n : 5n))(0));
  assert.deepEqual(drawn(() => false), { value: "0" });
  assert.deepEqual(drawn((s) => s === 62), { value: `${1n << 62n}` });
  assert.deepEqual(drawn((s) => s === 63), { packed: btoa("\0\0\0\0\0\0\0\x80") });
  const bytes = Buffer.from(drawn((s) => s === 150).packed, "base64");
  assert.deepEqual([bytes.length, bytes[18]], [19, 1 << 6]);
});

const shared = vectors("clients");

test("records are taken and refused alike", () => {
  const { schema, records } = shared.records;
  const { survey } = surveys.find((vector) => vector.survey.mechanism === "InpHT");
  const lists = schema.attributes.map(({ values, ordered }) => ({ list: values && !ordered ? "codes" : "thresholds" }));
  const { check } = readSurvey({ ...survey, order: 1, templates: survey.templates.slice(0, 1), lists, schema }, "s");
  for (const { record, held } of records) {
    if (held) assert.deepEqual(Object.fromEntries(check(record)), held);
    else assert.throws(() => check(record), { reason: "record" });
  }
});

test("an issued id has its slot in every client", async () => {
  for (const { survey, id, slot } of shared.hashed) {
    const known = hex(await sha256(utf8(survey)));
    assert.equal(`${await readSurvey(JSON.parse(survey), known).hashed(id)}`, slot);
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
    verify(sound, limit);
    for (const { why, reason, question } of refused) {
      const got = await (async () => verify(question, limit))().then(
        () => "accepted",
        (error) => error.reason ?? "question",
      );
      assert.ok(got === reason || got === "question", `${why}: ${got}, not ${reason}`);
    }
  }
});

test("texts are read where a survey's id covers them, and records completed alike", async () => {
  const ids = new Set();
  for (const { why, id, survey, texts, completed } of vectors("texts").sound) {
    assert.equal(hex(await sha256(utf8(canonical(survey)))), id, why);
    ids.add(id);
    const { check } = readSurvey(survey, id);
    const read = await readTexts(texts, survey);
    for (const { record, whole, values } of completed) {
      assert.deepEqual(read.completed(record), whole, why);
      if (values) assert.deepEqual([...check(whole).values()], values, why);
    }
  }
  assert.equal(ids.size, vectors("texts").sound.length, "other texts make another id");
});

test("texts that are not a survey's, and surveys whose digests are none, are refused", async () => {
  const { sound, refused, broken } = vectors("texts");
  for (const { why, texts, digests } of refused) {
    const survey = { ...sound[0].survey, ...(digests !== undefined && { texts: digests }) };
    await assert.rejects(readTexts(texts, survey), { name: "Refused", reason: "texts" }, why);
  }
  for (const { why, survey } of broken) {
    assert.throws(() => readSurvey(survey, "0"), { name: "Refused", reason: "survey" }, why);
  }
});

test("a log of surveys must continue the one that is known, and hold the survey", async () => {
  const { sound, refused, heads } = vectors("log");
  assert.ok(heads.includes(sound[0].known));
  for (const { known, survey, ...answer } of sound) {
    const log = surveyLog(known);
    await log.check(async () => answer, survey);
    assert.equal(log.head(), `${answer.head.size}:${answer.head.root}`);
  }
  for (const { why, known, survey, ...answer } of refused) {
    const log = surveyLog(known);
    await assert.rejects(log.check(async () => answer, survey), { name: "Refused", reason: "log" }, why);
    assert.equal(log.head(), known);
  }
  for (const text of ["", "1", "01:" + "0".repeat(64), `1:${"0".repeat(63)}`, `9999999999:${"0".repeat(64)}`]) {
    assert.throws(() => surveyLog(text), { reason: "options" });
  }
});

/** Labels and periods: sent beside an answer as they are, drawn once, and nothing outside the period. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";

import { canonical, hex, sha256, utf8 } from "../src/canonical.js";
import { Client } from "../src/index.js";
import { labelling } from "../src/labels.js";
import { memoryLedger } from "../src/memory.js";

const vectors = JSON.parse(readFileSync(new URL("../../../tests/vectors/surveys.json", import.meta.url), "utf8"));
const { survey: plain, questions } = vectors.find((vector) => vector.survey.mechanism === "InpPS");
const record = Object.fromEntries(plain.schema.attributes.map(({ name }) => [name, true]));

const PERIODS = ["2026-11-01", "2026-12-01", "2027-01-01", "2027-02-01"];
const NAMED = [{ name: "region", values: ["north", "süd \\u"] }, { name: "__proto__", values: ["1"] }];
const GIVEN = { region: "süd \\u", ["__proto__"]: "1" };

const RealDate = Date;
const setDay = (text) => {
  globalThis.Date = class extends RealDate {
    constructor(...given) {
      super(...(given.length ? given : [text]));
    }
  };
};
afterEach(() => (globalThis.Date = RealDate));

/** A collector of a survey with more fields, and what it is sent. */
const collecting = async (more) => {
  const survey = { ...plain, ...more };
  const id = hex(await sha256(utf8(canonical(survey))));
  const question = { ...questions[0].question, survey: id };
  const sent = [];
  globalThis.fetch = async (url, { body }) => {
    const name = /\/v1\/(\w+)/.exec(url)[1];
    sent.push([name, body && JSON.parse(body)]);
    return Response.json({ survey: { survey, slots: "assigned" }, questions: { ticket: "t", question }, reports: { accepted: 1 } }[name]);
  };
  const client = (ledger = memoryLedger(), options = {}) =>
    new Client({ survey: id, collector: "http://test", token: "t", ledger, labelling, ...options });
  return { id, sent, client };
};
const shared = JSON.parse(readFileSync(new URL("../../../tests/vectors/labels.json", import.meta.url), "utf8"));
const form = (id) => shared.surveys.find((vector) => vector.id === id).survey;

test("golden surveys with labels keep their canonical JSON and their id", async () => {
  for (const { id, survey, canonical: text } of shared.surveys) {
    assert.equal(canonical(survey), text);
    assert.equal(hex(await sha256(utf8(text))), id);
  }
});

test("labels are taken and refused alike", async () => {
  for (const { survey, labels, sent } of shared.given) {
    const { tell } = labelling({ form: { ...form(survey), periods: undefined } });
    if (sent) assert.deepEqual(await tell(labels), { labels: sent });
    else await assert.rejects(tell(labels), { reason: "record" });
  }
});

test("golden periods follow from their words", async () => {
  for (const { survey, words, begins, ends } of shared.periods) {
    const left = words.map(BigInt);
    const { period } = labelling({ form: form(survey) }, async (made) => made, () => left.shift());
    assert.deepEqual(await period(), [begins, ends]);
    assert.equal(left.length, 0);
  }
});

test("a device answers on the same days in every client", async () => {
  for (const { begins, ends, today, refused } of shared.days) {
    for (const time of ["00:00:00.000Z", "23:59:59.999Z"]) {
      setDay(`${today}T${time}`);
      const { tell } = labelling({ form: { periods: [begins, ends] } }, async (made) => made);
      if (refused) await assert.rejects(tell(), { reason: refused });
      else assert.deepEqual(await tell(), { labels: { period: begins } });
    }
  }
});

const names = (sent) => sent.map(([name]) => name);

test("labels are sent with the value, and kept with the answer", async () => {
  const { id, sent, client } = await collecting({ labels: NAMED });
  const ledger = memoryLedger();
  const report = await client(ledger).answer(record, GIVEN);
  await client(ledger).submit();
  assert.deepEqual(Object.entries(report.labels), Object.entries(GIVEN));
  const [, body] = sent.at(-1);
  assert.deepEqual(Object.keys(body), ["labels", "ticket", "value"]);
  assert.deepEqual(Object.entries(body.labels).sort(), Object.entries(GIVEN).sort());
  const again = await client(ledger).answer(record, { region: "north", ["__proto__"]: "1" });
  assert.deepEqual(again, report, "the first stays");
  assert.equal((await ledger.update((entries) => entries[id])).state, "sent");
});

test("a survey without labels is answered as ever, with the part or without", async () => {
  const { sent, client } = await collecting({});
  for (const part of [labelling, undefined]) {
    const made = client(memoryLedger(), { labelling: part });
    assert.equal(await made.period(), undefined);
    assert.deepEqual(Object.keys(await made.answer(record)), ["slot", "value"]);
    await made.submit();
    assert.deepEqual(Object.keys(sent.at(-1)[1]), ["ticket", "value"]);
  }
  await assert.rejects(client().answer(record, { region: "north" }), { reason: "record" });
});

test("labels that are missing, wrong or too many are refused before a question is fetched", async () => {
  const { sent, client } = await collecting({ labels: NAMED });
  const bad = [undefined, {}, { region: "north" }, { ...GIVEN, region: "west" }, { ...GIVEN, region: ["north"] }, { ...GIVEN, period: "2026-11-01" }];
  for (const labels of bad) {
    for (const step of ["check", "question", "answer"]) {
      await assert.rejects(client()[step](record, labels), (error) => error.reason === "record" && !error.message.includes("west"));
    }
  }
  assert.deepEqual(new Set(names(sent)), new Set(["survey"]));
});

test("without the part, a survey that declares something is refused", async () => {
  for (const more of [{ labels: NAMED }, { periods: PERIODS }]) {
    const { client } = await collecting(more);
    await assert.rejects(client(memoryLedger(), { labelling: undefined }).survey(), { reason: "labels" });
  }
});

test("a period is drawn once, and kept for ever", async () => {
  const { client } = await collecting({ periods: PERIODS });
  for (let turn = 0; turn < 50; turn++) {
    const ledger = memoryLedger();
    const [first, end] = await client(ledger).period();
    assert.equal(PERIODS.indexOf(end), PERIODS.indexOf(first) + 1);
    for (let again = 0; again < 3; again++) assert.deepEqual(await client(ledger).period(), [first, end]);
  }
});

/** Tell whether 3,000 devices draw all periods alike: six standard deviations are passed once in 10^8 runs. */
const isFair = async (word) => {
  const seen = new Map(PERIODS.slice(0, 3).map((first) => [first, 0]));
  for (let turn = 0; turn < 3000; turn++) {
    const [first] = await labelling({ form: { periods: PERIODS } }, async (made) => made, word).period();
    seen.set(first, seen.get(first) + 1);
  }
  return [...seen.values()].every((count) => Math.abs(count - 1000) < 6 * Math.sqrt((3000 * 2) / 9));
};

test("every period is drawn as often, those that are over included", async () => {
  assert.ok(await isFair());
  assert.ok(!(await isFair(() => (Math.random() < 0.4 ? 0n : Math.random() < 0.5 ? 1n : 2n))), "an unfair lot is found out");
});

test("tabs that ask at once draw one period", async () => {
  const { client } = await collecting({ periods: PERIODS });
  const ledger = memoryLedger();
  const drawn = await Promise.all(Array.from({ length: 20 }, () => client(ledger).period()));
  assert.equal(new Set(drawn.map(([first]) => first)).size, 1);
});

test("nothing is asked or drawn before the period, or after it", async () => {
  const { id, sent, client } = await collecting({ periods: PERIODS });
  const ledger = memoryLedger();
  await ledger.update((entries) => (entries[id] = { period: PERIODS.slice(1, 3) }));
  for (const [day, reason] of [["2026-11-30T23:59:59.999Z", "early"], ["2027-01-01T00:00:00Z", "over"]]) {
    setDay(day);
    for (const step of ["question", "answer"]) {
      await assert.rejects(client(ledger)[step](record), (error) => error.reason === reason && error.message.includes("2026-12-01"));
    }
  }
  assert.ok(!names(sent).includes("questions"));
  for (const day of ["2026-12-01T00:00:00Z", "2026-12-31T23:59:59.999Z"]) {
    setDay(day);
    await client(ledger).question(record);
  }
  const report = await client(ledger).answer(record);
  assert.deepEqual(report.labels, { period: "2026-12-01" });
  setDay("2027-03-01T00:00:00Z");
  assert.deepEqual(await client(ledger).submit(), report, "an answer of its period may be sent later");
  assert.deepEqual(await client(ledger).period(), PERIODS.slice(1, 3));
});

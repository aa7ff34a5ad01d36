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

/** A collector of a survey with more fields, and what it is sent; `meanwhile` happens with each request. */
const collecting = async (more, meanwhile) => {
  const survey = more.deniable ? more : { ...plain, ...more };
  const id = hex(await sha256(utf8(canonical(survey))));
  const question = { ...questions[0].question, survey: id };
  const sent = [];
  globalThis.fetch = async (url, { body }) => {
    const name = /\/v1\/(\w+)/.exec(url)[1];
    sent.push([name, body && JSON.parse(body)]);
    meanwhile?.(name);
    return Response.json({ survey: { survey, slots: "assigned" }, questions: { ticket: "t", question }, reports: { accepted: 1 } }[name]);
  };
  const client = (ledger = memoryLedger(), options = {}) =>
    new Client({ survey: id, collector: "http://test", token: "t", ledger, ...options });
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
    if (sent) assert.deepEqual(tell(labels), { labels: sent });
    else assert.throws(() => tell(labels), { reason: "record" });
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
      const { tell } = labelling({ form: { ...plain, periods: [begins, ends] } });
      if (refused) assert.throws(() => tell({}, [begins, ends]), { reason: refused });
      else assert.deepEqual(tell({}, [begins, ends]), { labels: { period: begins } });
    }
  }
});

const names = (sent) => sent.map(([name]) => name);

test("labels are sent with the value, and kept with the answer", async () => {
  const { sent, client } = await collecting({ labels: NAMED });
  const ledger = memoryLedger();
  const report = await client(ledger).answer(record, GIVEN);
  await client(ledger).submit();
  assert.deepEqual(Object.entries(report.labels), Object.entries(GIVEN));
  const [, body] = sent.at(-1);
  assert.deepEqual(Object.keys(body), ["labels", "ticket", "value"]);
  assert.deepEqual(Object.entries(body.labels).sort(), Object.entries(GIVEN).sort());
  const again = await client(ledger).answer(record, { region: "north", ["__proto__"]: "1" });
  assert.deepEqual(again, report, "the first stays");
  assert.equal((await client(ledger).entry()).state, "sent");
});

test("a survey without labels is answered as ever", async () => {
  const { sent, client } = await collecting({});
  const made = client();
  assert.equal(await made.period(), undefined);
  assert.deepEqual(Object.keys(await made.answer(record)), ["slot", "value"]);
  await made.submit();
  assert.deepEqual(Object.keys(sent.at(-1)[1]), ["ticket", "value"]);
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
    const [first] = await labelling({ form: { ...plain, periods: PERIODS } }, async (made) => made, word).period();
    seen.set(first, seen.get(first) + 1);
  }
  return [...seen.values()].every((count) => Math.abs(count - 1000) < 6 * Math.sqrt((3000 * 2) / 9));
};

test("every period is drawn as often, those that are over included", async () => {
  assert.ok(await isFair());
  assert.ok(!(await isFair(() => (Math.random() < 0.5 ? 0n : Math.random() < 0.5 ? 1n : 2n))), "an unfair lot is found out");
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

test("a period that ends while the question is fetched is over, and nothing is drawn", async () => {
  const { id, client } = await collecting({ periods: PERIODS.slice(0, 2) }, (name) => name === "questions" && setDay("2026-12-01T00:00:00Z"));
  const ledger = memoryLedger();
  setDay("2026-11-30T23:59:59.999Z");
  await assert.rejects(client(ledger).answer(record), { reason: "over" });
  assert.deepEqual(await ledger.update((entries) => Object.keys(entries[id])), ["period"]);
});

test("a report has the labels of the call that drew it, whatever else is asked at once", async () => {
  const { client } = await collecting({ labels: NAMED });
  const other = { ...GIVEN, region: "north" };
  const regions = new Set();
  for (const isKnown of [true, false]) {
    for (const [first, second] of [[GIVEN, other], [other, GIVEN]]) {
      const device = client();
      if (isKnown) await device.question(record, second);
      const both = await Promise.all([device.answer(record, first), device.answer(record, second), device.question(record, second)]);
      assert.deepEqual(both[0], both[1], "there is one report");
      assert.deepEqual(both[0].labels, first);
      regions.add(first.region);
    }
  }
  assert.equal(regions.size, 2);
});

test("a device that asks several times at once is asked one question, and answers that", async () => {
  const { survey, questions: several } = vectors.find((vector) => vector.survey.mechanism === "InpHT");
  const { id, client } = await collecting(survey);
  const collector = globalThis.fetch;
  let turns = 0;
  globalThis.fetch = async (url, options) => {
    if (!url.endsWith("/questions")) return collector(url, options);
    const { question } = several[turns];
    await new Promise((done) => setTimeout(done, 20 * turns++));
    return Response.json({ ticket: question.slot, question: { ...question, survey: id } });
  };
  const own = Object.fromEntries(survey.schema.attributes.map(({ name, values }) => [name, values[0]]));
  const device = client();
  const [first, second] = await Promise.all([device.question(own), device.question(own)]);
  assert.equal(turns, 2);
  assert.notEqual(several[0].question.slot, several[1].question.slot);
  assert.deepEqual(second, first);
  assert.equal((await device.answer(own)).slot, first.slot);
  assert.deepEqual((await device.entry()).names, { ticket: first.slot });
});

test("labels and periods that Python refuses are refused", async () => {
  const [{ name }] = plain.schema.attributes;
  const called = (...names) => ({ labels: names.map((one) => ({ name: one, values: ["1"] })) });
  const holding = (...values) => ({ labels: [{ name: "region", values }] });
  const bad = [
    called(name), called(name.toUpperCase()), called("period"), called("Period"), called("a", "A"), called("Maß", "MASS"), called("maẞ", "mass"), called(5),
    holding(1), { labels: [{ name: "region" }] }, { labels: "ab" }, { labels: {} },
    { periods: [] }, { periods: ["2026-11-01"] }, { periods: ["2026-12-01", "2026-11-01"] }, { periods: ["2026-11-01", "2026-11-01"] },
    { periods: ["2026-11-01", "2026-11-31"] }, { periods: ["2026-11-01", "2026-11-9"] }, { periods: ["2026-11-01", 2027] }, { periods: "ab" },
  ];
  for (const more of bad) {
    const { sent, client } = await collecting(more);
    for (const step of ["survey", "period", "answer"]) {
      await assert.rejects(client()[step](record, { [name]: "1" }), { reason: "survey" }, JSON.stringify(more));
    }
    assert.deepEqual(new Set(names(sent)), new Set(["survey"]));
  }
  const lists = [...plain.lists, plain.lists[0]];
  const shadowed = { lists, schema: { ...plain.schema, attributes: [...plain.schema.attributes, { ...plain.schema.attributes[0], name: "Period" }] } };
  await assert.rejects((await collecting({ ...shadowed, periods: PERIODS })).client().survey(), { reason: "survey" });
  for (const more of [shadowed, called("constructor", "toString"), { labels: NAMED, periods: PERIODS }]) await (await collecting(more)).client().survey();
});

test("a kept period that is none of the survey's is refused, and none is drawn again", async () => {
  const { id, sent, client } = await collecting({ periods: PERIODS });
  for (const period of [["1999-01-01", "2999-01-01"], PERIODS.slice(-1), "2026", null]) {
    const ledger = memoryLedger();
    await ledger.update((entries) => (entries[id] = { period }));
    for (const step of ["period", "answer"]) await assert.rejects(client(ledger)[step](record), { reason: "survey" });
    assert.deepEqual(await ledger.update((entries) => entries[id]), { period });
  }
  assert.ok(!names(sent).includes("questions"));
  const ledger = memoryLedger();
  await ledger.update((entries) => (entries[id] = { period: [PERIODS[1], "2999-01-01"] }));
  assert.deepEqual(await client(ledger).period(), PERIODS.slice(1, 3), "the survey says when it ends");
});

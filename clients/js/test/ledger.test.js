/** One answer for ever: clients that answer at once, ledgers that are broken, and no WebCrypto. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Client } from "../src/index.js";
import { fileLedger } from "../src/file.js";
import { memoryLedger } from "../src/memory.js";

const vectors = JSON.parse(readFileSync(new URL("../../../tests/vectors/surveys.json", import.meta.url), "utf8"));
const { id, survey, questions } = vectors.find((vector) => vector.survey.mechanism === "InpPS"); // of 32 values
const record = Object.fromEntries(survey.schema.attributes.map(({ name }) => [name, true]));
const folder = () => join(mkdtempSync(join(tmpdir(), "deniable-")), "ledger.json");

globalThis.fetch = async (url) => {
  const name = /\/v1\/(\w+)/.exec(url)[1];
  const answers = { survey: { survey, slots: "assigned" }, questions: { ticket: "t", question: questions[0].question }, reports: {} };
  return Response.json(answers[name]);
};

const made = (ledger, more) => new Client({ survey: id, collector: "http://test", token: "t", ledger, ...more });

/** A ledger that does not hold on to what it read: what the race below is there to catch. */
const unsafeLedger = () => {
  let kept = {};
  return {
    async update(change) {
      const entries = structuredClone(kept);
      await new Promise((done) => setTimeout(done, 5));
      const result = change(entries);
      kept = entries;
      return result;
    },
  };
};

const race = async (ledger) => {
  const clients = Array.from({ length: 8 }, () => made(ledger));
  await Promise.all(clients.map((client) => client.question(record)));
  const reports = await Promise.all(clients.map((client) => client.answer(record)));
  return new Set(reports.map(({ value }) => value)).size;
};

test("clients that answer at once give one answer", async () => {
  assert.equal(await race(memoryLedger()), 1);
  const path = folder();
  assert.equal(await race(fileLedger(path)), 1);
  assert.deepEqual(readdirSync(join(path, "..")), ["ledger.json"]);
  assert.equal(statSync(path).mode & 0o77, 0);
  assert.ok((await race(unsafeLedger())) > 1, "a ledger without turns would be found out");
});

test("what was answered before the program ended is answered again", async () => {
  const path = folder();
  const first = await made(fileLedger(path)).answer(record);
  const changed = Object.fromEntries(Object.keys(record).map((name) => [name, false]));
  for (let turn = 0; turn < 5; turn++) assert.deepEqual(await made(fileLedger(path)).answer(changed), first);
});

test("nothing is kept of an answer that was refused", async () => {
  const path = folder();
  await assert.rejects(made(fileLedger(path), { lifetimeLimit: 1 }).answer(record), { reason: "lifetime" });
  assert.throws(() => readFileSync(path), { code: "ENOENT" });
});

test("a ledger that cannot be read or kept is refused", async () => {
  for (const text of ["", "[]", "{}", '{"deniable": "ledger", "surveys": {}}', '{"deniable": "ledger of deniable.js"}']) {
    const path = folder();
    writeFileSync(path, text);
    await assert.rejects(made(fileLedger(path)).answer(record), { reason: "ledger" });
    assert.equal(readFileSync(path, "utf8"), text);
  }
  await assert.rejects(made(fileLedger(join(folder(), "no", "where"))).answer(record), { reason: "ledger" });
});

test("without WebCrypto nothing is answered", async () => {
  const { crypto: sound } = globalThis;
  Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true });
  try {
    await assert.rejects(made(memoryLedger()).answer(record), { reason: "insecure" });
  } finally {
    Object.defineProperty(globalThis, "crypto", { value: sound, configurable: true });
  }
});

test("a client needs a ledger", () => {
  assert.throws(() => made(undefined), { reason: "options" });
});

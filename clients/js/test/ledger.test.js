/** One answer for ever: clients that answer at once, ledgers that are broken, and no WebCrypto. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs, { mkdtempSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";

import { browserLedger, Client } from "../src/index.js";
import { fileLedger } from "../src/file.js";
import { memoryLedger } from "../src/memory.js";

const vectors = JSON.parse(readFileSync(new URL("../../../tests/vectors/surveys.json", import.meta.url), "utf8"));
const { id, survey, questions } = vectors.find((vector) => vector.survey.mechanism === "InpPS"); // of 32 values
const record = Object.fromEntries(survey.schema.attributes.map(({ name }) => [name, true]));
const folder = () => join(mkdtempSync(join(tmpdir(), "deniable-")), "ledger.json");

globalThis.fetch = async (url) => {
  const name = /\/v1\/(\w+)/.exec(url)[1];
  const answers = { survey: { survey, slots: "assigned" }, questions: { ticket: "t", question: questions[0].question }, reports: { accepted: 1 } };
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

test("an answer of an earlier version is its token's, whoever comes first, and however many at once", async () => {
  const report = { slot: questions[0].question.slot, value: "1" };
  const ids = ["A", "B"].map((letter) => letter.repeat(32));
  for (const kept of [{ token: ids[0], names: { ticket: "t" } }, { names: { survey: id, id: ids[0] } }]) {
    const ledger = memoryLedger();
    const period = ["2026-11-01", "2026-12-01"];
    await ledger.update((entries) => (entries[id] = { report, epsilon: 1, state: "sent", period, ...kept }));
    const clients = [...ids, ...ids, undefined, undefined].map((token) => made(ledger, { token, another: true, lifetimeLimit: 99 }));
    const reports = await Promise.all(clients.map((client) => client.answer(record)));
    assert.deepEqual([reports[0], reports[2]], [report, report]);
    assert.deepEqual([reports[1], reports[4]], [reports[3], reports[5]]);
    await ledger.update((entries) => {
      const answers = Object.values(entries).filter(({ state }) => state);
      assert.equal(answers.length, 3);
      assert.deepEqual(entries[id].period, period, "the device's stays where it was");
      assert.doesNotMatch(JSON.stringify(entries), /A{32}|B{32}/);
    });
  }
});

test("nothing is kept of an answer that was refused", async () => {
  const path = folder();
  await assert.rejects(made(fileLedger(path), { lifetimeLimit: 1 }).answer(record), { reason: "lifetime" });
  assert.throws(() => readFileSync(path), { code: "ENOENT" });
});

test("other names of a file are the same ledger", async () => {
  const path = folder();
  const linked = join(mkdtempSync(join(tmpdir(), "deniable-")), "linked");
  symlinkSync(join(path, ".."), linked);
  const before = process.cwd();
  const named = fileLedger(relative(before, path));
  const far = fileLedger(join(linked, "ledger.json"));
  process.chdir(tmpdir());
  try {
    assert.equal(await race({ update: (change) => (Math.random() < 0.5 ? named : far).update(change) }), 1);
  } finally {
    process.chdir(before);
  }
  assert.deepEqual(readdirSync(join(path, "..")), ["ledger.json"]);
});

test("a ledger is written in full, and its folder is on disk too", async () => {
  const { writeSync, fsyncSync } = fs;
  const settled = [];
  fs.writeSync = (file, bytes, start = 0, length = bytes.length) =>
    typeof bytes === "string"
      ? writeSync(file, bytes.slice(0, 10))
      : writeSync(file, bytes, start, Math.min(length, 10));
  fs.fsyncSync = (file) => {
    settled.push(fs.fstatSync(file).isDirectory());
    fsyncSync(file);
  };
  syncBuiltinESMExports();
  const path = folder();
  try {
    const report = await made(fileLedger(path)).answer(record);
    assert.deepEqual(await made(fileLedger(path)).answer(record), report);
  } finally {
    Object.assign(fs, { writeSync, fsyncSync });
    syncBuiltinESMExports();
  }
  assert.deepEqual(settled, process.platform === "win32" ? [false] : [false, true]);
});

test("a ledger that cannot be read or kept is refused", async () => {
  const broken = ["", "[]", "{}", '{"deniable": "ledger", "surveys": {}}', '{"deniable": "ledger of deniable.js"}'];
  for (const text of [...broken, '{"deniable": "ledger of deniable.js", "surveys": []}']) {
    const path = folder();
    writeFileSync(path, text);
    await assert.rejects(made(fileLedger(path)).answer(record), { reason: "ledger" });
    assert.equal(readFileSync(path, "utf8"), text);
  }
  await assert.rejects(made(fileLedger(join(folder(), "no", "where"))).answer(record), { reason: "ledger" });
});

const WORKER = `
import { fileLedger } from ${JSON.stringify(new URL("../src/file.js", import.meta.url).href)};
const [, , path, turns, last] = process.argv;
const ledger = fileLedger(path);
for (let turn = 0; turn < turns; turn++) {
  await ledger.update((entries) => {
    entries.sum = (entries.sum ?? 0) + 1;
    if (turn === +last) process.kill(process.pid, "SIGKILL");
  });
}
`;

/** What a process does that would see another one within a lock. */
const HOLDER = `
import fs, { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { closeSync, openSync, rmSync, writeFileSync, writeSync } = fs;
const linger = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * 4);
const clock = Date.now;
Date.now = () => clock() + 10000; // ahead of the file system's
fs.writeFileSync = (path, text, { flag, mode }) => {
  const file = openSync(path, flag, mode);
  linger(); // so that others see what is empty
  writeSync(file, text);
  closeSync(file);
};
fs.rmSync = (...file) => {
  linger(); // so that what was looked at is another one by now
  rmSync(...file);
};
syncBuiltinESMExports();
const { releaseLock, takeLock } = await import(${JSON.stringify(new URL("../src/lock.js", import.meta.url).href)});
const [, , path, witness, turns] = process.argv;
const holder = () => { try { return readFileSync(witness, "utf8"); } catch { return ""; } };
const isAlive = (pid) => { try { process.kill(+pid, 0); return !/\\) [ZX]/.test(readFileSync("/proc/" + pid + "/stat", "utf8")); } catch { return false; } };
for (let turn = 0; turn < turns; ) {
  if (takeLock(path + ".lock")) {
    if (holder() && isAlive(holder())) throw new Error("two processes hold the lock");
    writeFileSync(witness, String(process.pid));
    await new Promise((wake) => setTimeout(wake, Math.random() * 3));
    if (holder() !== String(process.pid)) throw new Error("another process holds the lock, too");
    writeFileSync(witness, "");
    releaseLock(path + ".lock");
    turn++;
  }
  await new Promise((wake) => setTimeout(wake, Math.random() * 4));
}
`;

/** Run a process that counts in a ledger, and is killed while it holds it in one turn. */
const counting = (path, turns, last = -1) => {
  const script = join(path, "..", "worker.mjs");
  writeFileSync(script, WORKER);
  return new Promise((done) => execFile(process.execPath, [script, path, turns, last], (error) => done(error?.signal ?? error?.message)));
};

const sumOf = (path) => fileLedger(path).update(({ sum }) => sum);

test("processes that are killed while they hold a ledger keep nobody from it", async () => {
  const path = folder();
  assert.equal(await counting(path, 1, 0), "SIGKILL");
  assert.equal(readdirSync(join(path, "..")).includes("ledger.json.lock"), true);
  const ends = await Promise.all([
    ...Array.from({ length: 4 }, () => counting(path, 20)),
    ...Array.from({ length: 4 }, (_, number) => counting(path, 20, 4 + number)),
  ]);
  assert.deepEqual(ends, [...Array(4).fill(undefined), ...Array(4).fill("SIGKILL")]);
  assert.equal(await sumOf(path), 4 * 20 + 4 + 5 + 6 + 7, "every turn counts once, and none of those that were killed");
  assert.deepEqual(readdirSync(join(path, "..")).sort(), ["ledger.json", "worker.mjs"]);
});

test("processes whose clocks run ahead, and any of which may be killed, take turns all the same", async () => {
  const path = folder();
  const script = join(path, "..", "worker.mjs");
  const witness = join(path, "..", "held");
  writeFileSync(script, HOLDER);
  const run = (_, number) =>
    new Promise((done) => {
      const child = execFile(process.execPath, [script, path, witness, 20], (error) => done(error?.signal ?? error?.message));
      if (number >= 8) setTimeout(() => child.kill("SIGKILL"), 100 + 60 * number);
    });
  const ends = Array.from({ length: 16 }, run);
  for (const end of await Promise.all(ends)) assert.ok(end === undefined || end === "SIGKILL", end);
  await fileLedger(path).update(() => undefined);
  assert.deepEqual(readdirSync(join(path, "..")).filter((name) => name.includes("lock")), []);
});

/** Do work whose turns do not wait. */
const atOnce = async (work) => {
  const later = globalThis.setTimeout;
  globalThis.setTimeout = (done) => later(done, 0);
  try {
    return await work();
  } finally {
    globalThis.setTimeout = later;
  }
};

/** What becomes of a lock that holds a text: true if it is taken away, the error if it is not. */
const outcome = (path, text) => {
  writeFileSync(`${path}.lock`, text);
  return atOnce(() => fileLedger(path).update(() => true).catch((error) => error));
};

/** The lines of the lock of a process that was killed while it held a ledger. */
const deadLock = async (path) => {
  assert.equal(await counting(path, 1, 0), "SIGKILL");
  return readFileSync(`${path}.lock`, "utf8").split("\n");
};

test("a lock is taken away only if its holder is surely dead", async () => {
  const path = folder();
  const [name, pid, birth, machine] = await deadLock(path);
  const [host, boot, part] = machine.split(" ");
  const isTaken = async (...lines) => {
    const result = await outcome(path, lines.join("\n"));
    if (result !== true) {
      assert.equal(result.reason, "ledger");
      assert.ok(result.message.includes(`${path}.lock`), "the file that an owner may remove is named");
    }
    return result === true;
  };
  assert.equal(await isTaken(name, pid, birth, machine), true);
  assert.equal(await isTaken(name, process.pid, "1", machine), process.platform === "linux", "a number is given again");
  assert.equal(await isTaken(name, pid, birth, `another ${machine}`), false);
  assert.equal(await isTaken(name, pid, birth, `another 00000000-0000-0000-0000-000000000000 ${part}`), false);
  assert.equal(await isTaken(name, pid, birth, `${host} ${boot} pid:[1]`), false, "another container of this machine");
  assert.equal(await isTaken(name, pid, birth, `another ${boot} pid:[1]`), false, "a container that was made anew");
});

test("a lock that a failure of power left is taken away", async () => {
  const path = folder();
  const [name, pid, birth, machine] = await deadLock(path);
  const [host, boot, part] = machine.split(" ");
  const whole = [name, pid, birth, machine].join("\n");
  if (boot !== "-") {
    const earlier = `${host} 00000000-0000-0000-0000-000000000000 ${part}`;
    assert.equal(await outcome(path, [name, process.pid, birth, earlier].join("\n")), true, "a machine that was started anew");
  }
  for (const torn of ["", "\0".repeat(whole.length), `../${whole}`, ...[...whole].map((_, end) => whole.slice(0, end))]) {
    assert.equal(await outcome(path, torn), true, JSON.stringify(torn));
  }
  assert.deepEqual(readdirSync(join(path, "..")), ["worker.mjs"]);
});

test("what killed processes left beside a lock is swept away, and nothing else", async () => {
  const path = folder();
  const text = (await deadLock(path)).join("\n");
  const [name, other] = ["00000000-0000-0000-0000-000000000000", "11111111-1111-1111-1111-111111111111"];
  const left = [`.draft-${name}`, `.${name}`, `.${name}.${other}`, `.${name}.draft-${other}`, ".unreadable"];
  for (const [number, ending] of left.entries()) writeFileSync(`${path}.lock${ending}`, number ? text : "");
  writeFileSync(`${path}.lock.bak`, text);
  assert.equal(await outcome(path, text), true);
  assert.deepEqual(readdirSync(join(path, "..")).sort(), ["ledger.json.lock.bak", "worker.mjs"]);
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

test("a worker, which cannot know what is around it, has no ledger of the browser", async () => {
  await assert.rejects(browserLedger().update(() => "kept"), { reason: "framed" }); // here, too, is no page
});

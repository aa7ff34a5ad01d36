// Drives the built JavaScript client: each line of stdin tells some steps, each of stdout what came of them.
import { createInterface } from "node:readline";

import { Client } from "../../clients/js/dist/deniable.min.js";
import { fileLedger } from "../../clients/js/src/file.js";
import { surveyLog } from "../../clients/js/src/log.js";
import { memoryLedger } from "../../clients/js/src/memory.js";

// The client waits for a promise, whose function is native; Node's own timers are left alone.
let waits;
const { setTimeout: later } = globalThis;
globalThis.setTimeout = (done, milliseconds, ...rest) => {
  const isClient = milliseconds >= 500 && `${done}`.includes("[native code]");
  if (isClient) waits.push(milliseconds / 1000);
  return later(done, isClient ? 0 : milliseconds, ...rest);
};

for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  waits = [];
  const ledger = told.ledger ? fileLedger(told.ledger) : memoryLedger();
  const made = { results: [], waits };
  let step = "made";
  try {
    const { log_head: head, ...options } = told.options;
    const client = new Client({ ...options, ledger, log: head && surveyLog(head) });
    for (step of told.steps) {
      let result = await client[step](told.record, told.labels ?? undefined);
      if (step === "survey") result = result.id;
      if (step === "check") result = null;
      made.results.push(result ?? null);
    }
  } catch (error) {
    made.refused = { step, reason: error.reason ?? `no reason: ${error.stack}`, message: error.message };
  }
  process.stdout.write(`${JSON.stringify(made)}\n`);
}

// Drives the built JavaScript client through some steps, told on stdin, and tells what came of them.
import { Client } from "../../clients/js/dist/deniable.min.js";
import { asking } from "../../clients/js/dist/asking.min.js";
import { fileLedger } from "../../clients/js/src/file.js";
import { memoryLedger } from "../../clients/js/src/memory.js";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const told = JSON.parse(Buffer.concat(chunks).toString());

// The client waits for a promise, whose function is native; Node's own timers are left alone.
const waits = [];
const { setTimeout: later } = globalThis;
globalThis.setTimeout = (done, milliseconds, ...rest) => {
  const isClient = milliseconds >= 500 && `${done}`.includes("[native code]");
  if (isClient) waits.push(milliseconds / 1000);
  return later(done, isClient ? 0 : milliseconds, ...rest);
};

const ledger = told.ledger ? fileLedger(told.ledger) : memoryLedger();
const made = { results: [], waits };
let step = "made";
try {
  const client = new Client({ ...told.options, ledger, asking: told.strict ? asking : undefined });
  for (step of told.steps) {
    const [name, record] = [step, told.record];
    let result = await client[name](record);
    if (name === "survey") result = result.id;
    if (name === "check") result = null;
    made.results.push(result ?? null);
  }
} catch (error) {
  made.refused = { step, reason: error.reason ?? `no reason: ${error.stack}`, message: error.message };
}
process.stdout.write(JSON.stringify(made));

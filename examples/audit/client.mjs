/**
 * Our JavaScript client, as `deniable audit --command` runs one: a record a line, a report a line.
 *
 *     deniable audit survey.json --command "node client.mjs {survey}"
 *
 * It is told that the collector lets devices draw their slots; nothing is sent.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { Client } from "../../clients/js/dist/deniable.min.js";
import { memoryLedger } from "../../clients/js/src/memory.js";

const text = readFileSync(process.argv[2], "utf8").trim();
const form = JSON.parse(text);
const survey = createHash("sha256").update(text).digest("hex");
globalThis.fetch = async () => Response.json({ survey: form, slots: "drawn" });

for await (const line of createInterface({ input: process.stdin })) {
  // Each line is another person, so each has a ledger of its own, and one that is forgotten.
  const options = { survey, form, collector: "https://nowhere.example", ledger: memoryLedger(), limit: 20, lifetimeLimit: 20 };
  const client = new Client(options);
  const { slot, value, packed } = await client.answer(JSON.parse(line));
  process.stdout.write(`${JSON.stringify(packed ? { slot, packed } : { slot, value })}\n`);
}

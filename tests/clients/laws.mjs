// Answers questions many times with the sources in a folder, and counts what would be sent.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

for await (const line of createInterface({ input: process.stdin })) {
  const { folder, survey, id, question, ticket, record, count, whole } = JSON.parse(line);
  const from = (name) => import(`${pathToFileURL(folder)}/${name}`);
  const { Client } = await from("client.js");
  const { memoryLedger } = await from("memory.js");
  const { reply } = await from("question.js");
  const answers = { survey: { survey, slots: "assigned" }, questions: { question, ticket }, reports: { accepted: 1 } };
  const values = new Map();
  globalThis.fetch = async (url, { body }) => {
    const name = /\/v1\/(\w+)/.exec(url)[1];
    if (name === "reports") {
      const { value } = JSON.parse(body);
      values.set(value, (values.get(value) ?? 0) + 1);
    }
    return Response.json(answers[name]);
  };
  for (let turn = 0; turn < count; turn++) {
    if (whole) {
      const client = new Client({ survey: id, collector: "http://test", token: "t", ledger: memoryLedger(), limit: 20, lifetimeLimit: 20 });
      await client.answer(record);
      await client.submit();
    } else {
      const { value } = reply(question, new Map(Object.entries(record)));
      values.set(value, (values.get(value) ?? 0) + 1);
    }
  }
  process.stdout.write(`${JSON.stringify(Object.fromEntries(values))}\n`);
}

// Checked by TypeScript, never run: the types tell what the client does.
import { Client, Refused, browserLedger } from "deniable";
import type { Entry, Ledger, Question, Report } from "deniable";
import { explain } from "deniable/explain";
import type { Explanation } from "deniable/explain";
import { fileLedger } from "deniable/file";
import { surveyLog } from "deniable/log";
import { memoryLedger } from "deniable/memory";

const ledgers: Ledger[] = [browserLedger(), browserLedger("other"), fileLedger("me.json"), memoryLedger()];
const log = surveyLog(`1:${"0".repeat(64)}`);
const client = new Client({ survey: "0".repeat(64), collector: "https://example.org", ledger: ledgers[0]!, log, again: true });
const head: string = log.head();
const title: string | undefined = (await client.texts())?.form.languages["en"]?.survey.title;
const record = { Comedy: true, rooms: 3, income: 41_000.5, born: "1984-05-01", country: "c1", absent: null };

const question: Question = await client.question(record);
const period: [string, string] | undefined = await client.period();
const report: Report = await client.answer(record, { region: "north" });
const said: Explanation = explain(question, report);
const kept: Entry | undefined = await client.entry();
const sent: Report = await client.submit();
const slot: string = report.value ?? report.packed;
if ("cell" in question.asks) question.asks.cell[0]?.values;
else for (const term of question.asks.parities.flat()) "values" in term ? term.values : [term.above, term.to, term.or, term.unit];
try {
  await client.check(record);
} catch (error) {
  if (error instanceof Refused) error.reason.startsWith("ticket");
}
export { head, kept, period, said, sent, slot, title };

// @ts-expect-error: there is no default ledger
new Client({ survey: "0".repeat(64), collector: "https://example.org" });
// @ts-expect-error: a list is no value
await client.answer({ Comedy: [true] });
// @ts-expect-error: a label is a text
await client.answer(record, { version: 2 });
// @ts-expect-error: a limit is a number
new Client({ survey: "", collector: "", ledger: ledgers[0]!, limit: "2" });

// Says what the JavaScript client, from the sources in a folder, makes of surveys and of what is probed: a list a line.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const from = (name) => import(`${pathToFileURL(process.argv[2])}/${name}`);
const { canonical } = await from("canonical.js");
const { labelling } = await from("labels.js");
const { reply, symbolOf } = await from("question.js");
const { shortest } = await from("forms.js");
const { readSurvey } = await from("survey.js");

/** Words that were agreed on, and no more. */
const recorded = (words) => {
  const left = words.map(BigInt);
  return [left, () => left.shift() ?? process.exit(3)];
};

const PROBES = {
  draw: ({ draw }, words) => {
    const [left, word] = recorded(words);
    return [`${draw(word)}`, left.length];
  },
  slot: ({ question }, slot) => question(slot) ?? null,
  verify: ({ verify }, [question, limit]) => verify(question, limit) ?? true,
  record: ({ check }, record) => [...check(record)],
  labels: (survey, given) => labelling({ ...survey, form: { ...survey.form, periods: undefined } }).tell(given).labels ?? {},
  answer: ({ question, check }, [slot, record, words]) => {
    const [left, word] = recorded(words);
    const asked = question(slot);
    const held = check(record);
    return [`${symbolOf(asked.asks, held)}`, reply(asked, held, word), left.length];
  },
};

const attempt = (work) => {
  try {
    return work();
  } catch {
    return null;
  }
};

const say = ({ text, probes }) =>
  attempt(() => {
    const form = JSON.parse(text);
    const id = createHash("sha256").update(canonical(form)).digest("hex");
    const survey = readSurvey(form, id);
    const { epsilon, touches } = survey;
    return [id, shortest(epsilon), touches, probes.map(([kind, told]) => attempt(() => PROBES[kind](survey, told)))];
  });

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(JSON.parse(line).map(say))}\n`);
}

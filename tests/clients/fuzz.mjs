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
const { readTexts } = await from("texts.js");

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
  texts: async ({ form, check }, [texts, digests, record]) => {
    const { completed } = await readTexts(texts, { ...form, texts: digests ?? undefined });
    return [await attempt(() => [...check(completed(record))])];
  },
  answer: ({ question, check }, [slot, record, words]) => {
    const [left, word] = recorded(words);
    const asked = question(slot);
    const held = check(record);
    return [`${symbolOf(asked.asks, held)}`, reply(asked, held, word), left.length];
  },
};

const attempt = async (work) => {
  try {
    return await work();
  } catch {
    return null;
  }
};

const say = ({ text, probes }) =>
  attempt(async () => {
    const form = JSON.parse(text);
    const id = createHash("sha256").update(canonical(form)).digest("hex");
    const survey = readSurvey(form, id);
    const { epsilon, touches } = survey;
    const said = [];
    for (const [kind, told] of probes) said.push(await attempt(() => PROBES[kind](survey, told)));
    return [id, shortest(epsilon), touches, said];
  });

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await Promise.all(JSON.parse(line).map(say)))}\n`);
}

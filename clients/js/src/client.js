/** A person's device: it checks what it is asked, answers once, and remembers. */

import { canonical, hex, sha256, utf8 } from "./canonical.js";
import { collectorAt } from "./collector.js";
import { explain } from "./english.js";
import { whole } from "./exact.js";
import { fits } from "./forms.js";
import { labelling } from "./labels.js";
import { reply } from "./question.js";
import { guarded, refuse } from "./refused.js";
import { readSurvey } from "./survey.js";

const BASE64 = /^[\w+/]+={0,2}$/;

/** One person's device: a closure, so that nothing of it can be reached from outside. */
export function Client({ survey: id, form: held, collector, token, limit = 2, lifetimeLimit = 6, ledger }) {
  // A limit that is never reached is none.
  if (!(ledger && limit > 0 && limit <= 1000 && lifetimeLimit > 0 && lifetimeLimit <= 1000)) {
    refuse("options", "It needs a ledger, and limits up to 1000.");
  }
  const call = collectorAt(collector.replace(/\/+$/, ""));
  const pose = async (own) => {
    const { ticket, question } = await call("questions", { survey: id, token: own });
    if (typeof ticket !== "string") refuse("ticket", "The collector's ticket is none.");
    return { question, token: own, names: { ticket } };
  };
  const update = (change) => ledger.update((entries) => change(entries[id] ?? {}, entries));
  const keep = (made) => update((entry, entries) => (entries[id] = { ...made, ...entry })); // unless there is one
  let known;
  let fetching;
  let asked;

  /** Read a survey's JSON object, which must have the known id. */
  const read = async (form) => {
    if (hex(await sha256(utf8(canonical(form)))) !== id) refuse("survey", "That is another survey.");
    const sound = readSurvey(form, id);
    return { ...sound, ...labelling(sound, keep) };
  };

  const fetched = async () => {
    const { survey: form, slots } = await call(`survey?survey=${id}`);
    known = { ...(await read(form)), slots };
    return known;
  };

  /** The survey, fetched once, however many ask for it at once; it is the one with the known id. */
  const survey = guarded("survey", async () => {
    fetching ??= fetched();
    try {
      return await fetching;
    } catch (error) {
      fetching = undefined; // another time, perhaps
      throw error;
    }
  });

  /** Learn which question this person is asked, and what a report to it is sent with. */
  const ask = guarded("question", async ({ slots, pick, verify }) => {
    const posed = await (slots === "assigned"
      ? pose(token ?? (await keep({ token: crypto.randomUUID() })).token)
      : pick(slots, token));
    verify(posed.question, limit);
    asked ??= { ...posed, question: posed.question.slot }; // the first stays, if several came at once
  });

  /** The survey that the owner holds: what is checked against it is checked before anybody is asked. */
  const own = guarded("survey", async () => held && read(held));

  /** Refuse a survey that is above the owner's limits, whatever the record is. */
  const admit = ({ epsilon }, entries) => {
    if (epsilon > limit) refuse("epsilon", `Epsilon is above your ${limit}.`);
    const before = Object.entries(entries).filter(([other]) => other !== id);
    const total = before.reduce((sum, [, other]) => sum + whole(other.epsilon ?? 0), whole(epsilon));
    if (total > whole(lifetimeLimit)) refuse("lifetime", `That is above your lifetime limit of ${lifetimeLimit}.`);
  };

  /** Check a record, and what is said of the labels, in full against the survey. */
  const check = async (record, labels) => ((await own()) ?? (await survey())).check(record, labels);

  /** The question that this person is asked. Nothing is drawn from the record. */
  const question = async (record, labels) => {
    // First what does not look at the record: who is refused must not be told apart by it.
    const sound = (await own()) ?? (await survey());
    await update((_, entries) => admit(sound, entries));
    sound.check(record, labels);
    const { tell, period, question: derived } = await survey();
    tell(labels, await period());
    if (!asked) await ask(await survey());
    return derived(asked.question);
  };

  /** What is kept, unless another id gave it: this one's is another question about the same record. */
  const mine = () =>
    update((kept) => {
      const own = kept.report && (kept.names.id ?? kept.token);
      if (token && own && token !== own) refuse("token", "This ledger has answered under another id.");
      return kept;
    });

  return {
    survey,
    check,
    question,
    explain,
    entry: () => update((kept) => kept.report && kept),

    /** The period in which this device answers: its first day, and the day before which it ends. */
    period: async () => (await survey()).period(),

    /** Draw this person's one report and keep it, or return the one that is kept. */
    async answer(record, labels) {
      const { report: kept } = await mine();
      if (kept) return kept;
      await question(record, labels);
      return update((before, entries) => {
        if (before.report) return before.report;
        const { question: slot, ...sending } = asked;
        const { epsilon } = known;
        admit(known, entries);
        // Again, and first: the period may have ended while the question was fetched.
        const beside = known.tell(labels, before.period);
        const report = { slot, ...reply(known.question(slot), known.check(record, labels)), ...beside };
        entries[id] = { ...before, report, epsilon, state: "drawn", ...sending };
        return report;
      });
    },

    /** Send the one report until the collector has it. Only the same is ever sent again. */
    async submit() {
      const kept = await mine();
      const { report } = kept;
      if (!report) refuse("nothing", "There is no answer.");
      const { slot, value, packed, labels } = report;
      if (!(fits("slot", slot) && (packed ? BASE64.test(packed) : fits("slot", value)))) {
        refuse("ledger", "What this ledger holds is no answer.");
      }
      const send = async (names) =>
        (await call("reports", { ...names, ...(packed ? { packed } : { value }), ...(labels && { labels }) }, kept.key))
          .accepted === 1 || refuse("collector", "That is no collector.");
      if (kept.state === "drawn") {
        // Without a ticket or an id there is a day: a collector remembers a key for a week only.
        if (Date.now() / 864e5 - kept.day > 6) refuse("late", "Too late: it could count twice.");
        await send(kept.names)
          .catch(async (error) => {
            if (error.reason !== "ticket-expired") throw error;
            const { names, question: again } = await pose(kept.token);
            if (again?.slot !== slot) refuse("slot", "The ticket is for another question.");
            await update((before) => (before.names = names));
            return send(names);
          })
          .catch((error) => {
            if (error.reason !== "answered") throw error; // else an earlier try was counted
          });
        await update((before) => (before.state = "sent"));
      }
      return report;
    },
  };
}

/** A person's device: it checks what it is asked, answers once, and remembers. */

import { canonical, digest } from "./canonical.js";
import { collectorAt } from "./collector.js";
import { whole } from "./exact.js";
import { fits } from "./forms.js";
import { labelling } from "./labels.js";
import { reply } from "./question.js";
import { guard, OVER, refuse } from "./refused.js";
import { readSurvey } from "./survey.js";
import { readTexts } from "./texts.js";

const BASE64 = /^[\w+/]+={0,2}$/;

/** What a ticket is told that was good once: another one for the same slot may be good. */
const STALE = ["ticket-expired", "ticket-invalid", "key-retired"];

/** What tells an answer from another one that is at its place, after storage was cleared. */
const mark = ({ report, token, key }) => report && canonical([report, token, key]);

/** Do a work once, however many ask for it at once; if it fails, another time, perhaps. */
const once = (work) => {
  let result;
  return async () => {
    try {
      return await (result ??= work());
    } catch (error) {
      result = undefined;
      throw error;
    }
  };
};

/** One person's device: a closure, so that nothing of it can be reached from outside. */
export function Client({
  survey: id,
  form: ownForm,
  texts: ownTexts,
  collector,
  token,
  limit = 2,
  lifetimeLimit = 6,
  again,
  another,
  log,
  ledger,
}) {
  // A limit that is never reached is none.
  if (!(ledger && limit > 0 && limit <= 1000 && lifetimeLimit > 0 && lifetimeLimit <= 1000)) {
    refuse("options", "It needs a ledger, and limits up to 1000.");
  }
  const call = collectorAt(collector.replace(/\/+$/, ""));
  const pose = async (own) => {
    const { ticket, question } = await call("questions", { survey: id, token: own });
    if (typeof ticket !== "string") refuse("ticket", "That is no ticket.");
    return { question, names: { ticket } };
  };
  /** Where the answer under a token is kept, whatever a collector says: several people may share a device, each with an id. */
  const placeOf = async (who) => (who == null ? id : `${id} ${await digest(`deniable.person${id}${who}`)}`);
  const ownPlace = once(() => placeOf(token));
  /** The token that an entry names if a person was given it: earlier versions kept it, and at the survey's id; others made up are UUIDs. */
  const given = ({ state, names, token: own } = {}) => state && (names?.id ?? (own === token || !/^[\da-f-]{36}$/.test(own) ? own : undefined));
  const update = async (change) => {
    const own = await ownPlace();
    const former = await ledger.update((entries) => given(entries[id]));
    let home = await placeOf(former);
    return ledger.update((entries) => {
      const entry = entries[id];
      if (former && given(entry) === former) {
        // If that place is taken there were two answers; this one is nobody's then, but its ε counts.
        while (entries[home]) home += "+";
        entries[home] = entry;
        delete entries[id];
        if (entry.period) entries[id] = { period: entry.period };
        delete entry.token;
        delete entry.names?.id;
      }
      return change(entries[own] ?? {}, entries, own);
    });
  };
  const keep = (fresh) => ledger.update((entries) => (entries[id] = { ...fresh, ...entries[id] })); // unless there is one
  let surveyRead;
  let assignment;
  let drawn;

  /** Read a survey's JSON object, which must have the known id. */
  const read = async (form) => {
    if ((await digest(canonical(form))) !== id) refuse("survey", "That is another survey.");
    const sound = readSurvey(form, id);
    return { ...sound, ...labelling(sound, keep) };
  };

  /** The survey, fetched once, however many ask for it at once; it is the one with the known id. */
  const survey = guard("survey", once(async () => {
    const { survey: form, slots, closed } = await call(`survey?survey=${id}`);
    return (surveyRead = { ...(await read(form)), slots, closed });
  }));

  /** Learn which question this person is asked, and what a report to it is sent with. */
  const ask = guard("question", async ({ slots, closed, pick, verify }) => {
    // Where a collector gives no question, it could not refuse one: nothing is drawn that is not counted.
    if (closed && slots !== "assigned") refuse(...OVER);
    const offer = await (slots === "assigned"
      ? pose(token ?? (await keep({ token: crypto.randomUUID() })).token)
      : pick(slots, token));
    verify(offer.question, limit);
    assignment ??= { ...offer, question: offer.question.slot }; // the first stays, if several came at once
  });

  /** The survey that the owner holds: what is checked against it is checked before anybody is asked. */
  const own = guard("survey", async () => ownForm && read(ownForm));

  /** The survey that a record is checked against: the owner's, or the one that is fetched. */
  const known = async () => (await own()) ?? survey();

  /** The survey's texts, fetched once, before anything is asked: they are those that its id covers. */
  const texts = guard("texts", once(async () => {
    const { form } = await known();
    if (form.texts || ownTexts) return readTexts(ownTexts ?? (await call(`texts?survey=${id}`)), form);
  }));

  /** A record in which what its conditions skip has its declared value. */
  const completed = async (record) => (await texts())?.completed(record) ?? record;

  /** Refuse a survey that is above the owner's limits, or replaces one that is answered, whatever the record is. */
  const admit = ({ epsilon, form }, entries, place) => {
    const others = Object.entries(entries).filter(([other]) => other !== place);
    const isAnswered = (survey) => others.some(([other, { state }]) => state && other.startsWith(survey));
    if (!again && isAnswered(form.follows)) refuse("predecessor", "You answered the survey that this one replaces.");
    if (!another && isAnswered(id)) refuse("another", "It was answered here under another id.");
    if (epsilon > limit) refuse("epsilon", `Epsilon is above your ${limit}.`);
    const total = others.reduce((sum, [, { epsilon = 0 }]) => sum + whole(epsilon), whole(epsilon));
    if (total > whole(lifetimeLimit)) refuse("lifetime", `Above your lifetime limit of ${lifetimeLimit}.`);
  };

  /** Refuse where all that is kept is that an answer was counted. */
  const checkOpen = ({ state, report }) => state && !report && refuse("answered", "This device has answered this survey.");

  /** Check a record, and what is said of the labels, in full against the survey. */
  const check = async (record, labels) => {
    const sound = await known();
    return sound.check(await completed(record), labels);
  };

  /** The question that this person is asked. Nothing is drawn from the record. */
  const question = async (record, labels) => {
    // First what does not look at the record: who is refused must not be told apart by it.
    const sound = await known();
    await update((entry, entries, place) => {
      checkOpen(entry);
      admit(sound, entries, place);
    });
    sound.check(await completed(record), labels);
    const { tell, period, question: derived } = await survey();
    tell(labels, await period());
    if (!assignment) {
      await log?.check(call, id);
      await ask(await survey());
    }
    return derived(assignment.question);
  };

  return {
    survey,
    texts,
    check,
    question,

    /** What the ledger holds of the answer if it was this client that drew it: only its visit may show it. */
    receipt: () => update((entry) => (drawn && mark(entry) === drawn ? entry : undefined)),
    entry: () => update((entry) => (entry.state ? entry : undefined)),

    /** The period in which this device answers: its first day, and the day before which it ends. */
    period: async () => (await survey()).period(),

    /** Draw this person's one report and keep it, or return the one that is kept. */
    async answer(record, labels) {
      const { report: kept } = await update((entry) => entry);
      if (kept) return kept;
      await question(record, labels);
      const whole = await completed(record);
      const [report, drawing] = await update((before, entries, place) => {
        if (before.report) return [before.report];
        checkOpen(before);
        const { question: slot, ...sending } = assignment;
        const { epsilon } = surveyRead;
        admit(surveyRead, entries, place);
        // Again, and first: the period may have ended while the question was fetched.
        const beside = surveyRead.tell(labels, entries[id]?.period);
        const report = { slot, ...reply(surveyRead.question(slot), surveyRead.check(whole, labels)), ...beside };
        return [report, mark((entries[place] = { ...before, report, epsilon, state: "drawn", ...sending }))];
      });
      drawn ??= drawing; // which is kept now
      return report;
    },

    /** Send the one report until the collector has it. Only the same is ever sent again. */
    async submit() {
      const entry = await update((kept) => kept);
      const { report, key } = entry;
      checkOpen(entry);
      if (!report) refuse("nothing", "No answer yet.");
      const { slot, value, packed, labels } = report;
      if (!(fits("slot", slot) && (packed ? BASE64.test(packed) : fits("slot", value)))) {
        refuse("ledger", "The ledger holds no answer.");
      }
      const change = (more) => update((before) => mark(before) === mark(entry) && Object.assign(before, more));
      const send = async (names) =>
        (await call("reports", { ...(!key && !names.ticket && { id: token }), ...names, ...(packed ? { packed } : { value }), ...(labels && { labels }) }, key))
          .accepted === 1 || refuse("collector", "That is no collector.");
      if (entry.state === "drawn") {
        // Without a ticket or an id there is a day: a collector remembers a key for a week only.
        if (Date.now() / 864e5 - entry.day > 6) refuse("late", "Too late: it could count twice.");
        await send(entry.names)
          .catch(async (error) => {
            if (!STALE.includes(error.reason)) throw error;
            const { names, question: again } = await pose(token ?? entry.token);
            if (again?.slot !== slot) refuse("slot", "It is for another question.");
            await change({ names });
            return send(names);
          })
          .catch((error) => {
            if (error.reason !== "answered") throw error; // else an earlier try was counted
          });
        await change({ state: "sent" });
      }
      return report;
    },

    /** Keep of an answer that is counted only that there is one: others who use this device learn no more from it. */
    forget: () =>
      update(({ state, epsilon, period }, entries, place) => {
        if (state === "sent") entries[place] = { epsilon, state, period };
      }),
  };
}

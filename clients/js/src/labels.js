/**
 * What is sent beside an answer, as it is: the labels that a person gives, and the period that the device draws.
 *
 * An extra part: a client that is given it takes part in surveys that declare labels or periods.
 */

import { below, randomWord } from "./exact.js";
import { refuse } from "./refused.js";

/** Let a survey take labels; `keep` remembers something for it, unless it is there already. */
export const labelling = ({ form, check }, keep, word = randomWord) => {
  const { labels = [], periods = [] } = form;

  /** Check what a person says of the labels, and return it; the period is not theirs to say. */
  const label = (given) => {
    const left = new Map(Object.entries(given ?? {}));
    const said = labels.map(({ name, values }) => {
      const value = left.get(name);
      const why = left.delete(name) ? "has no such value" : "is missing";
      if (!values.includes(value)) refuse("record", `The label ${JSON.stringify(name)} ${why}.`);
      return [name, value];
    });
    if (left.size) refuse("record", "Some labels are not declared, or not yours to give.");
    return Object.fromEntries(said);
  };

  /** The period in which this device answers, drawn once: its first day, and the day before which it ends. */
  const period = async () => {
    if (!periods.length) return undefined;
    const at = Number(below(BigInt(periods.length - 1), word));
    return (await keep({ period: periods.slice(at, at + 2) })).period;
  };

  return {
    period,

    /** Check a record, and what is said of the labels. */
    check(record, given) {
      label(given);
      return check(record);
    },

    /** What a report holds beside its value, if it is time to answer. */
    async tell(given) {
      const told = label(given);
      const [first, end] = (await period()) ?? [];
      const now = new Date().toJSON(); // UTC, as the days are; later than its day alone
      if (now < first) refuse("early", `Your device answers from ${first} on, and before ${end}.`);
      if (now >= end) refuse("over", `Your device was to answer from ${first} on, and before ${end}.`);
      if (first) told.period = first;
      return Object.keys(told).length ? { labels: told } : {};
    },
  };
};

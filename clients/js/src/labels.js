/** What is sent beside an answer, as it is: the labels that a person gives, and the period that the device draws. */

import { DEFINITION } from "./definition.js";
import { below, randomWord } from "./exact.js";
import { refuse } from "./refused.js";

/** How a text looks: one way of writing its accents, and one space for many. */
const look = (text) => text.normalize().replace(/ +/g, " ");

/** A name in capitals, so that names which differ in them alone are one, as in Python; first ẞ becomes ß. */
const foldCase = ({ name }) => look(name).toLowerCase().toUpperCase();

/** Refuse labels that cannot be told from what they must not be, and periods that are none. */
export const checkLabels = ({ schema, labels = [], periods = [] }) => {
  const names = labels.map(foldCase);
  const isTaken = (name) => DEFINITION.taken.includes(name);
  const groups = labels.reduce((count, { values }) => count * values.length, Math.max(1, periods.length - 1));
  if (
    names.some(isTaken) ||
    new Set(names).size < names.length ||
    labels.some(({ values }) => new Set(values.map(look)).size < values.length) ||
    groups > DEFINITION.limits.groups
  ) {
    refuse("survey", "Its labels are not sound.");
  }
  if (periods[0]) names.push("PERIOD");
  // What is sent as a label is not protected.
  if (schema.attributes.some((one) => names.includes(foldCase(one)))) refuse("survey", "An attribute is a label.");
  if (periods.some((day, i) => i && day <= periods[i - 1])) refuse("survey", "Its periods are out of order.");
};

/** Let a survey take labels; `keep` remembers something for it, unless it is there already. */
export const labelling = ({ form, check }, keep, word = randomWord) => {
  const { labels = [], periods } = form;

  /** Check what a person says of the labels, and return it; the period is not theirs to say. */
  const label = (answers) => {
    if (answers != null && (answers !== Object(answers) || Array.isArray(answers))) refuse("record", "Labels map names to values.");
    const rest = new Map(Object.entries(answers ?? {}));
    const pairs = labels.map(({ name, values }) => {
      const value = rest.get(name);
      const why = rest.delete(name) ? "has no such value" : "is missing";
      if (!values.includes(value)) refuse("record", `The label ${JSON.stringify(name)} ${why}.`);
      return [name, value];
    });
    if (rest.size) refuse("record", "Some are no labels.");
    return Object.fromEntries(pairs);
  };

  /** A period's first day, and the day before which it ends, by the survey; `drawnPeriod` is what was drawn. */
  const bounds = (drawnPeriod) => {
    const at = periods.slice(0, -1).indexOf(drawnPeriod?.[0]);
    if (at < 0) refuse("survey", "The survey has no such period.");
    return periods.slice(at, at + 2);
  };

  /** The period in which this device answers, drawn once: its first day, and the day before which it ends. */
  const period = async () => {
    if (!periods) return undefined;
    const at = Number(below(BigInt(periods.length - 1), word));
    return bounds((await keep({ period: periods.slice(at, at + 2) })).period);
  };

  return {
    period,

    /** Check a record, and what is said of the labels. */
    check(record, answers) {
      label(answers);
      return check(record);
    },

    /** What a report holds beside its value, if it is time to answer by the period that was drawn. */
    tell(answers, drawnPeriod) {
      const beside = label(answers);
      const [first, end] = periods ? bounds(drawnPeriod) : [];
      const now = new Date().toJSON(); // UTC, as the days are; later than its day alone
      if (now < first) refuse("early", `Your device answers from ${first} on, before ${end}.`);
      if (now >= end) refuse("over", `Your device was to answer from ${first} on, before ${end}.`);
      if (first) beside.period = first;
      return Object.keys(beside).length ? { labels: beside } : {};
    },
  };
};

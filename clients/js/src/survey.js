/** A survey: known by its id, it checks records and questions. */

import { canonical } from "./canonical.js";
import { big, exceeds } from "./exact.js";
import { partsOf, readAnswer, symbolsOf, touchedBy } from "./question.js";
import { refuse } from "./refused.js";

/** The declared value that a person's value stands for; an error never repeats it. */
const declared = ({ name, values, missing, other, edges }, value) => {
  const lacks = (why) => refuse("record", `${canonical(name)} ${why}.`);
  if (value == null || value !== value) return missing ?? lacks("is missing");
  if (edges) {
    return typeof value === "number"
      ? values[edges.filter((edge) => +edge <= value).length]
      : other ?? lacks("must be a number");
  }
  return values.includes(value) ? value : other ?? lacks("has no such value");
};

/** Read a survey's JSON object, which has this id. */
export const readSurvey = (form, id) => {
  const { schema } = form;
  const { attributes } = schema;
  const epsilon = +form.epsilon;
  const touches = Math.max(...form.shapes.map((shape) => shape.attributes));
  if (schema.observed) refuse("observed", "Its values come from data, which leaks.");

  return {
    id,
    form,
    epsilon,
    touches,

    /** Check a record in full; return the declared values that it stands for. */
    check(record) {
      const given = new Map(Object.entries(record ?? {}));
      const held = new Map(attributes.map((one) => [one.name, declared(one, given.get(one.name))]));
      if ([...given.keys()].some((name) => !held.has(name))) refuse("record", "Some are no attributes.");
      return held;
    },

    /** Refuse a question that its owner would not want answered; `own` are the survey's, if derived. */
    verify(question, limit, own) {
      const { survey, slot, asks, answer } = question;
      if (survey !== id) refuse("foreign", "It is of another survey.");
      const { cell, parities } = asks;
      const { M, ratio } = readAnswer(answer);
      // A term made again, of nothing but the survey's attributes and values; a cell lists them all.
      const again = ({ attribute, values }) => ({
        attribute,
        values: attributes.find(({ name }) => name === attribute).values.filter((value) => cell || values.includes(value)),
      });
      const sound = own
        ? own.question(slot)
        : {
            survey,
            slot: `${big.asUintN(63, big(slot))}`,
            asks: cell ? { cell: cell.map(again) } : { parities: parities.map((bit) => bit.map(again)) },
            answer,
          };
      if (
        canonical(sound) !== canonical(question) ||
        symbolsOf(asks) !== M ||
        !(parities ?? [cell]).every((part) => part[0] && touchedBy(part).size === part.length)
      ) {
        refuse("question", "The survey asks no such thing.");
      }
      if (epsilon > limit || exceeds(ratio, epsilon)) {
        refuse("epsilon", `Epsilon is above your ${limit}, or the survey's.`);
      }
      if (touchedBy(partsOf(asks).flat()).size > touches) {
        refuse("attributes", "It touches too many attributes.");
      }
    },
  };
};

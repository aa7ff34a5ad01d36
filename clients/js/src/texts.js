/** Texts: all that people read of a survey, in each language. The survey's id covers digests of them. */

import { declaredValue } from "./attribute.js";
import { canonical, digest } from "./canonical.js";
import { fits } from "./forms.js";
import { isPoint, orderOf, sizeOf } from "./order.js";
import { refuse } from "./refused.js";

const demand = (isSound, what) => isSound || refuse("texts", `These are not the survey's texts: ${what}.`);
const digestOf = (form) => digest(canonical(form));

/** The digests that a survey's id covers, of a sound document. */
const digestsOf = async ({ default: language, layout, languages }) => {
  const digests = { default: language, layout: await digestOf(layout), languages: {} };
  for (const [name, { survey, attributes }] of Object.entries(languages)) {
    digests.languages[name] = { survey: await digestOf(survey), attributes: await Promise.all(attributes.map(digestOf)) };
  }
  return digests;
};

/** The code of the declared value that a person's value stands for. */
const codeOf = (attribute, value) => {
  const { levels, point, level } = orderOf(attribute) ?? {};
  const own = declaredValue(attribute, value);
  return attribute.values?.indexOf(own) ?? (isPoint(own, point(0)) ? level(own) : levels);
};
/** What a record holds where this is the code: of a bin a number, null for no answer. */
const valueOf = (attribute, code) => {
  const { values, edges, missing } = attribute;
  if (!values) {
    const { levels, point } = orderOf(attribute);
    return code < levels ? point(code) : null;
  }
  if (!edges) return values[code];
  if (code > edges.length) return values[code] === missing ? null : `${values[code]}`;
  const lowest = +edges[0];
  return code ? +edges[code - 1] : lowest > 0 ? 0 : 2 * lowest - 1;
};

/** Words in a language: of as many attributes, values, pages and labels as there are. */
const checkWords = ({ survey, attributes: words }, { schema: { attributes }, labels = [] }, pages) => {
  demand(words.length === attributes.length, "other attributes");
  words.forEach(({ values, missing, unit }, i) => {
    const one = attributes[i];
    const isNumber = !one.values || one.edges;
    demand(!values || (!isNumber && values.length === one.values.length), "other values");
    demand(missing === undefined || (isNumber && one.missing !== undefined), "a missing value that is none");
    demand(unit === undefined || one.unit !== undefined, "a unit that is none");
  });
  demand((survey.pages ?? pages).length === pages.length, "other pages");
  const labelWords = survey.labels ?? labels;
  demand(
    labelWords.length === labels.length &&
      labels.every(({ values }, i) => (labelWords[i].values ?? values).length === values.length),
    "other labels",
  );
};

/** Every attribute on one page, and conditions that look back, at values that there are. */
const checkLayout = ({ pages, conditions }, attributes) => {
  const order = pages.flatMap((page) => page.attributes);
  const turns = new Map(order.map((attribute, turn) => [attribute, turn]));
  demand(order.length === attributes.length && attributes.every((_, i) => turns.has(i)), "its pages");
  conditions.forEach(({ attribute, all, otherwise }, i) => {
    demand(turns.has(attribute) && !(attribute <= conditions[i - 1]?.attribute), "the order of its conditions");
    demand(otherwise < sizeOf(attributes[attribute]), "the value of what is skipped");
    for (const { on, codes } of all) {
      demand(turns.get(on) < turns.get(attribute), "a condition that does not look back");
      demand(
        codes.every(([first, last], j) => first <= last && !(first <= codes[j - 1]?.[1] + 1)) &&
          codes.at(-1)[1] < sizeOf(attributes[on]),
        "the values of a condition",
      );
    }
  });
  return [...conditions].sort((a, b) => turns.get(a.attribute) - turns.get(b.attribute));
};

/** Read the texts' JSON object; refuse what is not, to the letter, what a sound survey's JSON object covers. */
export const readTexts = async (form, survey) => {
  const { attributes } = survey.schema;
  demand(fits("texts", form), "their form");
  const { default: language, layout, languages } = form;
  const words = Object.hasOwn(languages, language) && languages[language];
  demand(words && words.survey.title && words.attributes.every(({ wording }) => wording), "the default language");
  demand(survey.texts && canonical(await digestsOf(form)) === canonical(survey.texts), "their words or pages differ");
  for (const each of Object.values(languages)) checkWords(each, survey, layout.pages);
  const conditions = checkLayout(layout, attributes);

  /** Put the declared value of each attribute that is not asked into a record; return where these are. */
  const skip = (record) => {
    const holds = ({ on, codes }) => {
      const { name } = attributes[on];
      try {
        const code = codeOf(attributes[on], record.get(name));
        return codes.some(([first, last]) => code >= first && code <= last);
      } catch {
        return false; // no declared value fulfils nothing
      }
    };
    const skipped = conditions.filter(({ attribute, all, otherwise }) => {
      const own = attributes[attribute];
      const isAsked = all.every(holds);
      if (!isAsked) record.set(own.name, valueOf(own, otherwise));
      return !isAsked;
    });
    return skipped.map(({ attribute }) => attribute);
  };

  return {
    form,

    /** The positions of the attributes that are not asked of somebody with this record, so far as it is given. */
    skipped: (record) => skip(new Map(Object.entries(record))),

    /** A record in which what is not asked has its declared value, whatever was given; it is not checked here. */
    completed(record) {
      if (record !== Object(record) || Array.isArray(record)) return record;
      const whole = new Map(Object.entries(record));
      skip(whole);
      return Object.fromEntries(whole);
    },
  };
};

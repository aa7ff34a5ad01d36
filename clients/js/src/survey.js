/** A survey: its JSON object is checked in full, so that whatever is asked from then on is sound. */


import { declaredValue, isAttribute } from "./attribute.js";
import { canonical } from "./canonical.js";
import { DEFINITION } from "./definition.js";
import { big, comb, exceeds } from "./exact.js";
import { fits } from "./forms.js";
import { checkLabels } from "./labels.js";
import { listsOf } from "./lists.js";
import { orderOf, sizeOf } from "./order.js";
import { readAnswer } from "./question.js";
import { refuse } from "./refused.js";
import { readTemplate, slotsOf } from "./slots.js";

const { limits } = DEFINITION;
const demand = (isSound, what) => isSound || refuse("survey", `The survey cannot be answered: ${what}.`);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const isDistinct = (forms) => new Set(forms.map(canonical)).size === forms.length;
const isWeighted = ({ weight, weights }) => !!(weight ?? weights);
const units = (count) => Array.from({ length: count }, (_, i) => [i]);

/** Tell whether no parity, a list of positions, follows from others. */
const isIndependent = (parities) => {
  const basis = [];
  return parities.every((bit) => {
    let mask = bit.reduce((bits, i) => bits | (1n << big(i)), 0n);
    for (const other of basis) if ((mask ^ other) < mask) mask ^= other;
    return mask && basis.push(mask);
  });
};

/** A template by itself: its numbers fit each other, and its way of answering. */
const checkTemplate = ({ attributes: size, answer, cell, sizes, parities, questions, among, sets, weights }, d) => {
  const { way, M } = readAnswer(answer);
  const bits = questions ?? Array(size).fill(1);
  demand(!cell || way !== "bitwise", "a cell is answered bit by bit");
  demand(
    [sizes, questions].every((numbers, i) => !numbers || (numbers.length === size && numbers.some((n) => n > 2 - i))),
    "numbers of attributes",
  );
  demand(!among || (among.length >= size && among.at(-1) < d), "attributes to ask about");
  demand(
    !sets ||
      (sets.every((set) => set.length === size && set.at(-1) < d) &&
        isDistinct(sets) &&
        (!weights || weights.length === sets.length)),
    "sets of attributes",
  );
  if (sizes) return demand(M === sizes.map(big).reduce((a, b) => a * b), "symbols of a cell");
  const questionBits = cell ? units(size) : parities;
  demand(sum(bits) <= limits.parity_places && Math.max(...bits) <= questionBits.length, "questions about attributes");
  demand(M === 1n << big(questionBits.length), "symbols of parities");
  demand(
    cell ||
      (parities.every((bit) => bit.at(-1) < sum(bits)) &&
        (way === "bitwise" || parities.length <= limits.parities) &&
        isIndependent(parities)),
    "parities",
  );
};

/** A template and the attributes that it may be asked about: they, or their lists, have as much as it takes. */
const checkFit = ({ attributes: size, cell, parities, sizes, questions, among, sets }, values, lists) => {
  const all = values.map((_, a) => a);
  const depths = questions ?? Array(size).fill(1);
  const isCell = (set) => set.every((a, i) => !lists[a].isOrdered && values[a] === (sizes?.[i] ?? 2));
  const isYesNo = (set) => !sizes && isCell(set);
  const pool = among ?? all;
  const isFit = cell
    ? among || (!sets && size < all.length)
      ? isYesNo(pool)
      : (sets ?? [all]).every(isCell)
    : sets
      ? sets.every((set) => set.every((a, i) => lists[a].depth >= depths[i]))
      : depths.every((most, i) => pool.slice(i, pool.length - size + i + 1).every((a) => lists[a].depth >= most));
  const isWhole = !questions || canonical([size, parities]) === "[1,[[0],[1]]]"; // all that is asked about an order
  demand(isFit && (isWhole || !(sets?.flat() ?? pool).some((a) => lists[a].isOrdered)), "values of attributes");
};

/** What is answered bit by bit is every bit of every attribute's code, once. */
const checkBits = ([template, ...others], lists) => {
  const widths = lists.map(({ depth }) => depth);
  demand(
    !others[0] &&
      !isWeighted(template) &&
      !template.sets &&
      lists.every(({ isParity, entries }) => isParity && entries === 1) &&
      canonical(template.questions ?? Array(template.attributes).fill(1)) === canonical(widths) &&
      canonical(template.parities) === canonical(units(sum(widths))),
    "bits of codes",
  );
};

/** How much there is to go through: values, rows of lists, places of templates, sums of parities. */
const checkLength = ({ templates, lists }, values) => {
  const matrices = new Set(values.filter((_, i) => lists[i].list === "balanced"));
  const positions = sum(templates.map(({ attributes, sets, among }) => attributes * (sets ?? among ?? values).length));
  const members = sum(
    templates.map(({ attributes, parities = [], answer }) =>
      answer.way === "bitwise" ? 0 : attributes * 2 ** parities.length,
    ),
  );
  demand(
    sum(values) <= limits.values &&
      sum([...matrices].map((size) => size * size)) <= limits.rows &&
      positions <= limits.places &&
      members <= limits.members,
    "too much to go through",
  );
};

/** All templates together. */
const checkTemplates = (form, values, lists) => {
  const { order, templates, epsilon } = form;
  const touches = Math.max(...templates.map((template) => template.attributes));
  demand(order <= values.length && touches <= values.length, "attributes at once");
  demand(form.touches === (touches > order ? touches : undefined), "attributes that a question touches");
  checkLength(form, values);
  for (const template of templates) {
    checkTemplate(template, values.length);
    checkFit(template, values, lists);
    demand(!exceeds(readAnswer(template.answer).ratio, +epsilon), "more than its epsilon");
  }
  demand(
    isDistinct(
      templates.map(({ attributes, cell, parities, questions, sizes, sets, among }) => [
        attributes,
        parities ?? (cell && !sizes ? units(attributes) : 0),
        ...[questions, sizes, sets, among].map((each) => each ?? 0),
      ]),
    ),
    "the same thing twice",
  );
  const isUnary = ({ answer }) => answer.way === "unary";
  demand(
    templates.every(isUnary) || !templates.some((one) => isUnary(one) && one.answer.symbols > limits.narrow),
    "ways of answering",
  );
  const isCells = templates.some((template) => template.sizes);
  demand(!isCells || templates.every((template) => template.cell), "cells and parities");
  const weights = templates.flatMap((template) => template.weight ?? template.weights ?? []);
  demand(!weights[0] || (templates.every(isWeighted) && sum(weights) === limits.weight), "weights");
  if (templates.some(({ answer }) => answer.way === "bitwise")) checkBits(templates, lists);
  checkWork(form, lists, isCells || values.every((n, i) => n === 2 && !lists[i].isOrdered));
  return touches;
};

/** The work that a survey causes: sets to go through, slots to number, coefficients to estimate. */
const checkWork = ({ order, templates, schema }, lists, isSmall) => {
  const all = lists.map((_, a) => a);
  let rowsListed = 0n;
  let slots = 0n;
  for (const template of templates) {
    const { attributes: size, among, sets, cell } = template;
    const read = readTemplate(template, schema.attributes, lists);
    const subset = sets ? sets.flat() : among ?? all;
    if (!cell && subset.some((a) => lists[a].entries > 1)) {
      if (!sets) rowsListed += comb(big(subset.length), big(size)) * big(size);
      demand(read.slots < 1n << big(limits.numbered), "too many questions");
    }
    slots += read.slots;
  }
  demand(rowsListed <= limits.listed && slots < 1n << big(limits.slots), "too many questions");
  const attributesAsked = [...new Set(templates.flatMap(({ sets, among }) => (sets ? sets.flat() : among ?? all)))];
  const products = [1n, ...Array(order).fill(0n)];
  for (const a of attributesAsked) for (let j = order; j; j--) products[j] += products[j - 1] * big(lists[a].count);
  demand(isSmall || products.slice(1).reduce((a, b) => a + b) <= limits.coefficients, "too many coefficients");
};

/** Read a survey's JSON object, which has this id; refuse what no client may answer. */
export const readSurvey = (form, id) => {
  demand(form?.format === DEFINITION.rules.survey.fields.format.is, "its format");
  demand(fits("survey", form), "its form");
  const { attributes, observed } = form.schema;
  demand(attributes.every(isAttribute) && isDistinct(attributes.map(({ name }) => name)), "its attributes");
  checkLabels(form);
  const { default: language, languages } = form.texts ?? {};
  demand(
    !languages ||
      (Object.hasOwn(languages, language) &&
        Object.values(languages).every((each) => each.attributes.length === attributes.length)),
    "digests of its texts",
  );
  demand(form.lists.length === attributes.length, "a question list for each attribute");
  demand(attributes.every((one, i) => !orderOf(one) === (form.lists[i].list !== "thresholds")), "lists");
  const epsilon = +form.epsilon;
  const sizes = attributes.map(sizeOf);
  const touches = checkTemplates(form, sizes, listsOf(form));
  if (observed) refuse("observed", "Its values come from data.");
  const own = slotsOf(form, id);

  return {
    ...own,
    id,
    form,
    epsilon,
    touches,

    /** Check a record in full; return the declared values that it stands for. */
    check(record) {
      if (record !== Object(record) || Array.isArray(record)) refuse("record", "A record maps attributes to values.");
      const entries = new Map(Object.entries(record));
      const values = new Map(attributes.map((one) => [one.name, declaredValue(one, entries.get(one.name))]));
      if ([...entries.keys()].some((name) => !values.has(name))) refuse("record", "Some are no attributes.");
      return values;
    },

    /** Refuse a question that its owner would not want answered: the survey's own, to the letter, is. */
    verify(question, limit) {
      const { survey, slot } = question;
      if (survey !== id) refuse("foreign", "It is of another survey.");
      if (canonical(own.question(slot) ?? null) !== canonical(question)) {
        refuse("question", "The survey asks no such thing.");
      }
      if (epsilon > limit) refuse("epsilon", `Epsilon is above your ${limit}.`);
    },
  };
};

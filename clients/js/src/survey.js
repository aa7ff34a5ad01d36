/** A survey: its JSON object is checked in full, so that whatever is asked from then on is sound. */

import { asking, listsOf, masksOf, readShape } from "./asking.js";
import { declared, isAttribute } from "./attribute.js";
import { canonical } from "./canonical.js";
import { DEFINITION } from "./definition.js";
import { big, comb, exceeds } from "./exact.js";
import { fits } from "./forms.js";
import { checkLabels } from "./labels.js";
import { widthOf } from "./lists.js";
import { readAnswer } from "./question.js";
import { refuse } from "./refused.js";

const { limits, mechanisms } = DEFINITION;
const demand = (isSound, what) => isSound || refuse("survey", `It is no survey that can be answered: ${what}.`);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const isDistinct = (forms) => new Set(forms.map(canonical)).size === forms.length;
const isWeighted = ({ weight, weights }) => !!(weight ?? weights);
const units = (count) => Array.from({ length: count }, (_, i) => [i]);

/** Tell whether no parity, a list of positions, follows from others. */
const isIndependent = (parities) => {
  const found = [];
  return parities.every((bit) => {
    let mask = bit.reduce((made, i) => made | (1n << big(i)), 0n);
    for (const other of found) if ((mask ^ other) < mask) mask ^= other;
    return mask && found.push(mask);
  });
};

/** Every sum of some parities, as masks of the questions about each attribute. */
const membersOf = (masks) => {
  let members = [masks[0].map(() => 0)];
  for (const mask of masks) members = [...members, ...members.map((member) => member.map((m, i) => m ^ mask[i]))];
  return members.slice(1);
};
const levelOf = (member) => member.filter(Boolean).length;

/** A shape by itself: its numbers fit each other, and its way of answering. */
const checkShape = ({ attributes: size, answer, cell, sizes, parities, functionals, among, sets, weights }, d) => {
  const { way, M } = readAnswer(answer);
  const bits = functionals ?? Array(size).fill(1);
  demand(!cell || way !== "bitwise", "a cell is answered bit by bit");
  demand(
    [sizes, functionals].every((numbers, i) => !numbers || (numbers.length === size && numbers.some((n) => n > 2 - i))),
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
  const asked = cell ? units(size) : parities;
  demand(sum(bits) <= limits.parity_places && Math.max(...bits) <= asked.length, "questions about attributes");
  demand(M === 1n << big(asked.length), "symbols of parities");
  demand(
    cell ||
      (parities.every((bit) => bit.at(-1) < sum(bits)) &&
        (way === "bitwise" || parities.length <= limits.parities) &&
        isIndependent(parities)),
    "parities",
  );
};

/** A shape and the attributes that it may be asked about: they have as many values or bits as it takes. */
const checkFit = ({ attributes: size, cell, sizes, functionals, among, sets }, values) => {
  if (!sizes && !functionals && values.every((n) => n === 2)) return;
  const widths = values.map(widthOf);
  const bits = functionals ?? Array(size).fill(1);
  const isCell = (set) => set.every((a, i) => values[a] === (sizes?.[i] ?? 2));
  const isFit = among
    ? among.every((a) => widths[a] >= Math.max(...bits)) && (!cell || (!sizes && among.every((a) => values[a] === 2)))
    : cell
      ? (sets ?? [values.map((_, a) => a)]).every((set) => set.length === size && isCell(set))
      : sets
        ? sets.every((set) => set.every((a, i) => widths[a] >= bits[i]))
        : bits.every((bit, i) => widths.slice(i, values.length - size + i + 1).every((width) => width >= bit));
  demand(isFit, "values of attributes");
};

/** What a mechanism's decoder takes. */
const DECODES = {
  codes: (shape, { shapes }, widths) =>
    !shapes[1] &&
    shape.answer.way === "bitwise" &&
    !isWeighted(shape) &&
    !shape.sets &&
    canonical(shape.functionals ?? Array(shape.attributes).fill(1)) === canonical(widths) &&
    canonical(shape.parities) === canonical(units(sum(widths))),
  products: (shape) =>
    shape.answer.way === "subset" &&
    isWeighted(shape) &&
    !shape.functionals &&
    shape.parities?.length === 1 &&
    shape.parities[0].length === shape.attributes,
  bits: (shape) => DECODES.products(shape) && !shape.sets,
  subspaces: (shape, { order }) =>
    shape.answer.way === "subset" &&
    isWeighted(shape) &&
    (shape.cell || membersOf(masksOf(shape)).some((member) => levelOf(member) <= order)),
};

/** Where all attributes are alike, a survey treats them alike, and asks what tables of every size need. */
const checkSymmetry = ({ order, shapes }) => {
  const spans = shapes.map((shape) =>
    membersOf(shape.cell ? masksOf({ ...shape, parities: units(shape.attributes) }) : masksOf(shape)),
  );
  for (let level = 1; level <= order; level++) {
    demand(spans.some((span) => span.some((member) => levelOf(member) === level)), "tables of its order");
  }
  const nameOf = ({ attributes, answer }, members) => canonical([attributes, members.map(canonical).sort(), answer]);
  const known = new Map(shapes.map((shape, i) => [nameOf(shape, spans[i]), i]));
  for (const i of known.values()) {
    const { attributes, weight } = shapes[i];
    for (let place = 0; place < attributes - 1; place++) {
      const swap = (at) => (at === place ? place + 1 : at === place + 1 ? place : at);
      const turned = spans[i].map((member) => member.map((_, at) => member[swap(at)]));
      const other = shapes[known.get(nameOf(shapes[i], turned))];
      demand(other && Math.abs(other.weight - weight) <= 1, "attributes that are asked about alike");
    }
  }
};

/** How much there is to go through: values, places of shapes, sums of parities. */
const checkLength = ({ shapes, mechanism }, values) => {
  const balanced = mechanisms[mechanism].list ? sum([...new Set(values)].map((size) => size * size)) : 0;
  const places = sum(shapes.map(({ attributes, sets, among }) => attributes * (sets ?? among ?? values).length));
  const members = sum(
    shapes.map(({ attributes, parities = [], answer }) =>
      answer.way === "bitwise" ? 0 : attributes * 2 ** parities.length,
    ),
  );
  demand(
    sum(values) <= limits.values && balanced <= limits.balanced && places <= limits.places && members <= limits.members,
    "too much to go through",
  );
};

/** All shapes together, as the survey's mechanism takes them. */
const checkShapes = (form, values) => {
  const { order, shapes, epsilon, mechanism } = form;
  const d = values.length;
  const widths = values.map(widthOf);
  const rule = Object.hasOwn(mechanisms, mechanism) ? mechanisms[mechanism] : demand(false, "its mechanism");
  const touches = Math.max(...shapes.map((shape) => shape.attributes));
  const most = {
    all: d,
    dimension: Math.min(d, Math.max(limits.dimension + 1, order)),
    bits: Math.min(d, sum([...widths].sort((a, b) => b - a).slice(0, order))),
  };
  demand(order <= d && touches <= (most[rule.touches] ?? order), "attributes at once");
  checkLength(form, values);
  for (const shape of shapes) {
    checkShape(shape, d);
    checkFit(shape, values);
    const decodes =
      DECODES[rule.decodes] ??
      (() =>
        (!rule.attributes || shape.attributes === order) && shape.answer.way !== "bitwise" && !isWeighted(shape));
    demand(decodes(shape, form, widths), "its mechanism asks no such thing");
    demand(!exceeds(readAnswer(shape.answer).ratio, +epsilon), "more than its epsilon");
  }
  demand(
    isDistinct(
      shapes.map(({ attributes, cell, parities, functionals, sizes, sets, among }) => [
        attributes,
        parities ?? (cell && !sizes ? units(attributes) : 0),
        ...[functionals, sizes, sets, among].map((each) => each ?? 0),
      ]),
    ),
    "the same thing twice",
  );
  const isUnary = ({ answer }) => answer.way === "unary";
  demand(
    shapes.every(isUnary) || !shapes.some((shape) => isUnary(shape) && shape.answer.symbols > limits.narrow),
    "ways of answering",
  );
  const isCells = shapes.some((shape) => shape.sizes);
  demand(!isCells || shapes.every((shape) => shape.cell), "cells and parities");
  const weights = shapes.flatMap((shape) => shape.weight ?? shape.weights ?? []);
  demand(!weights[0] || (shapes.every(isWeighted) && sum(weights) === limits.weight), "weights");
  const isBinary = values.every((n) => n === 2);
  if (rule.decodes === "subspaces" && isBinary && shapes.every((shape) => !shape.sets && !shape.among)) {
    checkSymmetry(form);
  }
  checkWork(form, isBinary || isCells);
  return touches;
};

/** The work that a survey causes: sets to go through, slots to number, coefficients to estimate. */
const checkWork = (form, isSmall) => {
  const { order, shapes, schema } = form;
  const lists = listsOf(form);
  const all = lists.map((_, a) => a);
  let listed = 0n;
  let slots = 0n;
  for (const shape of shapes) {
    const { attributes: size, among, sets, cell, answer } = shape;
    const read = readShape(shape, schema.attributes, lists);
    const used = sets ? sets.flat() : among ?? all;
    if (!cell && answer.way !== "bitwise" && used.some((a) => lists[a][0] > 1)) {
      if (!sets) listed += comb(big(used.length), big(size)) * big(size);
      demand(read.slots < 1n << big(limits.numbered), "too many questions");
    }
    slots += read.slots;
  }
  demand(listed <= limits.listed && slots < 1n << big(limits.slots), "too many questions");
  const asked = [...new Set(shapes.flatMap(({ sets, among }) => (sets ? sets.flat() : among ?? all)))];
  const products = [1n, ...Array(order).fill(0n)];
  for (const a of asked) for (let j = order; j; j--) products[j] += products[j - 1] * big(lists[a][0]);
  demand(isSmall || products.slice(1).reduce((a, b) => a + b) <= limits.coefficients, "too many coefficients");
};

/** Read a survey's JSON object, which has this id; refuse what no client may answer. */
export const readSurvey = (form, id) => {
  demand(fits("survey", form), "its form");
  const { attributes, observed } = form.schema;
  demand(attributes.every(isAttribute) && isDistinct(attributes.map(({ name }) => name)), "its attributes");
  checkLabels(form);
  const epsilon = +form.epsilon;
  const touches = checkShapes(
    form,
    attributes.map(({ values }) => values.length),
  );
  if (observed) refuse("observed", "Its values come from data, which leaks.");
  const own = asking(form, id);

  return {
    ...own,
    id,
    form,
    epsilon,
    touches,

    /** Check a record in full; return the declared values that it stands for. */
    check(record) {
      if (record !== Object(record) || Array.isArray(record)) refuse("record", "A record maps attributes to values.");
      const given = new Map(Object.entries(record));
      const held = new Map(attributes.map((one) => [one.name, declared(one, given.get(one.name))]));
      if ([...given.keys()].some((name) => !held.has(name))) refuse("record", "Some are no attributes.");
      return held;
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

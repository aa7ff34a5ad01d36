/** The question of every slot, derived from the survey alone, and how slots are drawn. */

import { sha256, utf8 } from "./canonical.js";
import { below, big, randomWord } from "./exact.js";
import { fits } from "./forms.js";
import { listsOf } from "./lists.js";
import { refuse } from "./refused.js";

/** For each parity of a template, the questions that it takes about each of its attributes, as masks. */
export const masksOf = ({ attributes, parities = [], questions }) =>
  parities.map((bit) => {
    let end = 0;
    return Array.from({ length: attributes }, (_, index) => {
      const start = end;
      end += questions?.[index] ?? 1;
      return bit.reduce((mask, i) => (i < start || i >= end ? mask : mask | (1 << (i - start))), 0);
    });
  });

/**
 * The slots of a template: how many, how they are drawn, and what each asks.
 *
 * Sets of attributes are not gone through one by one: `sums[j][i]` is the number of slots of sets of j of the
 * first i attributes, so that a slot is found in as many steps as there are attributes.
 */
export const readTemplate = (template, attributes, lists) => {
  const { attributes: size, answer, cell, sets, weight, weights, among } = template;
  const pool = sets ? [] : among ?? attributes.map((_, i) => i);
  const masks = masksOf(template);
  const isAsked = (index) => masks.some((mask) => mask[index]);
  const factors = Array.from({ length: size }, (_, index) => (a) => big(isAsked(index) ? lists[a].entries : 1));
  const radix = (set) => set.map((a, index) => factors[index](a));
  const slotsOf = (set) => radix(set).reduce((a, b) => a * b);

  const sums = [Array(pool.length + 1).fill(1n)];
  for (let j = 1; !sets && j <= size; j++) {
    sums[j] = [0n];
    pool.forEach((a, i) => (sums[j][i + 1] = sums[j][i] + sums[j - 1][i] * factors[j - 1](a)));
  }
  const bySet = sets?.map(slotsOf);

  /** The set of attributes of a slot, and the slot's number within the set. */
  const unrank = (number) => {
    if (sets) {
      const at = bySet.findIndex((within) => number < within || ((number -= within), false));
      return [sets[at], number];
    }
    const subset = [];
    const remainders = []; // what remains of the number, and what multiplies it, at each attribute chosen
    for (let j = size, end = pool.length; j; j--) {
      let i = end - 1;
      while (sums[j][i] > number) i--;
      number -= sums[j][i];
      const factor = factors[j - 1](pool[i]);
      remainders.push([number % factor, factor]);
      number /= factor;
      subset.unshift(pool[i]);
      end = i;
    }
    return [subset, remainders.reduceRight((within, [rest, factor]) => within * factor + rest, number)];
  };

  return {
    slots: bySet ? bySet.reduce((a, b) => a + b) : sums[size][pool.length],
    answer,
    runs: weights ? weights.map((each, i) => [each, bySet[i]]) : weight && [[weight, sums[size][pool.length]]],
    asks(slot) {
      let [subset, number] = unrank(slot);
      const members = subset.map((a) => attributes[a]);
      if (cell) return { cell: members.map(({ name, values }) => ({ attribute: name, values })) };
      const entries = radix(subset).map((count) => {
        const entry = Number(number % count);
        number /= count;
        return entry;
      });
      return {
        parities: masks.map((mask) =>
          members.flatMap(({ name, values }, i) => {
            const list = lists[subset[i]];
            const coefficient = list.coefficient(entries[i], template.questions?.[i] ?? 1, mask[i]);
            const saysYes = (_, value) => list.saysYes(coefficient, value);
            if (!coefficient) return [];
            return values ? { attribute: name, values: values.filter(saysYes) } : list.range(coefficient);
          }),
        ),
      };
    },
  };
};

/** Return what a sound survey's JSON object asks: `question(slot)` and `draw(word)`. */
export const slotsOf = (form, id) => {
  const { attributes } = form.schema;
  const lists = listsOf(form);
  const templates = form.templates.map((template) => readTemplate(template, attributes, lists));
  const runs = templates.flatMap((template) => template.runs ?? []);

  /** Draw a slot from words, without looking at any data. */
  const draw = (word = randomWord) => {
    if (!runs[0]) return below(templates.reduce((sum, { slots }) => sum + slots, 0n), word);
    let point = word() >> 32n;
    let start = 0n;
    for (const [weight, slots] of runs) {
      if (point < weight) return start + below(slots, word);
      point -= big(weight);
      start += slots;
    }
  };

  /** The slot of an issued id: drawn from hashes of it. */
  const hashed = async (token) => {
    const stream = [];
    for (let block = 0; ; block++) {
      const count = [24, 16, 8, 0].map((shift) => block >> shift);
      const bytes = new Uint8Array([...utf8(`deniable.slot${id}${token}`), ...count]);
      const digest = new DataView(await sha256(bytes));
      stream.push(...[0, 8, 16, 24].map((at) => digest.getBigUint64(at)));
      let wordsUsed = 0;
      const slot = draw(() => stream[wordsUsed++] ?? 0n);
      if (wordsUsed <= stream.length) return slot;
    }
  };

  /** The question of a slot, or nothing if there is no such slot. */
  const question = (slot) => {
    if (!fits("slot", `${slot}`)) return undefined;
    let number = big(slot);
    for (const { slots, answer, asks } of templates) {
      if (number < slots) return { survey: id, slot: `${slot}`, asks: asks(number), answer };
      number -= slots;
    }
  };

  /** The question to answer where no collector assigns one, and what a report to it is sent with. */
  const pick = async (slots, token) => {
    if (slots === "hashed") {
      // A slot that is hashed from anything else would be answered in vain.
      if (!/^[\w-]{32}$/.test(token)) {
        refuse("token", "It needs an issued id: 32 letters, digits, - and _.");
      }
      return { question: question(await hashed(token)), names: { survey: id } };
    }
    if (slots !== "drawn") refuse("collector", "That is no collector.");
    const slot = draw();
    // The key is all that a collector knows a repeat by, and not for ever.
    const names = { survey: id, slot: `${slot}` };
    return { question: question(slot), names, key: crypto.randomUUID(), day: Math.floor(Date.now() / 864e5) };
  };

  return { draw, hashed, question, pick };
};

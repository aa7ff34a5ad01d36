/**
 * The question of every slot, derived from the survey alone, and how slots are drawn.
 *
 * An extra part: a client that is given it compares every question with the survey's own, to the letter,
 * and can take part where no collector assigns slots (`hashed`, `drawn`).
 */

import { sha256, utf8 } from "./canonical.js";
import { below, comb, randomWord, unrank } from "./exact.js";
import { refuse } from "./refused.js";

const product = (numbers) => numbers.reduce((a, b) => a * b, 1n);
const widthOf = (size) => 32 - Math.clz32(size - 1);

// Lists of yes/no questions about one attribute (docs/formats.md)

const IRREDUCIBLE = [3, 7, 11, 19, 37, 67, 131, 283, 529, 1033, 2053, 4179];

/** A product in the field of 2^width elements. */
const multiplied = (width, left, right) => {
  let made = 0;
  for (; right; right >>= 1) {
    if (right & 1) made ^= left;
    left <<= 1;
    if (left >> width) left ^= IRREDUCIBLE[width - 1];
  }
  return made;
};

const isPaley = (order) => {
  for (let i = 2; i < order - 1; i++) if ((order - 1) % i === 0) return false;
  return order % 4 === 0;
};
const isHadamard = (order) => order === 1 || isPaley(order) || (order % 2 === 0 && isHadamard(order / 2));

/** Tell whether a Hadamard matrix has −1 here. */
const isMinus = (order, row, column) => {
  if (!row || !column) return false;
  const half = order / 2;
  if (!isPaley(order)) return isMinus(half, row % half, column % half) !== (row >= half && column >= half);
  for (let i = 1; i < order - 1; i++) if ((i * i - row + column) % (order - 1) === 0) return false;
  return true;
};

/** The sets of so many numbers below an end, in lexicographic order. */
const choices = (first, end, size) =>
  size < 1
    ? [[]]
    : first < end
      ? [...choices(first + 1, end, size - 1).map((rest) => [first, ...rest]), ...choices(first + 1, end, size)]
      : [];

const isOdd = (n) => n && !isOdd(n & (n - 1));

/** How many questions there are about an attribute, and whether a value says yes to one. */
const listing = (size, isBalanced) => {
  if (!isBalanced) return [2 ** widthOf(size) - 1, (question, value) => isOdd(question & value)];
  if (size < 11 && (size % 4 === 1 || size % 4 === 2)) {
    const half = size >> 1;
    const sets = [...choices(1, size, half), ...(size % 2 ? choices(1, size, half + 1) : [])];
    return [sets.length, (question, value) => sets[question - 1].includes(value)];
  }
  let order = size;
  while (!isHadamard(order)) order++;
  return [order - 1, (question, value) => isMinus(order, question, value)];
};

/** The slots of a shape: how many, how they are drawn, and what each asks. */
const readShape = (form, attributes, lists) => {
  const { attributes: size, answer, cell, parities, functionals, sets, weight, weights, among } = form;
  const pool = among ?? attributes.map((_, i) => i);
  const isFramed = !cell && answer.way !== "bitwise";
  // For each parity, the questions that it takes about each attribute, as masks.
  const masks = (parities ?? []).map((bit) => {
    let end = 0;
    return Array.from({ length: size }, (_, place) => {
      const start = end;
      end += functionals?.[place] ?? 1;
      return bit.reduce((mask, i) => (i < start || i >= end ? mask : mask | (1 << (i - start))), 0);
    });
  });
  const radix = (set) =>
    set.map((a, place) => BigInt(isFramed && masks.some((mask) => mask[place]) ? lists[a][0] : 1));
  const slotsOf = (set) => product(radix(set));
  const isListed = sets || (isFramed && pool.some((a) => lists[a][0] > 1));

  /** The sets of attributes as listed, or in colexicographic order. */
  function* everySet() {
    if (sets) return yield* sets;
    const places = pool.slice(0, size).map((_, i) => i);
    while (places.at(-1) < pool.length) {
      yield places.map((i) => pool[i]);
      let i = 0;
      while (places[i] + 1 === places[i + 1]) places[i] = i++;
      places[i]++;
    }
  }

  let slots = 0n;
  if (isListed) for (const set of everySet()) slots += slotsOf(set);
  else slots = comb(BigInt(pool.length), BigInt(size));

  return {
    slots,
    answer,
    lots: weights?.map((each, i) => [each, slotsOf(sets[i])]) ?? (weight ? [[weight, slots]] : []),
    asks(number) {
      let chosen;
      if (isListed) {
        for (chosen of everySet()) {
          const within = slotsOf(chosen);
          if (number < within) break;
          number -= within;
        }
      } else chosen = unrank(number, BigInt(size)).map((i) => pool[i]);
      const held = chosen.map((a) => attributes[a]);
      if (cell) return { cell: held.map(({ name, values }) => ({ attribute: name, values })) };
      const frames = radix(chosen).map((count) => {
        const frame = isListed ? Number(number % count) : 0;
        number /= count;
        return frame + 1;
      });
      return {
        parities: masks.map((mask) =>
          held.flatMap(({ name, values }, i) => {
            const question = multiplied(widthOf(values.length), frames[i], mask[i]);
            const yes = (_, value) => lists[chosen[i]][1](question, value);
            return question ? { attribute: name, values: values.filter(yes) } : [];
          }),
        ),
      };
    },
  };
};

/** Return what a survey's JSON object asks: `question(slot)` and `draw(word)`. */
export const asking = (form, id) => {
  const { attributes } = form.schema;
  const lists = attributes.map(({ values }) => listing(values.length, form.mechanism === "InpES"));
  const shapes = form.shapes.map((shape) => readShape(shape, attributes, lists));
  const lots = shapes.flatMap((shape) => shape.lots);

  /** Draw a slot from words, without looking at any data. */
  const draw = (word = randomWord) => {
    if (!lots[0]) return below(shapes.reduce((sum, { slots }) => sum + slots, 0n), word);
    let drawn = word() >> 32n;
    let start = 0n;
    for (const [weight, slots] of lots) {
      if (drawn < weight) return start + below(slots, word);
      drawn -= BigInt(weight);
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
      let taken = 0;
      const slot = draw(() => stream[taken++] ?? 0n);
      if (taken <= stream.length) return slot;
    }
  };

  return {
    draw,
    hashed,

    /** The question to answer where no collector assigns one, and what a report to it is sent with. */
    async pick(slots, token) {
      if (slots === "hashed") {
        // A slot that is hashed from anything else would be answered in vain.
        if (!/^[\w-]{32}$/.test(token)) {
          refuse("token", "This survey needs the id that you were issued: 32 letters, digits, - and _.");
        }
        return { question: this.question(await hashed(token)), names: { survey: id, id: token } };
      }
      const slot = draw();
      // The key is all that a collector knows a repeat by, and not for ever.
      const names = { survey: id, slot: `${slot}` };
      return { question: this.question(slot), names, key: crypto.randomUUID(), day: Math.floor(Date.now() / 864e5) };
    },

    /** The question of a slot, or nothing if there is no such slot. */
    question(slot) {
      const whole = BigInt(slot);
      let number = whole;
      for (const { slots, answer, asks } of shapes) {
        if (number < slots) return { survey: id, slot: `${whole}`, asks: asks(number), answer };
        number -= slots;
      }
    },
  };
};

/** Question lists: yes/no questions about one attribute (docs/formats.md). */

import { orderOf, sizeOf } from "./order.js";

const IRREDUCIBLE = [3, 7, 11, 19, 37, 67, 131, 283, 529, 1033, 2053, 4179];

/** The bits of the codes of so many values. */
export const widthOf = (size) => 32 - Math.clz32(size - 1);

/** A product in the field of 2^width elements. */
const multiply = (width, left, right) => {
  let product = 0;
  for (; right; right >>= 1) {
    if (right & 1) product ^= left;
    left <<= 1;
    if (left >> width) left ^= IRREDUCIBLE[width - 1];
  }
  return product;
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

/** Parities of the bits of a value's code; an entry's questions are its multiples in a field. */
const codes = (size) => {
  const depth = widthOf(size);
  const count = 2 ** depth - 1;
  return {
    depth,
    count,
    entries: count,
    isParity: true,
    coefficient: (entry, questions, part) => multiply(depth, entry + 1, part),
    saysYes: (coefficient, value) => isOdd(coefficient & value),
  };
};

/** Single questions that half of the values answer with yes. */
const balanced = (size) => {
  const list = (count, saysYes) => ({ depth: 1, count, entries: count, coefficient: (entry, questions, part) => (entry + 1) * part, saysYes });
  if (size < 11 && (size % 4 === 1 || size % 4 === 2)) {
    const half = size >> 1;
    const sets = [...choices(1, size, half), ...(size % 2 ? choices(1, size, half + 1) : [])];
    return list(sets.length, (coefficient, value) => sets[coefficient - 1].includes(value));
  }
  let order = size;
  while (!isHadamard(order)) order++;
  return list(order - 1, (coefficient, value) => isMinus(order, coefficient, value));
};

/** The bits of the code, in one entry. */
const bits = (size) => ({ ...codes(size), entries: 1 });

/**
 * Cuts of ordered levels: one, or three by their middle one and by the outer two. Where missing is declared, a second
 * half of the entries has it past all cuts, the first past none.
 */
const thresholds = (size, attribute) => {
  const { name, missing, unit } = attribute;
  const { levels, point } = orderOf(attribute);
  const most = levels - 1;
  const count = most * (size - most);
  const cutsOf = (entry) => [0, 1, 2].map((j) => 1 + ((entry + Math.floor((j * most) / 3)) % most)).sort((a, b) => a - b);

  /** The cuts of which a value is past just one if it says yes, and whether missing does. */
  const read = (coefficient) => {
    const entry = (coefficient - 1) % count;
    const three = cutsOf(entry);
    return coefficient > count ? [[three[0], three[2]]] : [[1 + (entry % most)], entry >= most];
  };

  return {
    depth: most < 3 ? 1 : 2,
    count,
    entries: count,
    isOrdered: true,
    coefficient: (entry, questions, part) =>
      questions > 1 && part === 1
        ? cutsOf(entry)[1] + most * (entry >= most)
        : part && (part - 1) * count + entry + 1,
    saysYes(coefficient, value) {
      const [cuts, isMissing] = read(coefficient);
      return value > most ? isMissing : cuts.filter((cut) => cut <= value).length % 2;
    },
    range(coefficient) {
      const [cuts, isMissing] = read(coefficient);
      const [above, to] = cuts.map((cut) => point(cut - 1));
      const or = isMissing ? missing : undefined;
      return JSON.parse(JSON.stringify({ attribute: name, above, to, or, unit })); // without what is undefined
    },
  };
};

const LISTS = { codes, bits, balanced, thresholds };

/**
 * The question list of each attribute: numbered `entries`, each of up to `depth` yes/no questions. A sum of some of
 * so many of an entry's questions (`part` is their mask) is a `coefficient`; a value `saysYes` to it, or not. Numbers
 * and days are asked about by a `range`.
 */
export const listsOf = ({ schema, lists }) =>
  schema.attributes.map((attribute, i) => LISTS[lists[i].list](sizeOf(attribute), attribute));

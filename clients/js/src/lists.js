/** Lists of yes/no questions about one attribute (docs/formats.md). */

const IRREDUCIBLE = [3, 7, 11, 19, 37, 67, 131, 283, 529, 1033, 2053, 4179];

/** The bits of the codes of so many values. */
export const widthOf = (size) => 32 - Math.clz32(size - 1);

/** A product in the field of 2^width elements. */
export const multiplied = (width, left, right) => {
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

export const isOdd = (n) => n && !isOdd(n & (n - 1));

/** How many questions there are about an attribute of so many values, and whether a value says yes to one. */
export const listOf = (size, isBalanced) => {
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

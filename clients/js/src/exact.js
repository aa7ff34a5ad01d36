/** Exact numbers and exact randomness: integers only between a random word and what a person sends. */

export const WORD = 1n << 64n;
export const big = BigInt; // a word that a minifier can shorten

/** A uniform 64-bit word from the operating system. */
export const randomWord = () => crypto.getRandomValues(new BigUint64Array(1))[0];

/** A source of many such words, which asks for a thousand at a time; none is left for another answer. */
export const manyWords = () => {
  let words = [];
  return () => {
    if (!words.length) words = [...crypto.getRandomValues(new BigUint64Array(1024))];
    return words.pop();
  };
};

/** A uniform integer below a bound: first the lowest word, masked; too large a draw starts anew. */
export const below = (bound, word) => {
  let bits = 0n;
  while ((bound - 1n) >> bits) bits++;
  for (;;) {
    let number = 0n;
    for (let shift = 0n; shift < bits; shift += 64n) number |= word() << shift;
    number &= (1n << bits) - 1n;
    if (number < bound) return number;
  }
};

/** C(n, k). */
export const comb = (n, k) => {
  let product = k > n ? 0n : 1n;
  if (2n * k > n) k = n - k;
  for (let i = 0n; i < k; ) product = (product * (n - i)) / ++i;
  return product;
};

/** The colexicographic rank of a sorted set. */
export const rank = (members) =>
  members.reduce((sum, member, i) => sum + comb(member, big(i + 1)), 0n);

/** The sorted set of so many members with this rank. */
export const unrank = (number, size) => {
  const members = [];
  for (; size; size--) {
    let low = size - 1n;
    let high = size;
    while (comb(high, size) <= number) high *= 2n;
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (comb(middle, size) <= number) low = middle;
      else high = middle;
    }
    members.unshift(low);
    number -= comb(low, size);
  }
  return members;
};

const SMALLEST = 1074n; // every double is a whole multiple of 2^-1074

/** A positive double times 2^1074, which is a whole number. */
export const whole = (number) => {
  let shift = SMALLEST;
  for (; number % 1; shift--) number *= 2;
  return big(number) << shift;
};

/** Tell whether a ratio [numerator, denominator] is above e^ε, which is rounded down. */
export const exceeds = ([numerator, denominator], epsilon) => {
  const DIGITS = 320n;
  const power = whole(epsilon);
  let term = 1n << DIGITS;
  let sum = 0n;
  // Every term of the series is positive and rounded down, and so is the sum.
  for (let k = 1n; term; k++) {
    sum += term;
    term = (term * power) / (k << SMALLEST);
  }
  return numerator << DIGITS > sum * denominator;
};

/** Ordered attributes: numbers on a grid or at points, days, ordered words; their levels, and what these stand for. */

import { DEFINITION } from "./definition.js";
import { big } from "./exact.js";
import { fits } from "./forms.js";

const MOST_DECIMALS = 15;

export const isDay = (value) => fits(DEFINITION.rules.days.fields.first, value);
const dayNumber = (text) => Date.parse(text) / 864e5;

/** The decimals that a number needs; one too many where the most do not suffice. */
const decimals = (number) => {
  let count = 0;
  while (count <= MOST_DECIMALS && +number.toFixed(count) !== number) count++;
  return count;
};
const isPlain = (number) => decimals(number) <= MOST_DECIMALS && Math.abs(number) < 2 ** 53;

const gridOrder = ({ low, high, step }) => {
  const numbers = [low, step, high].map(Number);
  const most = Math.max(...numbers.slice(0, 2).map(decimals));
  if (!numbers.every((number) => isPlain(number) && decimals(number) <= most)) return { levels: 0 };
  const [first, each, last] = numbers.map((number) => big(number.toFixed(most).replace(".", "")));
  const isWithin = [first, each, last].every((whole) => whole < 2 ** 53 && whole > -(2 ** 53));
  return {
    levels: !isWithin || (last - first) % each ? 0 : Number((last - first) / each) + 1,
    point: (level) => Number(first + each * big(level)) / +`1e${most}`,
    level: (number) => Math.floor((number - low) / step + 0.5),
  };
};

const pointsOrder = (texts) => {
  const points = texts.map(Number);
  return {
    levels: points.every((point, i) => isPlain(point) && !(i && point <= points[i - 1])) ? points.length : 0,
    point: (level) => points[level],
    level: (number) => points.filter((point, i) => i && (points[i - 1] + point) / 2 <= number).length,
  };
};

const daysOrder = ({ first, last, step }) => {
  const [start, end] = [first, last].map(dayNumber);
  return {
    levels: (end - start) % step ? 0 : (end - start) / step + 1,
    point: (level) => new Date((start + level * step) * 864e5).toJSON().slice(0, 10),
    level: (text) => Math.floor((dayNumber(text) - start) / step + 0.5),
  };
};

/**
 * The order of an attribute's values, if they have one: how many `levels` there are (too few if they are not sound), and,
 * but for words, the `point` of a level and the `level` of a number or day, which may be beyond the ends.
 */
export const orderOf = ({ values, ordered, missing, grid, points, days }) =>
  grid
    ? gridOrder(grid)
    : points
      ? pointsOrder(points)
      : days
        ? daysOrder(days)
        : ordered && { levels: values.length - (missing !== undefined) };

/** The number of an attribute's values, the one for missing included. */
export const sizeOf = (attribute) => attribute.values?.length ?? orderOf(attribute).levels + (attribute.missing !== undefined);

/** Tell whether a declared value is a point, such as this one. */
export const isPoint = (value, like) => typeof value === typeof like && (Number.isFinite(value) || isDay(value));

/** The term of a question that a value says yes to if it is past an odd number of cuts. */
export const rangeOf = (attribute, cuts, isMissing) => {
  const { name, missing, unit } = attribute;
  const { point } = orderOf(attribute);
  const [above, to, beyond] = cuts.map((cut) => point(cut - 1));
  return {
    attribute: name,
    above,
    ...(cuts[1] && { to }),
    ...(cuts[2] && { beyond }),
    ...(isMissing && { or: missing }),
    ...(unit && { unit }),
  };
};

/** Tell whether a term of a question is true of a declared value. */
export const holds = ({ values, above, to, beyond, or }, value) =>
  values
    ? values.includes(value)
    : value === (or ?? NaN) || (isPoint(value, above ?? to) && ((!(value <= above) && !(value > to)) || value > beyond));

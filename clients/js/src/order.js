/** Ordered attributes: numbers on a grid or at points, days, ordered words; their levels, and what these stand for. */

import { DEFINITION } from "./definition.js";
import { big } from "./exact.js";
import { fits } from "./forms.js";

const DAY = 864e5; // milliseconds

/** Tell whether a declared value is a point, such as this one. */
export const isPoint = (value, like) =>
  typeof value === typeof like && (Number.isFinite(value) || fits(DEFINITION.rules.days.fields.first, value));

/** The decimals that a number needs: 16 where 15 do not suffice, and from 2^53 on. */
const decimals = (number) => {
  let count = 0;
  while (count < 16 && !(+number.toFixed(count) === number && Math.abs(number) < 2 ** 53)) count++;
  return count;
};

/** Levels at equal steps between whole numbers: `show` makes points of these, `read` numbers of what people give. */
const steps = (ends, [low, step], show, read) => {
  const wholes = ends.map(big);
  const [first, each, last] = wholes;
  const span = last - first;
  const levels = span % each || wholes.some((whole) => whole ** 2n >> 106n) ? 0 : Number(span / each) + 1;
  return {
    levels,
    point: (level) => show(Number(first + each * big(level))),
    level: (value) => Math.min(Math.max(Math.floor((read(value) - low) / step + 0.5), 0), levels - 1),
  };
};

const gridOrder = ({ low, step, high }) => {
  const numbers = [low, step, high].map(Number);
  const most = Math.max(decimals(+low), decimals(+step));
  return most < 16 && decimals(+high) <= most
    ? steps(numbers.map((number) => number.toFixed(most).replace(".", "")), numbers, (whole) => whole / +`1e${most}`, Number)
    : {};
};

const pointsOrder = (texts) => {
  const points = texts.map(Number);
  return {
    levels: points.every((point, i) => decimals(point) < 16 && !(point <= points[i - 1])) && points.length,
    point: (level) => points[level],
    level: (number) => points.filter((point, i) => (points[i - 1] + point) / 2 <= number).length,
  };
};

const daysOrder = ({ first, step, last }) => {
  const dayOf = (text) => Date.parse(text) / DAY;
  const ends = [dayOf(first), step, dayOf(last)];
  return steps(ends, ends, (day) => new Date(day * DAY).toJSON().slice(0, 10), dayOf);
};

/**
 * The order of an attribute's values, if they have one: how many `levels` there are (none if they are not sound), and,
 * but for words, the `point` of a level and the `level` of a number or day.
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

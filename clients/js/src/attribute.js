/** One attribute: whether it is soundly declared, and the declared value that a person's value stands for. */

import { canonical } from "./canonical.js";
import { edgeText } from "./forms.js";
import { isPoint, orderOf } from "./order.js";
import { refuse } from "./refused.js";

const isDistinct = (values) => new Set(values).size === values.length;
const rises = (numbers) => numbers.every((number, i) => !i || number > numbers[i - 1]);

/** The names of the buckets between edges. */
const buckets = (edges) => {
  const names = edges.map((edge) => edgeText(+edge));
  return [
    `below ${names[0]}`,
    ...names.slice(1).map((name, i) => `${names[i]} to ${name}`),
    `${names.at(-1)} or more`,
  ];
};

const isCategory = ({ values, missing, other, edges }) => {
  const extras = [missing, other].filter((extra, i, both) => extra !== undefined && both.indexOf(extra) === i);
  const names = edges ? buckets(edges) : values;
  const all = [...names, ...extras.filter((extra) => !names.includes(extra))];
  return (
    canonical(all) === canonical(values) &&
    isDistinct(values.map(String)) &&
    isDistinct(values.map((value) => (value === !!value ? +value : value))) &&
    (!edges || rises(edges.map(Number)))
  );
};

const isOrdered = ({ values, missing, other, edges = [], points }, { levels, point, level }) =>
  levels > 1 &&
  levels + (missing !== undefined) < 4097 &&
  (other ?? missing) === missing &&
  (values
    ? (missing ?? values.at(-1)) === values.at(-1)
    : !isPoint(missing, point(0)) &&
      rises([point(0), ...edges.map(Number)]) &&
      (points
        ? new Set([...points, ...edges]).size === levels // long lists take no longer than that
        : edges.every((edge) => point(level(edge)) === +edge)));

/** Tell whether an attribute, whose fields are checked, makes sense: each value is one, and stand-ins are values. */
export const isAttribute = (attribute) => {
  const { values, edges, unit, grid, points } = attribute;
  const order = orderOf(attribute);
  return (
    (grid || points || !(unit || (order && edges))) &&
    (!order || isOrdered(attribute, order)) &&
    (!values || isCategory(attribute))
  );
};

/** The declared value that a person's value stands for; an error never repeats it. */
export const declaredValue = (attribute, value) => {
  const { name, values, missing, other, edges, days, strict } = attribute;
  const lacks = (why) => refuse("record", `${canonical(name)} ${why}.`);
  if (value == null || value !== value) return missing ?? lacks("is missing");
  if (!values) {
    const { levels, point, level } = orderOf(attribute);
    const [low, high] = [point(0), point(levels - 1)];
    const isOne = isPoint(value, low) && !(strict && (value < low || value > high));
    const range = strict ? ` from ${low} to ${high}` : "";
    return isOne ? point(level(value)) : other ?? lacks(`must be a ${days ? "day" : "finite number"}${range}`);
  }
  if (edges) {
    return typeof value === "number"
      ? values[edges.filter((edge) => +edge <= value).length]
      : other ?? lacks("must be a number");
  }
  return values.includes(value) ? value : other ?? lacks("has no such value");
};

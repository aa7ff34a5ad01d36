/** One attribute: whether it is soundly declared, and the declared value that a person's value stands for. */

import { canonical } from "./canonical.js";
import { edgeText } from "./forms.js";
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

/** Tell whether an attribute, whose fields are checked, makes sense: each value is one, and stand-ins are values. */
export const isAttribute = ({ values, missing, other, edges }) => {
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

/** The declared value that a person's value stands for; an error never repeats it. */
export const declaredValue = ({ name, values, missing, other, edges }, value) => {
  const lacks = (why) => refuse("record", `${canonical(name)} ${why}.`);
  if (value == null || value !== value) return missing ?? lacks("is missing");
  if (edges) {
    return typeof value === "number"
      ? values[edges.filter((edge) => +edge <= value).length]
      : other ?? lacks("must be a number");
  }
  return values.includes(value) ? value : other ?? lacks("has no such value");
};

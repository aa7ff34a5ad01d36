/** Messages: a subset of ICU's format, `{name}` and `{name, plural, one {…} other {…}}`, the same as in Python. */

/** The parts of a message up to a closing brace, and where that is: texts, and [name, forms] of placeholders. */
const read = (text, start) => {
  const parts = [];
  for (let at = start; ; at++) {
    if (at < text.length && text[at] !== "{" && text[at] !== "}") continue;
    parts.push(text.slice(start, at));
    if (text[at] !== "{") return [parts, at];
    const [head, name, isPlural] = /^\{(\w+)(, plural,)?/.exec(text.slice(at));
    at += head.length;
    const forms = {};
    for (let form; isPlural && (form = /^ *(\w+) *\{/.exec(text.slice(at))); at++) {
      [forms[form[1]], at] = read(text, at + form[0].length);
    }
    parts.push([name, isPlural && forms]);
    start = at + 1;
  }
};

/** A message's parts with its arguments: `show` makes a part of a number, `category` tells which form it takes. */
export const fill = (message, args, show, category) => {
  const put = (parts) =>
    parts.flatMap((part) => {
      if (!Array.isArray(part)) return part;
      const [name, forms] = part;
      const value = args[name];
      return forms ? put(forms[category(value)] ?? forms.other) : typeof value === "number" ? show(value) : value;
    });
  return put(read(message, 0)[0]);
};

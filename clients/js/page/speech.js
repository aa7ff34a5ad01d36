/** The page's language: which one, its catalogue, and texts as nodes. Text is always text, never markup. */

import { collector, make } from "../../../src/deniable/server/pages/dom.js";
import { baseOf, languageOf } from "../src/language.js";
import { legible } from "../src/legible.js";
import { within } from "../src/words.js";

/** What is said in each language, English first: all of them at once, so that no request tells which is read. */
let catalogues;

export const loadCatalogues = async () => {
  const response = await fetch(`${collector}/static/languages.json`, { credentials: "omit", referrerPolicy: "no-referrer" });
  if (!response.ok) throw Error();
  catalogues = await response.json();
  return Object.keys(catalogues);
};

/** The language now; `find` looks for words of the survey in it. */
export let language;
let catalogueTag;

/** The first of the languages that somebody wants which is offered, or a variety of one; else the first offered. */
const chosen = (wanted, offered) => {
  for (const tag of wanted) {
    const own = offered.find((each) => each.toLowerCase() === tag.toLowerCase()) ?? offered.find((each) => baseOf(each) === baseOf(tag));
    if (own) return own;
  }
  return offered[0];
};

/** The language that somebody chose, or that the address asks for. */
export const asked = () => history.state?.language ?? new URLSearchParams(location.search).get("language");

/** The language to speak, of those that are offered: the one that is asked for, else as the browser's owner prefers. */
export const preferred = (offered) => chosen([asked() ?? [], navigator.languages].flat(), offered);

/** Speak a language from now on. One without a catalogue is that of the survey's texts alone. */
export const speak = (tag) => {
  catalogueTag = chosen([tag], Object.keys(catalogues));
  const catalogue = catalogues[catalogueTag];
  language = languageOf(tag, catalogue, catalogue.reserve);
  Object.assign(document.documentElement, { lang: catalogueTag, dir: catalogue.direction });
};

export const say = (name, args) => language.say(name, args);

/** A language's own name. */
export const nameOf = (tag) => {
  try {
    const name = new Intl.DisplayNames([tag], { type: "language" }).of(tag);
    return name[0].toLocaleUpperCase(tag) + name.slice(1);
  } catch {
    return tag;
  }
};

/** The mark behind what is not translated: the language that it is in. */
const mark = (tag) => [" ", make("abbr", { class: "foreign", title: say("foreign") }, `[${tag}]`)];

/** What a language says, as nodes. */
export const nodesOf = (parts) =>
  parts.flatMap((part) => (part.tag ? [make("span", { lang: part.tag }, nodesOf(part.parts)), ...mark(part.tag)] : part));

/** The language of a text, where it is not the page's. */
const langOf = ({ tag = language.tag }) => (baseOf(tag) === baseOf(catalogueTag) ? undefined : tag);

/** A text of the survey's, or a name in it, within a line. */
export const said = (own) => [
  make("bdi", { lang: langOf(own) }, /\n/.test(own.text) ? own.text : legible(own.text)),
  ...(own.tag ? mark(own.tag) : []),
];

/** A text of the survey's as parts of a sentence: in quotes where one would not see where it ends. */
export const quoted = (own) => within(own, language, /[.,;:!?؟،؛]/.test(own.text) && "quote");

/** A text of the survey's in paragraphs; nothing if there is none. */
export const prose = (own) =>
  (own?.text ?? "").split(/\n\s*\n/).filter(Boolean).map((text, at, all) =>
    make("p", { class: "prose", lang: langOf(own), dir: "auto" }, text, own.tag && at === all.length - 1 && mark(own.tag)));

const percent = (share) => language.percent(share);

/** A bound on a share, rounded up as in the report. */
export const atMost = (share) => percent(Math.ceil(1000 * share) / 10);
export const half = () => percent(50);

/** An ε in three digits, rounded up. */
export const threeDigits = (epsilon) => language.number(Number(epsilon.toPrecision(3)));

/** A period in words, from its first day and the day before which it ends. */
export const span = ([first, end], one, several) => {
  const last = new Date(Date.parse(end) - 864e5).toJSON().slice(0, 10);
  const [from, to] = [first, last].map(language.day);
  return first === last ? (one ? say(one, { day: from }) : from) : say(several, { first: from, last: to });
};
export const when = (period) => span(period, "when.day", "when.span");

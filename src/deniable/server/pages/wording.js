/** The survey's own words: short names that open what was asked, labels of values, a choice of languages. */

import { at, make } from "./dom.js";

let own = null; // what the collector says of words, if the survey has some

/** A text that says in which language it is. */
const said = ({ text, language, direction }, tag = "span") => make(tag, { lang: language, dir: direction }, text);

const cardOf = (name) => own?.attributes.findIndex((one) => one.name === name) ?? -1;

/** A short name, which opens what was asked; only the name where nobody worded it. */
export const named = (name, content = name) => {
  const place = cardOf(name);
  return place < 0 ? content : make("button", { type: "button", class: "word", popovertarget: `word-${place}` }, content);
};

/** A value as tables say it, with the language of its label. */
export const labelled = (name, text, content = text) => {
  const phrase = own?.attributes[cardOf(name)]?.values.find(({ label }) => label.text === text)?.label;
  return phrase ? make("span", { lang: phrase.language, dir: phrase.direction }, content) : content;
};

/** What is said on demand of an attribute. */
const card = ({ name, wording, help, values, more }, place) =>
  make("div", { popover: true, class: "card", id: `word-${place}`, role: "dialog", "aria-label": name },
    make("p", { class: "kicker" }, name),
    wording ? said(wording, "p") : "",
    help ? make("p", { class: "small" }, said(help)) : "",
    values.length
      ? make("ul", { class: "small" }, values.map(({ value, label }) =>
          make("li", {}, said(label), label.text === value ? "" : make("span", { class: "soft" }, ` (${value})`))))
      : "",
    more ? make("p", { class: "small soft" }, `and ${more} more`) : "",
    make("button", { type: "button", popovertarget: `word-${place}`, popovertargetaction: "hide", autofocus: true }, "Close"));

/** Take in the words of the survey that is shown: its title, its cards, the languages that there are. */
export const learn = (wording) => {
  const isSame = JSON.stringify(wording) === JSON.stringify(own);
  own = wording;
  if (isSame) return;
  at("#title").hidden = !own;
  at("#title").replaceChildren(own ? said(own.title) : "");
  at("#cards").replaceChildren(...(own?.attributes ?? []).map(card));
  at("#language").hidden = (own?.languages.length ?? 0) < 2;
  at("#language select").replaceChildren(...(own?.languages ?? []).map(({ tag, name }) =>
    make("option", { value: tag, lang: tag, selected: tag === own.language }, name)));
};

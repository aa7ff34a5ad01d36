/** The questionnaire's texts, in the language that is being written; and names that follow from words. */

import { state } from "./parts.js";

export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", es: "Español", ar: "العربية" };

export const languages = () => (Array.isArray(state.form?.languages) && state.form.languages.length ? state.form.languages : ["en"]);

export const languageName = (code) => LANGUAGES[code] ?? code;

const byLanguage = (text) => (typeof text === "object" && text ? { ...text } : text === undefined ? {} : { [languages()[0]]: text });

/** A text in a language. */
export const words = (holder, name, language = state.language) => byLanguage(holder?.[name])[language] ?? "";

/** A text in the default language, or any other. */
export const anyWords = (holder, name) => words(holder, name, languages()[0]) || Object.values(byLanguage(holder?.[name]))[0] || "";

/** Change a text in the language that is being written; an empty one is left out. */
export const setWords = (holder, name, text) => {
  const all = byLanguage(holder[name]);
  if (text.trim()) all[state.language] = text;
  else delete all[state.language];
  const names = Object.keys(all);
  if (!names.length) delete holder[name];
  else holder[name] = languages().length === 1 && names[0] === languages()[0] ? all[names[0]] : all;
};

/** All texts of a questionnaire: each with what holds it. */
export const allTexts = (form) => {
  const survey = ["title", "introduction", "who", "contact", "consent", "thanks", "closed"].map((name) => [form, name]);
  const pages = (form.pages ?? []).flatMap((page) => [[page, "title"], [page, "introduction"]]);
  const asked = [...(form.attributes ?? []), ...(form.labels ?? [])].flatMap((each) => [
    ...["wording", "help", "unit", "label_missing"].map((name) => [each, name]),
    ...(each.values ?? []).filter((value) => typeof value === "object").map((value) => [value, "label"]),
  ]);
  return [...survey, ...pages, ...asked].filter(([holder, name]) => holder[name] !== undefined);
};

/** Go over to other languages, the first of which is the default: texts go along, and lost ones are dropped. */
export const setLanguages = (list) => {
  for (const [holder, name] of allTexts(state.form)) {
    const all = byLanguage(holder[name]);
    for (const language of Object.keys(all)) if (!list.includes(language)) delete all[language];
    if (Object.keys(all).length) holder[name] = all;
    else delete holder[name];
  }
  state.form.languages = list;
  if (!list.includes(state.language)) [state.language] = list;
};

const LETTERS = { ä: "ae", ö: "oe", ü: "ue", ß: "ss", æ: "ae", ø: "o" };
const SMALL = new Set("a an and are at be been by der die das den dem do does for hat haben has have how i ich ihr ihre ihren im in ist is it la le les los manchmal of on or que s sie sind the to und un una une was were what wie with you your zu".split(" "));

/** Say that what is written in the only language is in another one. */
export const renameLanguage = (code) => {
  const [earlier] = languages();
  for (const [holder, name] of allTexts(state.form)) {
    if (typeof holder[name] === "object") holder[name] = holder[name][earlier];
  }
  state.form.languages = [code];
  state.language = code;
};

/** A short name that nothing else has, of the first words that say something. */
export const shortName = (text, others, fallback) => {
  const plain = text.toLowerCase().replace(/[äöüßæø]/g, (letter) => LETTERS[letter]).normalize("NFD").replace(/[^a-z0-9]+/g, " ").trim().split(" ");
  const telling = plain.filter((word) => word && !SMALL.has(word));
  const base = (telling.length ? telling : plain).slice(0, 2).join("_").slice(0, 24) || fallback;
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}_${number}`;
    if (!others.includes(name)) return name;
  }
};

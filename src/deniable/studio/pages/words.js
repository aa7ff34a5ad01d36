/** The questionnaire's texts, in the language that is being written; and names that follow from words. */

import { state } from "./parts.js";

export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", es: "Español", ar: "العربية" };

export const languages = () => (Array.isArray(state.form?.languages) && state.form.languages.length ? state.form.languages : ["en"]);

/** A language's name in itself, as far as the browser knows it. */
export const languageName = (code) => {
  if (LANGUAGES[code]) return LANGUAGES[code];
  try {
    return new Intl.DisplayNames([code], { type: "language" }).of(code);
  } catch {
    return code; // not a language yet, while somebody types it
  }
};

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
/** Words that say nothing of a question, also those of time: many questions begin with "in the last 12 months". */
const SMALL = new Set(
  ("a about am an and any are as at be been by can did do does during ever for from had has have how i if in is it last many month months much of often on or past s than that the there they this to was week weeks were what when where which who with year years you your " +
    "am als an auf aus bei bisher das dass dem den der des die durch ein eine einem einen einer einmal es fuer haben hat hatten ich ihr ihre ihrem ihren im in ist jahr jahre jahren je jemals letzten mal man manchmal mehr mit monat monate monaten nach oder oft ohne schon sich sie sind tage tagen ueber um und uns vergangenen viel viele von waehrend war waren was welche wenn wie wieder wird wo woche wochen wurden zu zum zur " +
    "au aux avez ce cette combien cours d dans de derniers des douze du en est et etes l la le les mois ou par pour quel quelle qu que qui semaine semaines sur un une vous votre vos annee annees " +
    "al alguna anos ano con cuanto cuantos de del dias el en es esta ha han la las los meses mes o para por que semana semanas se su sus ultimos un una usted y").split(" "),
);

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
  const telling = plain.filter((word) => /[a-z]/.test(word) && !SMALL.has(word));
  const base = (telling.length ? telling : plain).slice(0, 2).join("_").slice(0, 24) || fallback;
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}_${number}`;
    if (!others.includes(name)) return name;
  }
};

/** What is said in each language: the vectors that Python and JavaScript share. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { explain } from "../src/explain.js";
import { languageOf, textOf } from "../src/language.js";
import { fill } from "../src/messages.js";
import { compose, linesOf, wordings } from "../src/words.js";

const read = (path) => JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8"));
const catalogue = (tag) => read(`src/deniable/languages/catalogues/${tag}.json`);
const { languages, surveys } = read("tests/vectors/languages.json");
const own = new Map(languages.map(({ language: tag }) => [tag, languageOf(tag, catalogue(tag), catalogue("en"))]));

test("numbers, days, lists and messages are written alike", () => {
  for (const { language: tag, numbers, percents, days, lists, isolated, messages } of languages) {
    const language = own.get(tag);
    for (const [number, text] of numbers) assert.equal(language.number(number), text, `${tag} ${number}`);
    for (const [number, text] of percents) assert.equal(language.percent(number), text);
    for (const [day, text] of days) assert.equal(language.day(day), text);
    for (const [texts, all, any] of lists) {
      assert.equal(textOf(language.listing(texts)), all);
      assert.equal(textOf(language.listing(texts, "disjunction")), any);
    }
    for (const [name, text] of isolated) assert.equal(language.isolate(name), text);
    const rules = new Intl.PluralRules(catalogue(tag).locale);
    for (const [text, args, said] of messages) {
      assert.equal(textOf(fill(text, args, language.number, (number) => rules.select(number))), said, `${tag} ${text}`);
    }
  }
});

test("questions are said alike, in the words of a survey and without any", () => {
  for (const { attributes, questions, texts } of surveys) {
    for (const { question, words } of questions) {
      for (const [tag, text] of Object.entries(words)) {
        const language = own.get(tag);
        assert.equal(linesOf(compose(question, language, wordings(attributes, language, texts)), language).join("\n"), text);
      }
    }
  }
});

test("a question is explained in English, and in another language", () => {
  const { questions } = surveys.at(-1);
  assert.ok(questions.length > 40);
  for (const { question, words } of questions) {
    assert.equal(explain(question).text, words.en);
    assert.equal(explain(question, undefined, own.get("de")).text, words.de);
  }
  const { question } = questions.find(({ question: { asks } }) => asks.cell?.[1]);
  const { answers, reported } = explain(question, { value: "3" });
  assert.equal(answers[3], "sm,okes – yes and mixed – 7");
  assert.deepEqual(reported, [answers[3]]);
});

test("what a catalogue lacks is said in English, and marked", () => {
  const { locale, direction } = catalogue("ar");
  const language = languageOf("ar", { locale, direction, messages: {} }, catalogue("en"));
  assert.equal(language.say("page", { n: 1, all: 2 }), "\u2068Page 1 of 2\u2069 [en]");
  assert.deepEqual(language.parts("yes"), [{ parts: ["\u2068", "yes", "\u2069"], tag: "en" }]);
  assert.equal(language.has("no such message"), false);
});

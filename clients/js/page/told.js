/** A question, its possible answers, and what was reported, as nodes. */

import { make } from "../../../src/deniable/server/pages/dom.js";
import { answerWords, compose } from "../src/words.js";
import { language, nodesOf, say } from "./speech.js";

const MOST_LISTED = 12; // answers that are seen at once
const MOST = 256; // that are listed at all
const BITS = [0, 1, 2, 3, 4, 5, 6, 7];

const nodes = ({ lead, items = [], questions = [], odds }) => [
  make("p", {}, lead),
  items.length && make("ul", {}, items.map(([name, says]) => make("li", {}, nodesOf(language.parts("item", { name, says: [make("b", {}, nodesOf(says))] }))))),
  questions.length && make("ol", {}, questions.map((each) => make("li", {}, nodes(each)))),
  odds && make("p", { class: "odds" }, odds),
].filter(Boolean);

/** A question in words. */
export const questionNodes = (question, spoken) => nodes(compose(question, language, spoken));

/** An answer in words, or as briefly as where the question stands above. */
const answer = (question, spoken, isBrief) => (symbol) => nodesOf(answerWords(question, BigInt(symbol), language, spoken, isBrief));

/** A lead and a list, which is folded if it is long. */
const listed = (lead, rows, name) => {
  const list = make("ul", { class: name }, rows.map((row) => make("li", {}, row)));
  return rows.length > MOST_LISTED ? make("details", {}, make("summary", {}, lead), list) : [make("p", {}, lead), list];
};

/** The possible answers to a question. */
export const possibleNodes = (question, spoken, { symbols }) => {
  if (symbols > MOST) return [make("p", {}, say("possible.many"))];
  const n = Number(symbols);
  const rows = [...Array(n).keys()].map(answer(question, spoken, true));
  return [listed(n === 2 ? say("possible.two") : say("possible", { n }), rows, "answers")].flat();
};

/** The answers to which a report of a noisy yes or no to each says yes. */
const positionsOf = ({ value, packed }) =>
  packed
    ? [...atob(packed)].flatMap((letter, at) => BITS.filter((bit) => (letter.charCodeAt() >> bit) & 1).map((bit) => 8 * at + bit))
    : [...BigInt(value).toString(2)].reverse().flatMap((bit, index) => (bit === "1" ? [index] : []));

/** What one report says. */
export const reportNodes = (question, spoken, report, { reported }) => {
  const symbols = reported ?? positionsOf(report);
  const n = symbols.length;
  if (!n) return [say("said.none")];
  const rows = n > MOST ? [] : symbols.map(answer(question, spoken));
  if (reported) return n > 1 ? [listed(say("said.some"), rows)].flat() : rows[0];
  return [listed(say("said.yes", { n }), rows)].flat();
};

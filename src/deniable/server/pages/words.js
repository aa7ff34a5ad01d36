/** What the participant's page says: numbers, values, refusals and answers in plain words. */

/** A bound on a share, rounded up as in the report. */
export const atMost = (share) => `${(Math.ceil(1000 * share) / 10).toFixed(1)}\u00a0%`;

/** How sure a 50 % suspicion can become at an ε. */
export const suspicion = (epsilon) => atMost(1 / (1 + Math.exp(-epsilon)));

export const spoken = (value) =>
  value === true ? "Yes" : value === false ? "No" : `${value}`.trim() ? `${value}` : `“${value}”`;

/** The same within a sentence. */
export const valueText = (value) => (typeof value === "boolean" ? spoken(value).toLowerCase() : spoken(value));

export const shorten = (text) => (text.length > 20 ? `${text.slice(0, 8)}…${text.slice(-8)}` : text);

export const inWords = (names) =>
  names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : `${names[0]}`;

/** A number as the client writes it in a question. */
export const grouped = (number) => number.toLocaleString("en", { maximumFractionDigits: 15 });

/** A day in words, as UTC has it, which is not broken into lines. */
export const day = (date, ...without) => {
  const format = { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" };
  for (const part of without) delete format[part];
  return new Date(date).toLocaleDateString("en-GB", format).replaceAll(" ", "\u00a0");
};

/** A period in words, from its first day and the day before which it ends; nothing is said twice. */
export const span = ([first, end]) => {
  const last = new Date(Date.parse(end) - 864e5).toJSON().slice(0, 10);
  const isShared = (letters) => first.slice(0, letters) === last.slice(0, letters);
  if (isShared(10)) return day(first);
  return `${day(first, ...(isShared(7) ? ["month", "year"] : isShared(4) ? ["year"] : []))} to ${day(last)}`;
};

/** When a device answers. */
export const when = (period) => `${span(period).includes(" to ") ? "from" : "on"} ${span(period)} (in UTC)`;

/** What to say outside a period: when to come back, or that it is too late. */
export const turn = (period, now) =>
  now < period[0]
    ? [`Not yet: come back on ${day(period[0])}`, `Your device answers ${when(period)}. Please open this page again then, in this browser, and keep this site’s data until then: your lot is kept there.`]
    : ["Your device’s turn is over", `Your device was to answer ${when(period)}, and in no other period.`];

const NOTHING = "Nothing was drawn or sent.";

const REFUSALS = {
  survey: `The collector has another survey than the one that this address names, or one that makes no sense, so this browser refuses it. ${NOTHING}`,
  "survey-unknown": `This collector does not hold the survey that this address names. ${NOTHING}`,
  address: `The address names no survey: an id has 64 digits and letters from a to f. Ask whoever invited you for the link. ${NOTHING}`,
  observed: `The values of this survey were learned from data, which leaks; it is for simulation only, so this browser refuses it. ${NOTHING}`,
  epsilon: `The question would tell more about you than this browser allows (its ε is above your limit of 2, or above what the survey states), so it is refused. ${NOTHING}`,
  attributes: `The question touches more of your record than the survey says, so this browser refuses it. ${NOTHING}`,
  foreign: `The collector asked a question of another survey, so this browser refuses it. ${NOTHING}`,
  question: `The collector asked a question that is none of this survey’s, so this browser refuses it. ${NOTHING}`,
  lifetime: `Your answers to all surveys of this site together would tell more about you than this browser’s lifetime limit (ε = 6) allows, so this one is refused. ${NOTHING}`,
  over: `The period in which your device was to answer is over. ${NOTHING}`,
  early: `The period in which your device answers has not begun. ${NOTHING}`,
  "label-unknown": "The collector does not take what is sent beside your answer, so it was not counted. Ask whoever runs the survey.",
  answered: "Your answer to this survey is counted already. Everybody counts once, so nothing was drawn or sent now.",
  "participant-unknown": `No such participant id was issued. Check it against your invitation. ${NOTHING}`,
  conflict: "Another answer of this participant is counted already, perhaps from another device. That one stays; this browser’s was not counted.",
  "ticket-invalid": "The collector no longer knows the ticket that it gave, so the answer was not counted. Ask whoever runs the survey.",
  slot: "The collector’s new ticket is for another question. A second answer would tell more about you, so none is given.",
  late: "Your answer was drawn too long ago to be sent: if an earlier try arrived, it would count twice. Nothing was sent now.",
  collector: "What answered is not the collector (the login page of a network, perhaps). Your answer is kept in this browser, and is sent when you open this page again.",
  insecure: `This page was not loaded over a secure connection (https), where a browser gives no safe randomness. ${NOTHING}`,
  ledger: `This browser keeps no storage for this page (a private window, perhaps), so it could not remember that it answered. It refuses to answer without. ${NOTHING}`,
};

/** A refusal or failure as one or two sentences. */
export const refusal = (error) =>
  Object.hasOwn(REFUSALS, error.reason)
    ? REFUSALS[error.reason]
    : error.reason ? `This cannot go on: ${error.message}` : "This page made a mistake and stopped. Please load it again.";

const isTruth = (values) => values?.length === 2 && values.every((value) => typeof value === "boolean");

/** A question with yes and no instead of true and false, as in the form; what is true stays a plain fact. */
const humane = (question, attributes) => {
  const truths = new Set(attributes.filter(({ values }) => isTruth(values)).map(({ name }) => name));
  const term = (isFact) => (own) => {
    const { attribute, values } = own;
    return !truths.has(attribute) || (isFact && values.length < 2 && values[0]) ? own : { attribute, values: values.map(valueText) };
  };
  const { cell, parities } = question.asks;
  const asks = cell ? { cell: cell.map(term(false)) } : { parities: parities.map((bit) => bit.map(term(true))) };
  return { ...question, asks };
};

/** The client's explanation of a question, and `lines`: its text, or several questions one by one, then the odds. */
export const explain = (client, question, attributes, report) => {
  const own = humane(question, attributes);
  const explanation = client.explain(own, report);
  const { parities } = own.asks;
  const isOne = !parities || parities.length < 2;
  if (isOne || parities.every((bit) => bit.length < 2 && bit[0].values?.[0] === true)) return { ...explanation, lines: [explanation.text] };
  const textOf = (bit) => client.explain({ ...own, asks: { parities: [bit] } }).text;
  // The odds are the same sentence after every question, and this one's words are known.
  const odds = textOf([{ attribute: "it", values: [true] }]).replace("Is it true for you: it?", "");
  return { ...explanation, lines: [`${parities.length} questions at once:`, ...parities.map((bit) => textOf(bit).slice(0, -odds.length)), odds.trim()] };
};

/** What one report says, as lines of words, given its explanation. */
export const reportLines = (question, report, { answers, reported: phrases }) => {
  if (question.answer.way !== "unary") {
    return phrases.length > 1 ? ["one of these:", ...phrases] : phrases;
  }
  const bits = report.packed
    ? [...atob(report.packed)].map((letter) => letter.charCodeAt()).reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n)
    : BigInt(report.value);
  const positions = [...bits.toString(2)].reverse().flatMap((bit, index) => (bit === "1" ? [index] : []));
  if (!positions.length) return ["no to every possible answer"];
  return ["yes to:", ...positions.map((index) => answers[index] ?? `answer ${index + 1}`)];
};

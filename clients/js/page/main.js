/**
 * The participant's page: fill in, see the question, agree, and only then draw and send.
 *
 * Nothing after the draw depends on what was drawn: the same steps and the same requests follow whatever
 * the value is, it is shown only once it is counted, and there is nothing to cancel.
 */

import { at, collector, make } from "../../../src/deniable/server/pages/dom.js";
import { Client } from "../src/client.js";
import { browserLedger } from "../src/ledger.js";
import { memoryLedger } from "../src/memory.js";
import { lawOf } from "../src/question.js";
import { refuse } from "../src/refused.js";
import { within, wordings, wordsIn } from "../src/words.js";
import { formOf } from "./form.js";
import { asked, atMost, half, language, loadCatalogues, nameOf, nodesOf, preferred, prose, quoted, said, say, span, speak, threeDigits, when } from "./speech.js";
import { possibleNodes, questionNodes, reportNodes } from "./told.js";

const LIMIT = 2;
const LIFETIME = 6;
const SLOW = 4000; // milliseconds until the page says that it still waits
const FIRST = 3; // names that tell a survey from others
const MOST_NAMED = 6; // of what is open

/** Where nothing is counted, as in the studio, nothing is kept. */
const ledger = "rehearsal" in document.documentElement.dataset ? memoryLedger() : browserLedger();
const all = (selector) => document.querySelectorAll(selector);
const status = at("#status");
const problem = at("#problem");
const query = new URLSearchParams(location.search);
const link = new URLSearchParams(location.hash.slice(1));
const linkToken = link.get("token")?.trim();
const ownToken = linkToken ?? history.state?.token; // the latter after loading the page again

// What the page shows; each step is painted from it, again whenever the language changes.
let client, surveyInfo, period, texts, offered, find, spoken, labelsSpoken, fields, labelFields, record, labels;
let step, again, another, rows, subjects, question, spentBefore, entry, total, retell;

/** Show one step only, in words. */
const show = (next) => {
  step = next;
  for (const part of all("[data-on]")) part.hidden = !part.dataset.on.split(" ").includes(step);
  const steps = [...all("[data-step]")];
  const now = steps.findIndex((one) => one.dataset.step === step);
  steps.forEach((one, index) => {
    one.classList.toggle("done", index < now);
    if (index === now) one.setAttribute("aria-current", "step");
    else one.removeAttribute("aria-current");
  });
  status.textContent = "";
  problem.hidden = true;
  paint();
};

for (const section of all("section")) section.setAttribute("aria-labelledby", `${section.id}-head`);

const goTo = (heading) => {
  at(heading).focus({ preventScroll: true });
  at(heading).closest("section").scrollIntoView({ block: "start" });
};

/** Say what is wrong, which `sentence` puts into words; `retry` is what may be tried again. */
const tell = (sentence, retry) => {
  retell = () => (at("p", problem).textContent = sentence());
  retell();
  const button = at("button", problem);
  button.hidden = !retry;
  button.onclick = retry;
  problem.hidden = false;
  status.textContent = at("#sending").textContent = "";
  problem.focus({ preventScroll: true });
  problem.scrollIntoView({ block: "center" });
};

/** A refusal or failure in words. */
const refusal = ({ reason }) =>
  !reason
    ? say("sorry.page")
    : language.has(`no.${reason}`)
      ? `${say(`no.${reason}`, { limit: LIMIT, lifetime: LIFETIME })} ${say("nothing")}`
      : language.has(`sorry.${reason}`) ? say(`sorry.${reason}`) : say("sorry.other", { reason });

/** The steps that say by themselves why there is no other. */
const STEPS = { __proto__: null, "survey-closed": "closed", predecessor: "before", another: "somebody", framed: "framed" };

const fail = (error, retry, away = "sorry.unavailable") => {
  if (error.reason === "unavailable") return tell(() => say(away), retry);
  wipe(); // the form is left, and who comes next may be another person
  if (error.reason === "answered") dropToken();
  show(STEPS[error.reason]);
  return step || tell(() => refusal(error));
};

/** Wait for something, and say so if it takes long. */
const waiting = async (element, message, work) => {
  element.textContent = say(message);
  const slow = setTimeout(() => (element.textContent = say("waiting")), SLOW);
  try {
    return await work;
  } finally {
    clearTimeout(slow);
    element.textContent = "";
  }
};

// The language

/** Texts of the survey in the page's language, found by what they are. */
const ofSurvey = (name) => find?.(({ survey }) => survey?.[name]);

/** Words for what the survey declares. */
const word = () => {
  if (!surveyInfo) return;
  const { schema, labels: specs = [] } = surveyInfo.form;
  find = wordsIn(texts?.form, language.tag);
  spoken = wordings(schema.attributes, language, texts?.form);
  labelsSpoken = specs.map(({ name, values }, at) => ({
    text: find(({ survey }) => survey?.labels?.[at]?.wording) ?? { text: name },
    label: (value) => find(({ survey }) => survey?.labels?.[at]?.values?.[values.indexOf(value)]) ?? { text: value },
  }));
};

/** Say everything that is seen in the language. */
const paint = () => {
  word();
  for (const element of all("[data-say]")) element.replaceChildren(...nodesOf(language.parts(element.dataset.say)));
  const title = ofSurvey("title");
  at("h1").replaceChildren(...(title ? said(title) : nodesOf(language.parts("head"))));
  const now = step && at(`[data-step=${step}]`);
  document.title = [now && step !== "fill" && now.textContent, title?.text ?? say("head")].filter(Boolean).join(" · ");
  for (const name of ["introduction", "who", "consent", "thanks"]) at(`#${name}`).replaceChildren(...prose(ofSurvey(name)));
  at("#asker").hidden ||= !ofSurvey("who");
  at("#how-head").hidden = !title;
  const { text: contact } = ofSurvey("contact") ?? {}; // an address is in no language
  at("#contact").hidden = !contact;
  at("#contact").replaceChildren(at("#contact b"), ...prose({ text: contact ?? "" }));
  at("#languages").hidden = offered.length < 2;
  at("#languages select").replaceChildren(...offered.map((tag) => make("option", { value: tag, lang: tag, selected: tag === language.tag }, nameOf(tag))));
  if (!problem.hidden) retell();
  PAINT[step]?.();
};

/** Remember something while this page is loaded again, and nowhere else: not in the address, which the collector is told. */
const remember = (more) => history.replaceState({ ...history.state, ...more }, "", location.pathname + location.search);

at("#languages").addEventListener("change", ({ target }) => {
  speak(target.value);
  remember({ language: language.tag });
  paint();
});

// Before anything is filled in

if (linkToken) remember({ token: linkToken });
if (link.has("language")) remember({ language: link.get("language") });

/** Take the token from the history, too, once it is good for nothing. */
const dropToken = () => remember({ token: undefined });

const empty = (...places) => places.forEach((place) => at(place).replaceChildren());

/** Leave nothing of what was filled in. */
const clearForm = () => {
  record = fields = labelFields = undefined;
  at("#token").value = "";
  Object.assign(at("progress"), { max: 1, value: 0 });
  empty("#items", "#labels", "#incomplete", "#progress p", "#how-many");
};

/** Leave nothing of what was asked or answered either: the next at this device may be another person. */
const wipe = () => {
  clearForm();
  labels = question = entry = undefined;
  empty("#question", "#possible", "#told dl", "#what");
};

addEventListener("pagehide", wipe);
addEventListener("hashchange", () => location.hash && location.reload()); // somebody's link, while this page was open
addEventListener("pageshow", ({ persisted }) => persisted && location.reload());

/** The surveys that the collector holds. */
const surveys = async () => {
  try {
    const response = await fetch(`${collector}/v1/surveys`, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (response.ok) return (await response.json()).surveys;
  } catch {
    // It is away, which is said below.
  }
  return refuse("unavailable");
};

const clientOf = (survey, token) =>
  new Client({ survey, collector, token, limit: LIMIT, lifetimeLimit: LIFETIME, ledger, again, another });

/** Tell whether this device has answered a survey, for anybody. */
const isAnswered = (survey) => ledger.update((entries) => Object.entries(entries).some(([place, { state }]) => place.startsWith(survey) && state));

const start = async () => {
  wipe();
  const surveyId = query.get("survey")?.trim().toLowerCase();
  try {
    if (surveyId !== undefined && !/^[0-9a-f]{64}$/.test(surveyId)) refuse("address");
    if (!globalThis.crypto?.subtle) refuse("insecure");
    show();
    rows = await waiting(status, "loading", surveys());
    if (!surveyId && rows.length > 1) return await choose();
    const row = surveyId ? rows.find(({ id }) => id === surveyId) : rows[0];
    if (!row) refuse("survey-unknown");
    await waiting(status, "loading", load(row));
    entry = await client.entry();
    if (entry?.state === "sent") return await conclude();
    if (entry) return send();
    if (surveyInfo.closed) return show("closed");
    // The client decides all three exactly, later; here nobody shall fill in a form for nothing.
    if (surveyInfo.epsilon > LIMIT) refuse("epsilon");
    if ((await epsilonSpent()) + surveyInfo.epsilon > LIFETIME + 1e-9) refuse("lifetime");
    if (!another && (await isAnswered(surveyInfo.id))) refuse("another");
    if (!again && (await isAnswered(surveyInfo.form.follows))) refuse("predecessor");
    period = await client.period();
    const now = new Date().toJSON();
    return show(period && (now < period[0] || now >= period[1]) ? "later" : "fill");
  } catch (error) {
    return fail(error, start);
  }
};

/** Open a survey, and speak one of its languages. */
const load = async (row) => {
  client = clientOf(row.id, ownToken || undefined);
  surveyInfo = { ...row, ...(await client.survey()) };
  texts = await client.texts();
  if (!texts) return;
  const { default: first, languages } = texts.form;
  offered = [first, ...Object.keys(languages).filter((tag) => tag !== first)];
  speak(preferred(offered));
};

/** What a survey is about: its title, else the first names of its schema, which nobody but the survey itself tells. */
const about = async ({ id, attributes }) => {
  try {
    const own = clientOf(id);
    const [{ form }, words] = [await own.survey(), await own.texts()];
    return { names: form.schema.attributes.map(({ name }) => name), words };
  } catch {
    return { names: [], attributes };
  }
};

const choose = async () => {
  subjects = await waiting(status, "loading", Promise.all(rows.map(about)));
  show("choose");
};

// The form

const needsToken = () => !ownToken && surveyInfo.participants === "issued";

/** Whose turn it is, and which labels travel: what whoever sees a report learns, one thing a line. */
const learned = () => {
  const own = surveyInfo.participants === "issued" ? "learn.id" : ownToken ? "learn.link" : "learn.token";
  const names = labelsSpoken.map(({ text }) => quoted(text));
  return [
    ...(surveyInfo.slots === "drawn" ? [] : [language.parts(own)]),
    language.parts("learn.answer"),
    ...(names.length ? [language.parts("learn.beside", { names: language.listing(names) })] : []),
    ...(period ? [language.parts("learn.period")] : []),
    language.parts("learn.visit"),
  ];
};

/** Parts of a message in which one placeholder is an element. */
const around = (message, name, element, args) => nodesOf(language.parts(message, { ...args, [name]: [element] }));

/** Which page of the form is seen, and how far one is. */
const turned = () => {
  const { n, all: many } = fields.place();
  const progress = fields.progress();
  const isLast = n === many;
  at("#progress p").textContent = [...(many > 1 ? [say("page", { n, all: many })] : []), say("done", { n: progress.n, all: progress.all })].join(" · ");
  Object.assign(at("progress"), { max: progress.all, value: progress.n });
  at("#how-many").textContent = say("fill.many", { n: progress.all });
  at("#previous").hidden = n < 2;
  at("#fill .main").textContent = say(isLast ? "get" : "next");
  at("#unsent").hidden = !isLast;
  at("#beside").hidden = !isLast || !(labelsSpoken.length || period);
};

const paintForm = () => {
  const { id, epsilon, form } = surveyInfo;
  const { attributes } = form.schema;
  const state = [fields, labelFields].map((one) => one?.state());
  at("#stays").textContent = say(labelsSpoken.length ? "learn.page.beside" : "learn.page.all");
  at("#learns").replaceChildren(...learned().map((parts) => make("li", {}, nodesOf(parts))));
  at("#most").replaceChildren(...around("learn.odds.text", "share", make("strong", { "data-suspicion": true }, atMost(1 / (1 + Math.exp(-epsilon)))), { half: half(), epsilon, limit: LIMIT, lifetime: LIFETIME }));
  at("#which").replaceChildren(...around("survey.id", "id", make("code", {}, id)), ` ${say(query.get("survey") ? "survey.named" : "survey.unnamed")}`);
  at("#token-box").hidden = !needsToken();
  const pages = texts?.form.layout.pages.map(({ attributes: own }, place) => {
    const text = (field) => find(({ survey }) => survey?.pages?.[place]?.[field]);
    return { attributes: own, title: text("title"), introduction: text("introduction") };
  });
  at("#unsent").textContent = say(labelsSpoken.length ? "unsent.beside" : "unsent");
  at("#beside-why").textContent = say(labelsSpoken.length ? "beside.labels" : "beside.period");
  at("#period").hidden = !period;
  if (period) at("#period").textContent = say("period.now", { when: when(period) });
  labelFields = formOf({ attributes: form.labels ?? [], spoken: labelsSpoken, element: at("#labels"), kind: "l" });
  fields = formOf({
    attributes,
    spoken: attributes.map(({ name }) => spoken.get(name)),
    element: at("#items"),
    pages,
    skipped: texts?.skipped,
    onTurn: () => fields && turned(),
  });
  if (state[0]) [fields, labelFields].forEach((one, place) => one.restore(state[place]));
  turned();
  if (!at("#incomplete").hidden) complain();
};

const turn = (by) => {
  at("#incomplete").hidden = true;
  fields.turn(by);
  at("#progress p").focus({ preventScroll: true });
  at("#progress").scrollIntoView({ block: "start" });
};

const isBusy = (button, busy) => button.setAttribute("aria-disabled", busy);
const busy = (button) => button.getAttribute("aria-disabled") === "true";

/** Say what is not filled in, and mark it. */
const complain = () => {
  const [isWhole, areLabels] = [fields.record(), labelFields.record()];
  const open = [...fields.open(), ...labelFields.open()];
  const incomplete = at("#incomplete");
  incomplete.replaceChildren(...nodesOf(
    isWhole && areLabels
      ? language.parts("token.missing")
      : open.length > MOST_NAMED
        ? language.parts("open.many", { n: open.length, all: fields.progress().all + labelsSpoken.length })
        : language.parts("open", { names: language.listing(open.map(quoted)) }),
  ));
  incomplete.hidden = false;
};

const ask = async () => {
  const button = at("#fill .main");
  if (busy(button)) return;
  problem.hidden = at("#incomplete").hidden = true;
  [record, labels] = [fields.record(), labelFields.record()];
  const token = at("#token").value.trim();
  const isTokenMissing = needsToken() && !token;
  if (isTokenMissing || !record || !labels) {
    complain();
    if (!record || !labels) (record ? labelFields : fields).seek();
    else at("#token").focus();
    return;
  }
  if (needsToken()) client = clientOf(surveyInfo.id, token);
  isBusy(button, true);
  try {
    if (await client.entry()) return send(); // of an id that was typed
    question = await waiting(at("#asking"), "asking", client.question(record, labels));
    spentBefore = await epsilonSpent();
    show("ask");
    goTo("#ask-head");
  } catch (error) {
    record = undefined;
    const isCorrectable = error.reason === "record" || (["participant-unknown", "token"].includes(error.reason) && !ownToken);
    if (isCorrectable) tell(() => refusal(error));
    else fail(error, ask);
  } finally {
    isBusy(button, false);
  }
};

// The question

/** The ε of all that this browser has answered. */
const epsilonSpent = () => ledger.update((entries) => Object.values(entries).reduce((sum, { epsilon }) => sum + (epsilon ?? 0), 0));

/** Labels as rows of a list. */
const besides = (every) =>
  Object.entries(every).flatMap(([name, value]) => {
    const own = labelsSpoken[(surveyInfo.form.labels ?? []).findIndex((spec) => spec.name === name)];
    return own
      ? [make("dt", {}, said(own.text)), make("dd", {}, said(own.label(value)))]
      : [make("dt", {}, say("period")), make("dd", {}, period ? span(period, "", "day.span") : value)];
  });

const paintQuestion = () => {
  const law = lawOf(question);
  at("#question").replaceChildren(...questionNodes(question, spoken));
  at("#possible").replaceChildren(...possibleNodes(question, spoken, law));
  const most = atMost(law.suspicion);
  at("#odds").textContent = say("odds", { half: half(), share: most, epsilon: threeDigits(law.epsilon) });
  at(".doubt .after").style.width = `${100 * law.suspicion}%`;
  at(".doubt .from").style.insetInlineStart = "50%";
  at(".doubt .to").style.insetInlineStart = `${Math.min(Math.max(100 * law.suspicion, 68), 92)}%`;
  at(".doubt .from b").textContent = half();
  at(".doubt .to b").textContent = most;
  at("#spent").textContent = say("spent", { epsilon: surveyInfo.epsilon, total: threeDigits(spentBefore + surveyInfo.epsilon), lifetime: LIFETIME });
  at("#told").hidden = !period && !surveyInfo.form.labels;
  at("#told dl").replaceChildren(...besides(period ? { ...labels, period: period[0] } : labels));
};

// The answer

const agree = async () => {
  const button = at("#agree");
  if (busy(button)) return;
  isBusy(button, true);
  at("#back").disabled = true;
  problem.hidden = true;
  const own = record;
  record = undefined;
  // Else a browser that runs out of space may drop the ledger. It may ask the person, so nothing waits for it.
  navigator.storage?.persist?.().catch(() => {});
  try {
    // It is in the ledger when this is done. What it is, nothing below asks.
    await client.answer(own, labels);
  } catch (error) {
    isBusy(button, false);
    at("#back").disabled = false;
    return error.reason === "answered" ? send() : fail(error); // by another tab
  }
  clearForm();
  return send(true);
};

/** Send what is kept, which only the visit that drew it may show. */
const send = async (isOwn) => {
  problem.hidden = true;
  try {
    await waiting(isOwn ? at("#sending") : status, "sending", client.submit());
  } catch (error) {
    if (error.reason !== "answered") {
      wipe(); // who tries again may be another person
      show();
      return fail(error, () => send(), "sorry.unsent");
    }
  }
  return conclude(isOwn).catch(fail);
};

const conclude = async (isOwn) => {
  wipe();
  entry = isOwn && (await client.receipt());
  question = entry && surveyInfo.question(entry.report.slot);
  await client.forget();
  dropToken();
  total = await epsilonSpent();
  show("sent");
  goTo("#sent-head");
};

const shorten = (text) => (text.length > 20 ? `${text.slice(0, 8)}…${text.slice(-8)}` : text);

const paintSent = () => {
  at("#again").hidden = !!entry;
  at("#receipt").hidden = !entry;
  at("#sent-head").textContent = say(entry ? "sent.head" : "again.head");
  if (entry) paintReceipt(entry);
  at("#cleared").textContent = say(surveyInfo.participants === "issued" ? "cleared.id" : "cleared");
  at("#total").textContent = say("spent", { epsilon: surveyInfo.epsilon, total: threeDigits(total), lifetime: LIFETIME });
};

const paintReceipt = ({ report, names, token }) => {
  const row = (name, ...content) => [make("dt", {}, say(name)), make("dd", {}, ...content)];
  const code = (name, text) => (text ? row(name, make("code", {}, shorten(text))) : []);
  at("#what").replaceChildren(
    ...row("row.question", questionNodes(question, spoken)),
    make("dt", {}, say("row.said")),
    make("dd", { class: "value" }, reportNodes(question, spoken, report, lawOf(question, report))),
    ...code("row.value", report.packed ?? report.value),
    ...(report.labels ? row("row.beside", make("dl", { class: "labels" }, besides(report.labels))) : []),
    ...code("row.ticket", names.ticket),
    ...code("row.token", token),
  );
};

/** The page of a survey, for the same person in the same language. */
const addressOf = (id) => {
  const more = new URLSearchParams(Object.entries({ language: asked(), token: ownToken }).filter(([, value]) => value)).toString();
  return `?survey=${id}${more && `#${more}`}`;
};

const PAINT = {
  fill: paintForm,
  framed: () => (at("#framed a").href = addressOf(surveyInfo.id)),
  ask: paintQuestion,
  sent: paintSent,
  later() {
    const isEarly = new Date().toJSON() < period[0];
    at("#later-head").textContent = isEarly ? say("early.head", { day: language.day(period[0]) }) : say("over.head");
    at("#later-when").textContent = say(isEarly ? "early" : "over", { when: when(period) });
  },
  closed() {
    const own = prose(ofSurvey("closed"));
    at("#closed div").replaceChildren(...(own.length ? own : [make("p", {}, say("closed"))]));
  },
  choose() {
    const subject = ({ names, words, attributes }) => {
      const title = words && wordsIn(words.form, language.tag)(({ survey }) => survey?.title);
      if (title) return said(title);
      const more = names.length - FIRST;
      const listed = (more > 1 ? names.slice(0, FIRST) : names).map((name) => within({ text: name }, language));
      if (more > 1) listed.push(language.parts("more", { n: more }));
      return nodesOf(language.parts("choose.about", { names: names.length ? language.listing(listed) : say("things", { n: attributes }) }));
    };
    at("#choose ul").replaceChildren(...rows.map((row, place) =>
      make("li", {}, make("a", { href: addressOf(row.id) }, subject(subjects[place])),
        make("span", { class: "small soft" }, ` (${say("choose.id", { id: row.id.slice(0, 8), epsilon: row.epsilon })})`))));
  },
};

at("#fill form").addEventListener("submit", (event) => {
  event.preventDefault();
  const { n, all: many } = fields.place();
  if (n < many) turn(1);
  else ask();
});
at("#fill form").addEventListener("input", () => (at("#incomplete").hidden = true));
at("#previous").addEventListener("click", () => turn(-1));
at("#agree").addEventListener("click", agree);
at("#anew").addEventListener("click", () => {
  again = true;
  start();
});
at("#other").addEventListener("click", () => {
  another = true;
  start();
});
at("#back").addEventListener("click", () => {
  if (at("#back").disabled) return;
  show("fill");
  goTo("#fill-head");
});

loadCatalogues().then(
  (tags) => {
    offered = tags;
    speak(preferred(tags));
    return start();
  },
  () => (status.textContent = "This page could not be loaded. Please load it again."),
);

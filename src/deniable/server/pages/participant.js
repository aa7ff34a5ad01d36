/**
 * The participant's page: fill in, see the question, agree, and only then draw and send.
 *
 * Nothing after the draw depends on what was drawn: the same steps and the same requests follow whatever
 * the value is, it is shown only once it is counted, and there is nothing to cancel.
 */

import { Client, Refused, browserLedger } from "./deniable.min.js";
import { at, collector, make } from "./dom.js";
import { formOf } from "./form.js";
import { atMost, explain, inWords, refusal, reportLines, shorten, span, suspicion, turn, when } from "./words.js";

const LIMIT = 2;
const LIFETIME = 6;
const SLOW = 4000; // milliseconds until the page says that it still waits
const MOST_LISTED = 12;
const TITLE = document.title;

const ledger = browserLedger();
const parts = ["choose", "later", "who", "fill", "ask", "sent"];
const status = at("#status");
const problem = at("#problem");
const linkToken = new URLSearchParams(location.hash.slice(1)).get("token")?.trim();
const ownToken = linkToken ?? history.state?.token; // the latter after loading the page again
let client, surveyInfo, period, fields, labelFields, record, labels;

/** Show one part only, and perhaps others above it. */
const show = (step, ...also) => {
  for (const part of parts) at(`#${part}`).hidden = part !== step && !also.includes(part);
  at("#lead").hidden = ["ask", "sent", "later"].includes(step);
  at("#steps").hidden = !["fill", "ask", "sent"].includes(step);
  const steps = [...document.querySelectorAll("[data-step]")];
  const now = steps.findIndex((one) => one.dataset.step === step);
  steps.forEach((one, index) => {
    one.classList.toggle("done", index < now);
    if (index === now) one.setAttribute("aria-current", "step");
    else one.removeAttribute("aria-current");
  });
  document.title = now > 0 ? `${steps[now].textContent} · ${TITLE}` : TITLE;
  status.textContent = "";
  problem.hidden = true;
};

const goTo = (heading) => {
  at(heading).focus({ preventScroll: true });
  at(heading).closest("section").scrollIntoView({ block: "start" });
};

/** Say what is wrong; `again` is what may be tried again. */
const tell = (sentence, again) => {
  at("p", problem).textContent = sentence;
  const button = at("button", problem);
  button.hidden = !again;
  button.onclick = again;
  problem.hidden = false;
  status.textContent = at("#sending").textContent = "";
  problem.focus({ preventScroll: true });
  problem.scrollIntoView({ block: "center" });
};

const UNREACHED = "The collector does not answer. Check your connection and try again.";

const fail = (error, again, awayText = UNREACHED) => {
  if (error.reason === "unavailable") return tell(awayText, again);
  show();
  return tell(refusal(error));
};

/** Wait for something, and say so if it takes long. */
const waiting = async (element, sentence, work) => {
  element.textContent = sentence;
  const slow = setTimeout(() => (element.textContent = "The collector does not answer yet. Trying again…"), SLOW);
  try {
    return await work;
  } finally {
    clearTimeout(slow);
    element.textContent = "";
  }
};

// Before anything is filled in

if (linkToken) history.replaceState({ token: linkToken }, "", location.pathname + location.search);

/** The surveys that the collector holds. */
const surveys = async () => {
  try {
    const response = await fetch(`${collector}/v1/surveys`, { credentials: "omit", referrerPolicy: "no-referrer" });
    if (response.ok) return (await response.json()).surveys;
  } catch {
    // It is away, which is said below.
  }
  throw new Refused("unavailable", UNREACHED);
};

const clientOf = (survey, token) =>
  new Client({ survey, collector, token, limit: LIMIT, lifetimeLimit: LIFETIME, ledger });

const start = async () => {
  const surveyId = new URLSearchParams(location.search).get("survey")?.trim().toLowerCase();
  try {
    if (surveyId !== undefined && !/^[0-9a-f]{64}$/.test(surveyId)) throw new Refused("address", "");
    if (!globalThis.crypto?.subtle) throw new Refused("insecure", "");
    show();
    const rows = await waiting(status, "Loading the survey…", surveys());
    if (!surveyId && rows.length > 1) return choose(rows);
    const row = surveyId ? rows.find(({ id }) => id === surveyId) : rows[0];
    if (!row) throw new Refused("survey-unknown", "");
    client = clientOf(row.id, ownToken || undefined);
    surveyInfo = { ...row, ...(await waiting(status, "Loading the survey…", client.survey())) };
    const entry = await client.entry();
    if (entry?.state === "sent") return conclude(true);
    if (entry) return send(true);
    // The client decides both exactly, later; here nobody shall fill in a form for nothing.
    if (surveyInfo.epsilon > LIMIT) throw new Refused("epsilon", "");
    if ((await epsilonSpent()) + surveyInfo.epsilon > LIFETIME + 1e-9) throw new Refused("lifetime", "");
    period = await client.period();
    const now = new Date().toJSON();
    if (period && (now < period[0] || now >= period[1])) return later(now);
    return fill(Boolean(surveyId));
  } catch (error) {
    return fail(error, start);
  }
};

/** It is not this device's turn: say when it is, or was. */
const later = (now) => {
  [at("#later-head").textContent, at("#later-when").textContent] = turn(period, now);
  show("later");
};

const FIRST = 3; // names that tell a survey from others

/** What a survey is about: the first names of its schema, which nobody but the survey itself tells. */
const about = async ({ id, attributes }) => {
  const names = await clientOf(id).survey().then(({ form }) => form.schema.attributes.map(({ name }) => name), () => []);
  const more = names.length - FIRST;
  if (!names.length) return `${attributes} things`;
  return inWords(more > 1 ? [...names.slice(0, FIRST), `${more} more`] : names);
};

const choose = async (rows) => {
  const subjects = await waiting(status, "Loading the surveys…", Promise.all(rows.map(about)));
  at("#choose ul").replaceChildren(
    ...rows.map(({ id, epsilon }, index) =>
      make("li", {}, make("a", { href: `?survey=${id}${ownToken ? `#token=${encodeURIComponent(ownToken)}` : ""}` }, `About ${subjects[index]}`),
        make("span", { class: "small soft" }, ` (survey ${id.slice(0, 8)}, ε = ${epsilon})`)),
    ),
  );
  show("choose");
};

// The form

const needsToken = () => !ownToken && surveyInfo.participants === "issued";

const fill = (isNamed) => {
  const { attributes } = surveyInfo.form.schema;
  const own = surveyInfo.participants === "issued" ? "Your participant id" : ownToken ? "The token of your link" : "A random token that this browser makes up for this survey";
  const labelSpecs = surveyInfo.form.labels ?? [];
  const beside = [...labelSpecs.map(({ name }) => `your ${name}`), ...(period ? ["the period that your device drew"] : [])];
  at("#learns").textContent =
    `${surveyInfo.slots === "drawn" ? "The" : `${own}, the`} question that your device got, and one randomized answer; ${beside.length ? `beside it ${inWords(beside)}, as ${beside.length > 1 ? "they are" : "it is"}, not protected by chance; ` : ""}and, as on any page, that somebody took part, when, and from which address.`;
  for (const [name, text] of Object.entries({
    suspicion: suspicion(surveyInfo.epsilon), epsilon: surveyInfo.epsilon, limit: LIMIT, lifetime: LIFETIME,
  })) {
    for (const element of document.querySelectorAll(`[data-${name}]`)) element.textContent = text;
  }
  at("#which").replaceChildren(
    "Survey ", make("code", {}, surveyInfo.id),
    isNamed
      ? ": your link names it, and this page checked that the collector’s is the very same."
      : ". Your link names no survey, so which one it is, you have from the collector alone.",
  );
  at("#how-many").textContent =
    `${attributes.length === 1 ? "One thing" : `${attributes.length} things`} to fill in. Everything is needed, because chance decides what is asked about.`;
  at("#token-box").hidden = !needsToken();
  at("#token-hint").textContent = "It is in your invitation, and makes sure that everybody counts once.";
  fields = formOf(attributes, at("#items"));
  labelFields = formOf(labelSpecs, at("#labels"), "l");
  at("#beside").hidden = !beside.length;
  if (labelSpecs.length) {
    at("#stays").textContent = "What you fill in. It is gone when you close the page, but for what is sent.";
    at("#unsent").textContent = "Nothing is sent yet.";
  }
  at("#beside-why").textContent = labelSpecs.length
    ? "What you choose here is sent beside your answer as it is, so that answers can be counted by group. It is not deniable, and ε does not cover it."
    : "One thing is sent beside your answer as it is; ε does not cover it.";
  at("#period").hidden = !period;
  if (period) at("#period").replaceChildren(make("strong", {}, "The period: "), `your device drew by lot that it answers ${when(period)}, which is now. That is sent as well.`);
  show("fill", "who");
};

const isBusy = (button, busy) => button.setAttribute("aria-disabled", busy);
const busy = (button) => button.getAttribute("aria-disabled") === "true";

const ask = async () => {
  const button = at("#fill .main");
  if (busy(button)) return;
  const incomplete = at("#incomplete");
  incomplete.hidden = problem.hidden = true;
  [record, labels] = [fields.record(), labelFields.record()];
  const token = at("#token").value.trim();
  if (needsToken() && !token) {
    incomplete.textContent = "Your participant id is missing.";
    incomplete.hidden = false;
    at("#token").focus();
    return;
  }
  if (!record || !labels) {
    const open = [...fields.open(), ...labelFields.open()];
    const all = surveyInfo.form.schema.attributes.length + (surveyInfo.form.labels?.length ?? 0);
    incomplete.textContent = `Still open: ${open.length > 6 ? `${open.length} of ${all}` : inWords(open)}.`;
    incomplete.hidden = false;
    (record ? labelFields : fields).seek();
    return;
  }
  if (needsToken()) {
    client = clientOf(surveyInfo.id, token);
  }
  isBusy(button, true);
  try {
    consent(await waiting(at("#asking"), "Asking for your question…", client.question(record, labels)), await epsilonSpent());
  } catch (error) {
    record = undefined;
    if (error.reason === "participant-unknown" && !ownToken) tell(refusal(error));
    else if (error.reason === "record" || (error.reason === "token" && !ownToken)) tell(`${error.message} Please correct it.`);
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
  Object.entries(every).flatMap(([name, value]) => [
    make("dt", {}, name), make("dd", {}, name === "period" && period ? span(period) : value),
  ]);

const threeDigits = (epsilon) => `${Number(epsilon.toPrecision(3))}`;

/** A question in words: a sentence or two, or several questions as a list. */
const wording = ([first, ...rest]) =>
  rest.length ? [make("p", {}, first), make("ol", {}, rest.slice(0, -1).map((line) => make("li", {}, line))), make("p", {}, rest.at(-1))] : [first];

const consent = (question, before) => {
  const { lines, answers, suspicion: share, epsilon } = explain(client, question, surveyInfo.form.schema.attributes);
  at("#question").replaceChildren(...wording(lines));
  const list = make("ul", { class: "answers" }, answers.map((answer) => make("li", {}, answer)));
  at("#possible").replaceChildren(
    ...(!answers.length
      ? [make("p", {}, "There are too many possible answers to list them here.")]
      : answers.length > MOST_LISTED
        ? [make("details", {}, make("summary", {}, `The ${answers.length} possible answers`), list)]
        : [make("p", {}, answers.length === 2 ? "Either answer is possible, whatever is true for you:" : "Each answer is possible, whatever is true for you:"), list]),
  );
  const most = atMost(share);
  at("#odds").textContent =
    `Think of somebody who suspects something about you and gives it a 50\u00a0% chance. After seeing your answer they can be at most ${most} sure, whatever it is and whatever else they know of the others. (ε\u00a0=\u00a0${threeDigits(epsilon)})`;
  at(".doubt .after").style.width = `${100 * share}%`;
  at(".doubt .from").style.left = "50%";
  at(".doubt .to").style.left = `${Math.min(Math.max(100 * share, 68), 92)}%`;
  at(".doubt .to b").textContent = most;
  at("#spent").textContent =
    `The survey counts as ε = ${surveyInfo.epsilon}. With it, this browser’s answers to all surveys of this site add up to ${threeDigits(before + surveyInfo.epsilon)} of ${LIFETIME}.`;
  at("#told").hidden = !period && !surveyInfo.form.labels;
  at("#told dl").replaceChildren(...besides(period ? { ...labels, period: period[0] } : labels));
  show("ask");
  goTo("#ask-head");
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
    return fail(error);
  }
  fields.clear();
  labelFields.clear();
  return send(false);
};

const send = async (isLater) => {
  const element = isLater ? status : at("#sending");
  problem.hidden = true;
  try {
    await waiting(element, "Sending your answer…", client.submit());
  } catch (error) {
    return fail(
      error,
      () => send(isLater),
      "Your answer is drawn and kept in this browser, but the collector does not answer. It is sent when you try again, now or by opening this page later.",
    );
  }
  return conclude(false);
};

const conclude = async (isAgain) => {
  const { report, names, token, period: drawnPeriod } = await client.entry();
  period = drawnPeriod;
  const question = surveyInfo.question(report.slot);
  const explanation = explain(client, question, surveyInfo.form.schema.attributes, report);
  const phrases = reportLines(question, report, explanation);
  const lines = make("ul", {}, phrases.slice(1).map((line) => make("li", {}, line)));
  const row = (name, ...content) => [make("dt", {}, name), make("dd", {}, ...content)];
  const code = (text) => make("code", {}, shorten(text));
  at("#again").hidden = !isAgain;
  at("#sent-head").textContent = isAgain ? "Your answer is counted" : "Thank you: one answer was sent";
  at("#what").replaceChildren(
    ...row("The question", ...wording(explanation.lines)),
    make("dt", {}, "Your device reported"),
    make("dd", { class: "value" }, phrases.length > MOST_LISTED ? make("details", {}, make("summary", {}, `${phrases[0]} ${phrases.length - 1} answers`), lines) : phrases.length > 1 ? [phrases[0], lines] : phrases),
    ...row("As it was sent", code(report.packed ?? report.value), report.packed ? " (packed bits)" : " (as a number)"),
    ...(report.labels ? row("Beside it, as it is", make("dl", { class: "labels" }, besides(report.labels))) : []),
    ...(names.ticket ? row("With this ticket", code(names.ticket)) : []),
    ...(names.id ? row("With your id", code(names.id)) : []),
    ...(token ? row("To get the question", "your token ", code(token)) : []),
  );
  at("#cleared").textContent =
    surveyInfo.participants === "issued"
      ? "If you clear this site’s data, this browser forgets that; the collector still counts your id once."
      : "Keep this site’s data: a browser that forgot, or dropped it after a long time, could answer twice, and two answers tell more about you than one.";
  at("#total").textContent = `This browser’s answers to all surveys of this site now add up to ε = ${threeDigits(await epsilonSpent())} of ${LIFETIME}.`;
  show("sent");
  goTo("#sent-head");
};

at("#fill form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
at("#agree").addEventListener("click", agree);
at("#back").addEventListener("click", () => {
  if (at("#back").disabled) return;
  show("fill", "who");
  goTo("#fill-head");
});
start();

/** The analysts' page: what is known so far, again every ten seconds. The token stays in this tab. */

import { errorChart, listing, pText, points, tips, treeChart, withCommas } from "./charts.js";
import { at, collector, make } from "./dom.js";
import { honesty } from "./integrity.js";
import { numberSection } from "./numbers.js";
import { crossed, offered } from "./percentages.js";
import { poolMenu, sayPooled } from "./pooling.js";
import { credentials, enter, keep, Problem, send, token } from "./session.js";
import { matrix, matrixWidth, pairKey, pairWords, tableOf } from "./tables.js";
import { learn } from "./wording.js";
import { suspicion } from "./words.js";

const EVERY = 10_000;
const TOO_WIDE = 0.15; // a mean half-width above this is mostly noise
const AIM = 0.05;
const WORDED = /^release($|\/(marginal|number|means|report|tables))/; // what is told in the survey’s words
const UNBOUND = "Of a single group there is no bound: a label is what a device says."; // all liars may name one

const state = { survey: undefined, surveys: [], group: {}, pool: [], language: "", overview: undefined, poisoning: "", chosen: [], paused: false, history: [], shown: {}, drawn: "" };

// The collector

/** Ask the collector as an analyst; what has several values is asked for by each of them. */
const request = async (path, query = {}) => {
  const search = new URLSearchParams({ survey: state.survey });
  for (const [name, values] of Object.entries(query)) for (const value of [values].flat()) search.append(name, value);
  if (path !== "release/poolable") for (const id of state.pool) search.append("pool", id);
  if (path !== "release/groups" && path !== "release/poolable") for (const [name, value] of Object.entries(state.group)) search.set(`label[${name}]`, value);
  if (state.language && WORDED.test(path)) search.set("language", state.language);
  return send(`${path}?${search}`, { headers: token() ? { Authorization: `Bearer ${token()}` } : {} });
};

const json = async (path, query) => (await request(path, query)).json();

const askForToken = (why = "") => {
  keep(null);
  at("#all").hidden = at("#tools").hidden = true;
  at("#key").hidden = false;
  at("#state").hidden = true;
  at("#key-why").textContent = why;
  at("#key-why").className = why ? "banner" : "small";
  at("#token").value = "";
  at("#token").focus();
};

// What is shown

/** Say what state things are in; the same thing is not said twice. */
const say = (sentence, isCalm = false) => {
  const element = at("#state");
  element.hidden = !sentence;
  element.classList.toggle("calm", isCalm);
  if (element.textContent !== sentence) element.replaceChildren(make("p", {}, sentence));
};

const twoDigits = (number) => Number(number.toPrecision(2));

const moment = (text) => new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** The value of a label as people read it. */
const worded = (name, value) => {
  const { values, words } = state.overview.labels.find((label) => label.name === name) ?? { values: [] };
  return words?.[values.indexOf(value)] ?? value;
};

const facts = (overview, width) => {
  const { people, attributes, order, epsilon, expected_error: error, integrity, mechanism, group, closed, ends } = overview;
  const rows = [
    [["people so far", ...Object.entries(group).map(([name, value]) => `${name}: ${worded(name, value)}`)].join(", "), withCommas(people), "most"],
    ["takes answers", closed ? `no: closed since ${moment(ends)}` : ends ? `until ${moment(ends)}` : "yes"],
    ["mean half-width of intervals, points", width === undefined ? "–" : `± ${points(width)}`],
    ["expected error of a table: people in the wrong cell", error === null || error > 1 ? "–" : `${points(error)} %`],
    ["integrity", integrity === null ? "–" : integrity.alarm ? "alarm" : "no alarm"],
    [`a 50\u00a0% suspicion becomes at most (ε\u00a0=\u00a0${epsilon})`, suspicion(epsilon)],
    ["attributes; per table", `${withCommas(attributes.length)}; up to ${order}`],
    ["mechanism", mechanism],
  ];
  at("#facts").replaceChildren(
    ...rows.map(([name, value, kind]) => make("div", { class: kind }, make("dt", {}, name), make("dd", {}, value))),
  );
};

const sayHow = ({ people, plausible, integrity, closed }, width) => {
  const few = "Fewer than 100 people have taken part, so nothing is shown";
  if (!people && closed) return say(`${few}, and the survey is closed: it takes no new answers.`, true);
  if (!people) return say(`${few} yet. People take part at ${collector}/?survey=${state.survey}`, true);
  if (plausible === false || integrity?.alarm) return say("The integrity monitor raises an alarm: some reports were not drawn as the survey says.");
  if (width === undefined) return say("Too few people yet: not every question was asked, so not every table is known.", true);
  if (width > TOO_WIDE) {
    return say(
      `Too few people yet: an unbiased estimate’s interval reaches ± ${points(width)} points on average, so what is below is mostly noise. About ${withCommas(twoDigits(people * (width / AIM) ** 2))} people would make it ± ${points(AIM)}.`,
      true,
    );
  }
  return say("");
};

const errors = () => {
  const rows = state.history;
  at("#errors-drawn").hidden = !rows.length;
  if (!rows.length) {
    at("#errors-words").textContent = "Not every question was asked yet, so there are no intervals.";
    return;
  }
  const last = rows.at(-1);
  at("#errors-words").textContent =
    `Intervals of unbiased estimates are ± ${points(last.half_width)} percentage points on average${state.overview.numbers.length ? " (of a number, it is its mean that counts, in parts of its range)" : ""}; four times as many people would halve that.`;
  at("#errors").replaceChildren(errorChart(rows, Math.max(280, Math.min(at("#errors").clientWidth, 620))));
  at("#errors-table").replaceChildren(
    listing("Half-widths by people", ["people", "mean half-width, points", "expected, points"],
      rows.map(({ people, half_width: width }) => [withCommas(people), `± ${points(width)}`, `± ${points(last.half_width * Math.sqrt(last.people / people))}`]), [0, 1, 2]),
  );
};

/** The room that a part has beside another, and in a row of its own. */
const roomsOf = (element) => {
  const { classList } = element.closest("section");
  return [false, true].map((isWhole) => {
    classList.toggle("whole", isWhole);
    return element.clientWidth;
  });
};
/** Give a part of some width a row of its own if it needs one. */
const settle = (element, width, [half]) => element.closest("section").classList.toggle("whole", width > half);

const pairs = (names, rows) => {
  const element = at("#pairs");
  const rooms = roomsOf(element);
  settle(element, matrixWidth(names), rooms);
  const focusedPair = element.contains(document.activeElement) && document.activeElement.dataset.pair;
  at("#pairs-words").textContent = pairWords(rows);
  element.replaceChildren(...matrix(names, rows, pairKey(...state.chosen), showPair, element.clientWidth));
  if (!focusedPair) return;
  const again = [...element.querySelectorAll("[data-pair]")].find((one) => one.dataset.pair === focusedPair);
  if (!again) return;
  for (const one of element.querySelectorAll("[tabindex='0'][data-pair]")) one.tabIndex = -1;
  again.tabIndex = 0;
  again.focus({ preventScroll: true });
};

const tree = ({ drawing, edges }) => {
  const element = at("#tree");
  const rooms = roomsOf(element);
  at("#tree-words").hidden = at("#tree-list").hidden = !drawing.wide;
  if (!drawing.wide) {
    settle(element, 0, rooms);
    element.replaceChildren(make("p", {}, drawing.absent));
    return;
  }
  const chart = treeChart(drawing, rooms);
  settle(element, chart.getAttribute("width"), rooms);
  element.replaceChildren(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Tree of attributes" }, chart));
  at("#tree-list .scroll").replaceChildren(
    listing("Links of the tree", ["attributes", "mutual information, nats", "q-value"],
      edges.map((edge) => [`${edge.a} × ${edge.b}`, edge.mutual_information.toFixed(4), pText(edge.q_value)]), [1, 2]),
  );
};

// One table

const selects = () => [...at("#attributes").querySelectorAll("select")];

const chooser = (names, order) => {
  const options = (isFirst, choice) => [
    ...(isFirst ? [] : [make("option", { value: "" }, "–")]),
    ...names.map((name, i) => make("option", { value: i, selected: name === choice }, name)),
  ];
  at("#attributes").replaceChildren(
    ...Array.from({ length: Math.min(order, names.length) }, (_, index) =>
      make("label", {}, order === 1 ? "attribute" : `attribute ${index + 1}`,
        make("select", { autocomplete: "off", onchange: () => pick(chosenNames(names)) }, options(!index, state.chosen[index])))),
  );
};
const chosenNames = (names) => [...new Set(selects().map((one) => one.value).filter(Boolean).map((value) => names[value]))];

const pick = async (choice) => {
  state.chosen = choice;
  const { attributes } = state.overview;
  selects().forEach((one, index) => (one.value = choice[index] === undefined ? "" : attributes.indexOf(choice[index])));
  for (const one of document.querySelectorAll("[data-pair]")) {
    one.setAttribute("aria-pressed", `${one.dataset.pair === pairKey(...choice)}`);
  }
  await guard(table);
};

const table = async () => {
  const wish = state.chosen;
  const element = at("#table");
  const show = (form) => {
    if (wish !== state.chosen) return;
    const within = offered(wish);
    if (within) return void element.replaceChildren(...crossed(form, within));
    element.replaceChildren(...tableOf(form, false));
    const scroller = at(".scroll", element);
    if (scroller?.scrollWidth > scroller?.clientWidth) element.replaceChildren(...tableOf(form, true));
  };
  await part(element, "release/marginal", show, { attributes: wish, consistency: at("#consistency").value });
};

/** The pair that somebody chose in the matrix: on a phone its table is further down. */
const showPair = async (a, b) => {
  await pick([a, b]);
  at("#told").textContent = `The table of ${a} and ${b} is shown.`;
  at("#table-head").scrollIntoView({ block: "nearest" });
};

// Refreshing

/** Say why a part is not there. */
const instead = (element, sentence) => {
  delete state.shown[element.id];
  element.replaceChildren(make("p", {}, sentence));
};

/** Show a part, again whenever the window changes, or the sentence why there is none. */
const part = async (element, path, show, query) => {
  try {
    const form = await json(path, query);
    state.shown[element.id] = () => show(form);
    show(form);
  } catch (error) {
    if (error.name === "away" || error.name === "unauthorized") throw error;
    instead(element, error.message);
  }
};

const refresh = async () => {
  const viewNow = () => JSON.stringify([state.survey, state.group, state.pool, state.language]);
  const view = viewNow();
  const overview = await json("release");
  if (view !== viewNow()) return; // somebody chose another meanwhile
  state.overview = overview;
  at("#all").hidden = at("#tools").hidden = false;
  at("#key").hidden = true;
  const viewAndPeople = `${view} ${overview.people} ${overview.closed} ${overview.ends}`;
  if (viewAndPeople !== state.drawn) {
    // A half-width of null, or of exactly 1, says that some table is not known.
    const isKnown = ({ half_width: width }) => width !== null && width !== 1;
    state.history = overview.people ? (await json("release/history")).history.filter(isKnown) : [];
    const width = state.history.at(-1)?.half_width;
    if (state.surveys.length > 1) poolMenu(await json("release/poolable"), state.pool);
    sayPooled(overview.pooled);
    learn(overview.wording);
    await groups(overview);
    facts(overview, width);
    at("#poisoning").textContent = Object.keys(overview.group).length ? UNBOUND : overview.pooled ? "" : state.poisoning;
    sayHow(overview, width);
    at("#data").hidden = !overview.people;
    at("#survey-id").replaceChildren("Survey ", make("code", {}, overview.survey), ". The page is public; its data needs the token. It loads nothing from elsewhere.");
    if (overview.people) await details(overview);
    state.drawn = viewAndPeople;
  } else sayHow(overview, state.history.at(-1)?.half_width);
  at("#updated").textContent = `${state.paused ? "Paused" : "Live"}, updated ${new Date().toLocaleTimeString("en-GB")}`;
};

/** The groups that somebody may choose: by one label each, and none that is too small to be displayed. */
const groups = async ({ labels }) => {
  at("#whose").hidden = !labels.length || state.pool.length > 0;
  if (at("#whose").hidden) return;
  const { groups: large, small } = await json("release/groups");
  const within = (list, { name }) => list.filter((group) => Object.hasOwn(group, name));
  const largeGroups = large.map(({ group, people }) => ({ ...group, people }));
  const choice = JSON.stringify(state.group);
  const option = (name, group) => {
    const value = JSON.stringify({ [name]: group[name] });
    return make("option", { value, selected: value === choice }, `${worded(name, group[name])} (${withCommas(group.people)})`);
  };
  at("#whose select").replaceChildren(
    make("option", { value: "{}", selected: choice === "{}" }, "everybody"),
    ...labels.map((label) =>
      make("optgroup", { label: label.name },
        within(largeGroups, label).map((group) => option(label.name, group)),
        within(small, label).map((group) => make("option", { disabled: true }, `${worded(label.name, group[label.name])} (not shown: too few)`)))),
  );
};

const details = async (overview) => {
  const { attributes, order, plausible } = overview;
  errors();
  await part(at("#honest"), "integrity", honesty);
  if (order < 2) instead(at("#pairs"), "Pairs need tables of two attributes; this survey collects tables of one.");
  else {
    await part(at("#pairs"), "release/associations", ({ associations }) => {
      const [first] = associations;
      if (!state.chosen.length && first) state.chosen = [first.a, first.b];
      pairs(attributes, associations);
    });
  }
  if (!state.chosen.length) state.chosen = attributes.slice(0, Math.min(order, 2));
  if (selects().length !== Math.min(order, attributes.length)) chooser(attributes, order);
  await table();
  await numbers(overview);
  at("#tree-words").hidden = at("#tree-list").hidden = true;
  if (order < 2) instead(at("#tree"), "A tree needs tables of two attributes; this survey collects tables of one.");
  else if (plausible === false) instead(at("#tree"), "There is no tree of such reports: no people can have given them.");
  else await part(at("#tree"), "release/tree", tree);
};

/** Do something, and say it if it cannot be done. */
const guard = async (work) => {
  try {
    await work();
  } catch (error) {
    if (error.name === "unauthorized") askForToken(token() ? "This token is no analyst’s, or is not good any more. ‘deniable analysts add’ makes one." : "You are not signed in: type a token.");
    else if (error.name === "forbidden" && !state.overview) askForToken(error.message);
    else if (error.name === "away") {
      const since = state.drawn ? " What you see is what it last said." : "";
      say(`The collector does not answer.${since} ${state.paused ? "" : "It is asked again every ten seconds."}`);
      at("#tools").hidden = false;
    } else say(error.message);
  }
};

const numbers = numberSection(part, guard, () => at("#consistency").value);

let turn;
const loop = async () => {
  clearTimeout(turn);
  if (token() !== null && !state.paused && !document.hidden) await guard(refresh);
  clearTimeout(turn);
  turn = setTimeout(loop, EVERY);
};

const surveys = async () => {
  const response = await fetch(`${collector}/v1/surveys`, { credentials: credentials() }).catch(() => undefined);
  state.surveys = response?.ok ? (await response.json()).surveys : [];
  if (!state.surveys.length) throw new Problem("away", "");
  const surveyId = new URLSearchParams(location.search).get("survey");
  state.survey = (state.surveys.find(({ id }) => id === surveyId) ?? state.surveys[0]).id;
  at("#which").hidden = state.surveys.length < 2;
  at("#which select").replaceChildren(
    ...state.surveys.map(({ id, attributes, epsilon }) =>
      make("option", { value: id, selected: id === state.survey }, `${id.slice(0, 8)} (${attributes} attributes, ε = ${epsilon})`)),
  );
  await poisoning();
};

/** Learn how far liars can push the estimates of a whole survey. */
const poisoning = async () => {
  const response = await fetch(`${collector}/v1/survey?survey=${state.survey}`, { credentials: credentials() }).catch(() => undefined);
  const form = response?.ok ? await response.json() : {};
  state.poisoning = form.poisoning ? `How far liars can push estimates: ${form.poisoning}` : "";
};

const begin = async () => {
  try {
    await enter();
  } catch (error) {
    return askForToken(error.message);
  }
  if (token() === null) return askForToken();
  say("Loading…", true);
  await guard(async () => {
    if (!state.surveys.length) await surveys();
    await refresh();
  });
  turn = setTimeout(() => (state.surveys.length ? loop() : begin()), EVERY);
  return undefined;
};

at("#key form").addEventListener("submit", (event) => {
  event.preventDefault();
  keep(at("#token").value.trim());
  return begin();
});
at("#pause").addEventListener("click", () => {
  state.paused = !state.paused;
  at("#pause").setAttribute("aria-pressed", `${state.paused}`);
  at("#pause").textContent = state.paused ? "Go on" : "Pause";
  at("#updated").textContent = at("#updated").textContent.replace(/^\w+/, state.paused ? "Paused" : "Live");
  if (!state.paused) loop();
});
at("#leave").addEventListener("click", () => {
  state.drawn = "";
  askForToken();
});
at("#which select").addEventListener("change", async (event) => {
  Object.assign(state, { survey: event.target.value, group: {}, pool: [], language: "", chosen: [], drawn: "" });
  at("#attributes").replaceChildren();
  at("#table").replaceChildren();
  await guard(async () => {
    await poisoning();
    await refresh();
  });
});
at("#with select").addEventListener("change", (event) => {
  Object.assign(state, { pool: event.target.value ? [event.target.value] : [], group: {}, language: "", chosen: [], drawn: "" });
  at("#attributes").replaceChildren();
  at("#table").replaceChildren();
  return guard(refresh);
});
at("#whose select").addEventListener("change", (event) => {
  state.group = JSON.parse(event.target.value);
  return guard(refresh);
});
at("#language select").addEventListener("change", (event) => {
  state.language = event.target.value;
  return guard(refresh);
});
at("#within select").addEventListener("change", () => state.shown.table?.());
at("#consistency").addEventListener("change", (event) => {
  at("#unbiased").checked = event.target.value === "none";
  return guard(table);
});
at("#unbiased").addEventListener("change", (event) => {
  at("#consistency").value = event.target.checked ? "none" : at("#consistency").options[0].value;
  return guard(table);
});

/** Fetch a file with the token, and give it to the person as a download. */
const save = async (name) => {
  at("#saved").textContent = "Making the file…";
  const response = await request(`release/${name}`, { consistency: at("#consistency").value });
  const link = make("a", { href: URL.createObjectURL(await response.blob()), download: `${[state.survey.slice(0, 16), ...Object.values(state.group)].join("-").replace(/[^\p{L}\p{N}-]+/gu, "_")}.${name === "report" ? "html" : name.split(".")[1]}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  at("#saved").textContent = `${link.download} is downloaded.`;
};
at("#files").addEventListener("click", (event) => {
  const { file } = event.target.dataset;
  if (file) guard(() => save(file)).finally(() => at("#saved").textContent === "Making the file…" && (at("#saved").textContent = ""));
});

let redrawing;
let width = innerWidth;
addEventListener("resize", () => {
  clearTimeout(redrawing);
  if (innerWidth === width) return; // a phone hides its address bar
  redrawing = setTimeout(() => {
    width = innerWidth;
    if (at("#data").hidden) return;
    errors();
    for (const again of Object.values(state.shown)) again();
  }, 150);
});
addEventListener("hashchange", () => location.hash && begin());
document.addEventListener("visibilitychange", () => !document.hidden && turn && loop());
tips(at("#tip"));
begin();

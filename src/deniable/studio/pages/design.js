/** Designing: sliders, and at once what so many people will show. */

import { post } from "./api.js";
import { at, make } from "./dom.js";
import { button, choice, commandLine, field, on, save, settled, state, thousands } from "./parts.js";

const MOST_PAIRS = 3;
const PEOPLE = [50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10000, 20000, 50000, 100000, 200000, 500000, 1000000, 10000000];
const AIMS = [["tables", "Tables: how things occur together"], ["associations", "Associations: which things go together"], ["unbiased", "Unbiased numbers, for other programs"]];
const ORDERS = { 1: "single questions only", 2: "pairs of questions", 3: "three questions together" };

let round = 0;
let isChoosing = false;
let planTimer, needsTimer;

const design = () => (state.form.design ??= {});
const names = () => (state.form.attributes ?? []).map(({ name }) => name);
const orderOf = () => Math.min(design().order ?? 2, Math.max(1, names().length));
const epsilonOf = () => design().epsilon ?? 1.1;
const peopleOf = () => design().people ?? 100000;
const pairsOf = () => (design().tables ?? []).filter(({ attributes }) => attributes.length > 1);

/** What holds at most is rounded up, as on the participant's page. */
const atMost = (share) => `${(Math.ceil(1000 * share - 1e-6) / 10).toFixed(1)}\u00a0%`;
const suspicion = (epsilon) => 1 / (1 + Math.exp(-epsilon));
const points = (width) => `± ${width < 10 ? width.toFixed(1) : Math.round(width)}`;

const change = (fields) => {
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) delete design()[name];
    else design()[name] = value;
  }
  save();
  plan();
};

// Sliders

const slider = (label, range, value, words, set) => {
  const id = `slider-${label.split(" ")[0].toLowerCase()}`;
  const output = make("output", { for: id });
  const input = make("input", { type: "range", id, autocomplete: "off", ...range });
  input.value = value;
  const show = () => {
    output.textContent = words(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => {
    show();
    set(Number(input.value));
  });
  show();
  return make("div", { class: "slider" }, make("div", { class: "top" }, make("label", { for: id }, label), output), input);
};

const nearest = (people) => PEOPLE.reduce((best, each, index) => (Math.abs(Math.log(each / people)) < Math.abs(Math.log(PEOPLE[best] / people)) ? index : best), 0);

const drawSliders = () => {
  const focused = document.activeElement?.id;
  const most = Math.min(3, Math.max(1, names().length));
  const exact = make("input", { type: "number", id: "people-exact", min: 1, step: 1, autocomplete: "off" });
  exact.value = peopleOf();
  const people = slider("People who will answer", { min: 0, max: PEOPLE.length - 1, step: 1 }, nearest(peopleOf()), (index) => thousands(PEOPLE[index]), (index) => {
    exact.value = PEOPLE[index];
    change({ people: PEOPLE[index] });
  });
  exact.addEventListener("change", () => {
    if (!(exact.valueAsNumber >= 1)) return;
    change({ people: Math.round(exact.valueAsNumber) });
    at("#slider-people").value = nearest(peopleOf());
    at("#slider-people").setAttribute("aria-valuetext", thousands(peopleOf()));
    at("#sliders output").textContent = thousands(peopleOf());
  });
  at("#sliders").replaceChildren(
    people,
    field("… or exactly", exact),
    slider("Protection (ε)", { min: 0.2, max: 3, step: 0.1 }, epsilonOf(), (e) => `ε = ${e.toFixed(1)}: 50\u00a0% becomes at most ${atMost(suspicion(e))}`, (e) => change({ epsilon: e })),
    slider("Tables of", { min: 1, max: most, step: 1 }, orderOf(), (order) => ORDERS[order], (order) => {
      const tables = design().tables?.filter(({ attributes }) => attributes.length <= order);
      change({ order, tables: order > 1 && tables?.some(({ attributes }) => attributes.length > 1) ? tables : undefined });
      drawPairs();
    }),
    field("Good at", choice(AIMS, design().aim ?? "tables", (aim) => change({ aim: aim === "tables" ? undefined : aim }), { id: "aim" })),
  );
  if (focused) document.getElementById(focused)?.focus();
};

// The pairs that matter

/** Name the pairs that matter; other questions are asked by themselves. */
const setPairs = (pairs) => {
  const paired = new Set(pairs.flat());
  const alone = names().filter((name) => !paired.has(name));
  change({ tables: pairs.length ? [...pairs.map((attributes) => ({ attributes })), ...alone.map((name) => ({ attributes: [name] }))] : undefined });
};

const drawPairs = (focus) => {
  const box = at("#pairs");
  const all = names();
  const pairs = pairsOf().map(({ attributes }) => attributes);
  if (orderOf() < 2 || all.length < 3 || (!pairs.length && !isChoosing) || pairs.some((pair) => pair.length > 2)) return box.replaceChildren();
  const options = all.map((name) => [name, name]);
  const rows = pairs.map((pair, index) => {
    const set = (side) => (name) => {
      const changed = pairs.map((each) => [...each]);
      changed[index][side] = name;
      if (changed[index][0] === changed[index][1]) changed[index][1 - side] = all.find((each) => each !== name);
      setPairs(changed);
      drawPairs(`[data-pair="${index}${side}"]`);
    };
    return make("div", { class: "pair", role: "group", "aria-label": `Pair ${index + 1}` },
      field(`Pair ${index + 1}`, choice(options, pair[0], set(0), { "data-pair": `${index}0` })),
      field("with", choice(options, pair[1], set(1), { "data-pair": `${index}1` })),
      button("Remove", () => {
        setPairs(pairs.filter((_, each) => each !== index));
        isChoosing = pairs.length > 1;
        drawPairs("button");
        if (pairs.length === 1) at("#slider-people").focus();
      }, { class: "slight", "aria-label": `Remove pair ${index + 1}` }));
  });
  const add = () => {
    const taken = new Set(pairs.map((pair) => [...pair].sort().join("\n")));
    const free = all.flatMap((a, index) => all.slice(index + 1).map((b) => [a, b])).find((pair) => !taken.has([...pair].sort().join("\n")));
    setPairs([...pairs, free]);
    drawPairs(`[data-pair="${pairs.length}0"]`);
  };
  box.replaceChildren(make("fieldset", {}, make("legend", {}, "The pairs that matter"),
    make("p", { class: "small soft" }, "Answers are spent on these pairs; all other questions are asked by themselves."), ...rows,
    ...(pairs.length < Math.min(MOST_PAIRS, (all.length * (all.length - 1)) / 2) ? [button("Add a pair", add)] : [])));
  if (focus) at(focus, box)?.focus();
  return undefined;
};

/** Do what a warning offers. */
const mend = (fields) => {
  if (fields.tables === "choose") {
    isChoosing = true;
    const [a, b] = names();
    setPairs([[a, b]]);
    drawPairs('[data-pair="00"]');
    return;
  }
  isChoosing = false;
  change({ ...fields, ...(fields.tables && { tables: fields.tables.length ? fields.tables : undefined }) });
  drawSliders();
  drawPairs();
  at("#slider-tables").focus();
};

// What it will show

const fact = (name, value, more = "") => make("div", {}, make("dt", {}, name), make("dd", {}, value, more && make("span", { class: "small soft" }, ` ${more}`)));

const track = (low, high, at_) => {
  const [line, mark] = [make("i"), make("b")];
  line.style.left = `${low}%`;
  line.style.width = `${high - low}%`;
  mark.style.left = `${at_}%`;
  return make("div", { class: "track", "aria-hidden": "true" }, line, mark);
};

const strengthWords = (v) => (v > 0.5 ? "none but the very strongest" : v > 0.3 ? "strong ones only" : v > 0.1 ? "moderate ones" : "weak ones, too");

const show = (outlook) => {
  const { share_points: share, detectable_v: v, suspicion: most, warnings } = outlook;
  const width = share ?? 50;
  at("#facts").replaceChildren(
    fact("A share is told to", share === null ? "nothing" : points(share), "points"),
    ...(orderOf() > 1 ? [fact("Smallest association found", v === null || v > 1 ? "none" : `V = ${v.toFixed(2)}`, v === null || v > 1 ? "" : `(${strengthWords(v)})`)] : []),
    fact("Somebody’s suspicion", `50 % → ${atMost(most)}`, "at most"),
    make("div", { id: "need-share" }, make("dt", {}, "People for ± 5 points"), make("dd", {}, "…")),
    ...(orderOf() > 1 ? [make("div", { id: "need-v" }, make("dt", {}, "People for weak associations (V = 0.1)"), make("dd", {}, "…"))] : []),
  );
  const low = Math.max(0, 30 - width);
  const high = Math.min(100, 30 + width);
  at("#pictures").replaceChildren(
    make("div", { class: "picture" }, make("p", {}, `If 30 % say yes, you will read ${Math.round(low)} to ${Math.round(high)} %, in 95 of 100 surveys.`), track(low, high, 30)),
    make("div", { class: "picture" }, make("p", {}, `Whoever sees one answer, and had a 50 % suspicion about that person, has at most ${atMost(most)} afterwards.`), track(50, 100 * most, 50)),
  );
  at("#warnings").replaceChildren(
    ...warnings.map(({ text, remedies }) =>
      make("div", { class: "warning" }, make("p", {}, text), make("div", { class: "actions" }, remedies.map(({ label, change: fields }) => button(label, () => mend(fields), { class: "slight" }))))),
  );
  at("#planned").replaceChildren(commandLine(outlook.command));
  const found = v === null || v > 1 ? " No association is found." : ` Associations are found from V = ${v.toFixed(2)} on.`;
  at("#outlook-told").textContent = `A share is told to ${points(width)} points.${orderOf() > 1 ? found : ""} ${warnings.map(({ text }) => text).join(" ")}`;
};

let isPlanning = false;

/** Ask what the design will show, once at a time: the last that was asked for is what counts. */
const plan = () => {
  clearTimeout(planTimer);
  clearTimeout(needsTimer);
  if (at("#design").hidden) return;
  planTimer = setTimeout(async () => {
    if (isPlanning) {
      plan();
      return;
    }
    isPlanning = true;
    const own = ++round;
    const body = { design: { ...design() } };
    try {
      const outlook = await post("plan", body);
      if (own !== round) return;
      show(outlook);
      needsTimer = setTimeout(() => tellNeeds(body, own), 250);
    } catch (error) {
      if (own !== round) return;
      for (const id of ["#facts", "#pictures", "#planned"]) at(id).replaceChildren();
      at("#warnings").replaceChildren(make("div", { class: "warning" }, make("p", {}, error.message)));
    } finally {
      isPlanning = false;
    }
  }, 90);
};

let isAsking = false;

/** Ask how many people it takes, once at a time as well: of a long questionnaire that is long work. */
const tellNeeds = async (body, own) => {
  if (own !== round) return;
  if (isAsking) {
    needsTimer = setTimeout(() => tellNeeds(body, own), 250);
    return;
  }
  isAsking = true;
  try {
    const people = await post("needs", body);
    if (own !== round) return;
    at("#need-share dd").textContent = people.share === null ? "no number is enough" : thousands(people.share);
    if (at("#need-v dd")) at("#need-v dd").textContent = people.association === null ? "no number is enough" : thousands(people.association);
  } catch {
    if (own !== round) return;
    for (const each of document.querySelectorAll("#need-share dd, #need-v dd")) each.textContent = "–";
  } finally {
    isAsking = false;
  }
};

export const startDesign = () => {
  let form;
  on("form", async () => {
    if (at("#design").hidden) return;
    if (form !== JSON.stringify([names(), design()])) {
      form = JSON.stringify([names(), design()]);
      drawSliders();
      drawPairs();
    }
    await settled();
    plan();
  });
};

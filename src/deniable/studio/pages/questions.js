/** The list of questions: each a card that folds, with all that can be said of it. */

import { at, make } from "./dom.js";
import { button, check, choice, field, numberInput, save, state, textInput } from "./parts.js";
import { anyWords, languages, setWords, shortName, words } from "./words.js";

const KINDS = { truth: "yes or no", choice: "one of several", number: "a number", text: "set in the text" };
const NO_ANSWER = "no answer";
const NO_ANSWER_WORDS = { en: "I would rather not say", de: "Möchte ich nicht sagen", fr: "Je préfère ne pas répondre", es: "Prefiero no decirlo", ar: "أفضّل ألا أجيب" };

const questions = () => (state.form.attributes ??= []);
const names = () => questions().map(({ name }) => name);

const kindOf = (own) => ("points" in own || "edges" in own || typeof own.low === "string" ? "text" : "low" in own ? "number" : "values" in own ? "choice" : "truth");

// What other parts of the questionnaire say of a question goes along with it

const clauses = (when) => when.all ?? [when];

const rename = (own, name) => {
  for (const each of questions()) if (each.when) for (const clause of clauses(each.when)) if (clause.attribute === own.name) clause.attribute = name;
  for (const list of [...(state.form.pages ?? []), ...(state.form.design?.tables ?? [])]) list.attributes = list.attributes.map((each) => (each === own.name ? name : each));
  own.name = name;
};

const isPaged = () => {
  const order = (state.form.pages ?? []).flatMap(({ attributes }) => attributes);
  return !state.form.pages || order.join("\n") === names().join("\n");
};

/** Put the questions on pages: a page begins with each of these. */
const setPages = (begins) => {
  const earlier = new Map((state.form.pages ?? []).map((page) => [page.attributes[0], page]));
  const pages = [];
  names().forEach((name, index) => {
    if (!index || begins.has(name)) pages.push({ ...earlier.get(name), attributes: [] });
    pages.at(-1).attributes.push(name);
  });
  if (pages.length > 1 || pages[0]?.title || pages[0]?.introduction) state.form.pages = pages;
  else delete state.form.pages;
};

const begins = () => new Set((state.form.pages ?? []).slice(1).map(({ attributes }) => attributes[0]));

/** Change the list of questions; pages follow, unless the text has them in another order. */
const reorder = (change) => {
  const own = isPaged() && begins();
  change();
  if (own) setPages(own);
};

const forget = (name) => {
  if (state.form.design?.tables) {
    state.form.design.tables = state.form.design.tables.filter(({ attributes }) => !attributes.includes(name));
    if (!state.form.design.tables.length) delete state.form.design.tables;
  }
  if (state.form.pages && !isPaged()) {
    for (const page of state.form.pages) page.attributes = page.attributes.filter((each) => each !== name);
    state.form.pages = state.form.pages.filter(({ attributes }) => attributes.length);
  }
};

// Adding, removing, moving

const focusOn = (own, selector = "textarea") => {
  const card = at(`#questions > li:nth-child(${questions().indexOf(own) + 1})`);
  if (!card) return;
  at("details", card).open = true;
  at(selector, card)?.focus();
};

export const addQuestion = (kind) => {
  const own = { name: shortName("", names(), `q${questions().length + 1}`) };
  if (kind === "choice") Object.assign(own, { values: [{ value: "a" }, { value: "b" }], complete: true });
  if (kind === "number") Object.assign(own, { low: 0, high: 100, step: 1, complete: true });
  following.add(own);
  reorder(() => questions().push(own));
  save();
  drawQuestions(own);
  focusOn(own);
};

/** Remove a question, and offer to bring it back. */
const remove = (own) => {
  const before = JSON.stringify(state.form);
  const position = questions().indexOf(own);
  reorder(() => questions().splice(position, 1));
  forget(own.name);
  save();
  drawQuestions();
  const bring = button("Undo", () => {
    const earlier = JSON.parse(before);
    Object.assign(state.form, { attributes: earlier.attributes, design: earlier.design });
    if (earlier.pages) state.form.pages = earlier.pages;
    else delete state.form.pages;
    save();
    drawQuestions();
    at("#undo").replaceChildren();
    at(`#questions > li:nth-child(${position + 1}) summary`)?.focus();
  });
  at("#undo").replaceChildren(make("span", {}, `Question ${position + 1}, ${own.name}, is removed.`), bring);
  bring.focus();
};

const move = (own, by) => {
  const list = questions();
  const from = list.indexOf(own);
  reorder(() => list.splice(from + by, 0, ...list.splice(from, 1)));
  save();
  drawQuestions();
  focusOn(own, by < 0 ? "[data-move=up]" : "[data-move=down]");
};

const double = (own) => {
  const copy = { ...JSON.parse(JSON.stringify(own)), name: shortName(own.name, names(), "q") };
  reorder(() => questions().splice(questions().indexOf(own) + 1, 0, copy));
  save();
  drawQuestions(copy);
  focusOn(copy);
};

// One question

/** Questions, and answers, whose names follow from their words as long as nobody typed another. */
const following = new WeakSet();

const setText = (holder, name) => (value) => {
  setWords(holder, name, value);
  save();
};

const inLanguage = (holder, name) => ({ lang: state.language, dir: "auto", placeholder: state.language === languages()[0] ? undefined : anyWords(holder, name) });

/** Give one answer another value; conditions that name it go along. */
const revalue = (own, holder, value) => {
  const earlier = holder.value;
  for (const each of questions()) {
    for (const clause of each.when ? clauses(each.when) : []) {
      if (clause.attribute !== own.name) continue;
      clause.is = Array.isArray(clause.is) ? clause.is.map((one) => (one === earlier ? value : one)) : clause.is === earlier ? value : clause.is;
    }
  }
  if (own.when?.otherwise === earlier) own.when.otherwise = value;
  if (own.missing === earlier) own.missing = value;
  holder.value = value;
  following.delete(holder);
};

const valuesEditor = (own, redraw) => {
  const list = make("ul", { class: "values" });
  const plain = (index) => {
    if (typeof own.values[index] !== "object") own.values[index] = { value: own.values[index] };
    return own.values[index];
  };
  own.values.forEach((_, index) => {
    const value = plain(index);
    const id = make("input", { type: "text", autocomplete: "off" });
    id.value = String(value.value);
    id.addEventListener("input", () => {
      revalue(own, value, id.value);
      save();
    });
    const label = textInput(words(value, "label"), (text) => {
      setWords(value, "label", text);
      // A new answer's value follows its words; one that has been there is what tables, and other files, know.
      const isFresh = following.has(value) || /^[a-z]$/.test(value.value);
      if (isFresh && state.language === languages()[0] && text.trim()) {
        const others = own.values.filter((each) => each !== value).map((each) => String(each.value));
        revalue(own, value, shortName(text, others, value.value));
        id.value = value.value;
        following.add(value);
      }
      save();
    }, inLanguage(value, "label"));
    const drop = button("Remove", () => {
      own.values.splice(index, 1);
      save();
      redraw("[data-add-value]");
    }, { class: "slight", "aria-label": `Remove answer ${index + 1}` });
    list.append(make("li", {}, field(`Answer ${index + 1}`, label), field("In tables", id), drop));
  });
  const add = button("Add an answer", () => {
    const others = own.values.map((each) => String(each.value ?? each));
    const value = { value: "abcdefghijklmnopqrstuvwxyz".split("").find((letter) => !others.includes(letter)) ?? shortName("", others, "x") };
    own.values.push(value);
    save();
    redraw(`.values li:nth-child(${own.values.length}) input`);
  }, { class: "slight", "data-add-value": "" });
  return make("fieldset", { "data-place-box": "" }, make("legend", {}, "Answers"), list, make("p", {}, add));
};

const numberEditor = (own) => {
  const change = (name) => (value) => {
    if (value === undefined) delete own[name];
    else own[name] = value;
    save();
  };
  const at_ = questions().indexOf(own);
  return make("div", { class: "row" },
    field("From", numberInput(own.low, change("low")), { place: `${at_}:low` }),
    field("To", numberInput(own.high, change("high")), { place: `${at_}:high` }),
    field("In steps of", numberInput(own.step, change("step"), { min: 0 }), { place: `${at_}:step` }),
    field("Unit", textInput(words(own, "unit"), setText(own, "unit"), inLanguage(own, "unit")), { place: `${at_}:unit` }));
};

/** Whether everybody has an answer: else silence would show. */
const missingEditor = (own, kind, redraw) => {
  const offered = own.missing !== undefined;
  const value = offered ? "missing" : own.complete || kind === "truth" ? "complete" : "open";
  const options = [["complete", "Everybody has one of these answers"], ["missing", "Offer “no answer” as an answer"]];
  const list = choice(value === "open" ? [["open", "Please say…"], ...options] : options, value, (chosen) => {
    delete own.missing;
    delete own.label_missing;
    delete own.complete;
    if (chosen === "missing") {
      own.missing = NO_ANSWER;
      const all = Object.fromEntries(languages().map((code) => [code, NO_ANSWER_WORDS[code]]).filter(([, text]) => text));
      const [first] = languages();
      if (all[first]) own.label_missing = languages().length === 1 ? all[first] : all;
    } else if (kind !== "truth") own.complete = true;
    save();
    redraw("[data-missing]");
  }, { "data-missing": "" });
  const parts = [field("Who cannot or will not answer", list, { place: `${questions().indexOf(own)}:missing`, hint: "Whoever finds no answer that fits stays silent, and that shows." })];
  if (offered) parts.push(field("How “no answer” is worded", textInput(words(own, "label_missing"), setText(own, "label_missing"), inLanguage(own, "label_missing")), { place: `${questions().indexOf(own)}:label_missing` }));
  return parts;
};

/** The values of a question that a condition can name, as pairs of key and words. */
const answersOf = (own) => {
  const values = own.values ? own.values.map((each) => each.value ?? each) : "low" in own ? [] : [true, false];
  if (own.missing !== undefined && !values.includes(own.missing)) values.push(own.missing);
  const wordsOf = (value) => {
    const found = own.values?.find((each) => (each.value ?? each) === value);
    return (typeof found === "object" && anyWords(found, "label")) || (value === true ? "yes" : value === false ? "no" : String(value));
  };
  return values.map((value) => [JSON.stringify(value), wordsOf(value)]);
};

const conditionEditor = (own, redraw) => {
  const earlier = questions().slice(0, questions().indexOf(own)).filter((each) => answersOf(each).length);
  const { when } = own;
  const isSimple = !when || (!when.all && earlier.some(({ name }) => name === when.attribute) && !Array.isArray(when.is) && typeof when.is !== "object");
  if (!earlier.length && !when) return [];
  const place = `${questions().indexOf(own)}:when`;
  if (!isSimple) {
    const away = button("Ask always", () => {
      delete own.when;
      save();
      redraw("[data-when]");
    }, { class: "slight", "data-place": place, "data-when": "" });
    return [make("p", { class: "small soft" }, "This is asked under a condition that is set in the text. ", away)];
  }
  const on = earlier.find(({ name }) => name === when?.attribute);
  const skipped = answersOf(own);
  const set = (change, focus) => {
    change();
    save();
    redraw(focus);
  };
  const list = choice([["", "Always"], ...earlier.map(({ name }) => [name, `Only after an answer to ${name}`])], when?.attribute ?? "", (name) =>
    set(() => {
      if (!name) delete own.when;
      else {
        const other = earlier.find((each) => each.name === name);
        const otherwise = own.missing ?? ("low" in own ? own.low : JSON.parse(skipped.at(-1)[0]));
        own.when = { attribute: name, is: JSON.parse(answersOf(other)[0][0]), otherwise };
      }
    }, "[data-when]"), { "data-when": "" });
  const parts = [field("When it is asked", list, { place })];
  if (on) {
    parts.push(field("… which is", choice(answersOf(on), JSON.stringify(when.is), (value) => set(() => (when.is = JSON.parse(value)), "[data-is]"), { "data-is": "" })));
    const other = skipped.length
      ? choice(skipped, JSON.stringify(when.otherwise), (value) => set(() => (when.otherwise = JSON.parse(value)), "[data-otherwise]"), { "data-otherwise": "" })
      : numberInput(when.otherwise, (value) => {
          when.otherwise = value ?? own.low;
          save();
        });
    parts.push(field("Whoever is not asked counts as", other, { hint: "So that skipping tells no more than the answer before." }));
  }
  return [make("div", { class: "row" }, ...parts)];
};

const pageEditor = (own, redraw) => {
  const position = questions().indexOf(own);
  if (!isPaged()) return position ? [] : [make("p", { class: "small soft" }, "Pages are set in the text, in another order than the questions.")];
  const page = (state.form.pages ?? []).find(({ attributes }) => attributes[0] === own.name);
  const parts = [];
  if (position) {
    parts.push(check("Begin a new page before it", Boolean(page), (isOn) => {
      const all = begins();
      if (isOn) all.add(own.name);
      else all.delete(own.name);
      setPages(all);
      save();
      redraw("[data-page]");
    }, { "data-page": "" }));
  }
  if (page) parts.push(field("Title of this page", textInput(words(page, "title"), setText(page, "title"), inLanguage(page, "title"))));
  return parts;
};

const changeKind = (own, kind) => {
  for (const name of ["values", "ordered", "low", "high", "step", "log", "strict", "unit", "complete", "missing", "label_missing", "other", "when"]) delete own[name];
  if (kind === "choice") Object.assign(own, { values: [{ value: "a" }, { value: "b" }], complete: true });
  if (kind === "number") Object.assign(own, { low: 0, high: 100, step: 1, complete: true });
};

const bodyOf = (own, redraw, retitle) => {
  const position = questions().indexOf(own);
  const kind = kindOf(own);
  const name = textInput(own.name, (value) => {
    following.delete(own);
    rename(own, value.trim());
    retitle();
    save();
  }, { maxlength: 100 });
  const wording = textInput(words(own, "wording"), (text) => {
    setWords(own, "wording", text);
    const others = names().filter((each) => each !== own.name);
    if (state.language === languages()[0] && following.has(own) && text.trim()) {
      rename(own, shortName(text, others, own.name));
      name.value = own.name;
    }
    retitle();
    save();
  }, { lines: 2, ...inLanguage(own, "wording") });
  const kinds = Object.entries(KINDS).filter(([each]) => each !== "text" || kind === "text");
  const actions = [
    button("Up", () => move(own, -1), { class: "slight", "data-move": "up", disabled: !position, "aria-label": `Move question ${position + 1} up` }),
    button("Down", () => move(own, 1), { class: "slight", "data-move": "down", disabled: position === questions().length - 1, "aria-label": `Move question ${position + 1} down` }),
    button("Duplicate", () => double(own), { class: "slight", "aria-label": `Duplicate question ${position + 1}` }),
    button("Remove", () => remove(own), { class: "slight", "aria-label": `Remove question ${position + 1}` }),
  ];
  return [
    field("What people are asked", wording, { place: `${position}:wording`, wide: true }),
    make("div", { class: "row" },
      field("Short name, for tables", name, { place: `${position}:name` }),
      field("The answer is", choice(kinds, kind, (value) => {
        changeKind(own, value);
        save();
        redraw("[data-kind]");
      }, { "data-kind": "" }), { place: `${position}:values` })),
    ...(kind === "choice" ? [valuesEditor(own, redraw)] : kind === "number" ? [numberEditor(own)] : []),
    ...(kind === "text" ? [] : [make("div", { class: "row" }, ...missingEditor(own, kind, redraw))]),
    make("details", { class: "more", open: Boolean(own.help || own.when) }, make("summary", {}, "Help, condition, page"),
      field("What helps people to answer", textInput(words(own, "help"), setText(own, "help"), { lines: 2, ...inLanguage(own, "help") }), { place: `${position}:help`, wide: true }),
      ...conditionEditor(own, redraw), ...pageEditor(own, redraw)),
    make("div", { class: "actions" }, ...actions),
  ];
};

const card = (own, isOpen) => {
  const title = make("span", {});
  const kind = make("span", { class: "kind" });
  const body = make("div", { class: "body" });
  const retitle = () => {
    title.textContent = anyWords(own, "wording") || "No wording yet";
    kind.textContent = `${own.name} · ${KINDS[kindOf(own)]}`;
  };
  const redraw = (focus) => {
    const openParts = [...body.querySelectorAll("details")].map(({ open }) => open);
    body.replaceChildren(...bodyOf(own, redraw, retitle));
    body.querySelectorAll("details").forEach((each, index) => (each.open ||= openParts[index]));
    retitle();
    at(focus, body)?.focus();
  };
  body.replaceChildren(...bodyOf(own, redraw, retitle));
  retitle();
  return make("li", { class: "question" }, make("details", { open: isOpen }, make("summary", {}, title, kind), body));
};

/** Draw the list anew; cards that were open stay so, and so does one that is named. */
export const drawQuestions = (fresh) => {
  const open = new Set([...document.querySelectorAll("#questions > li > details[open]")].map((each) => each.own));
  at("#questions").replaceChildren(
    ...questions().map((own) => {
      const element = card(own, own === fresh || open.has(own));
      at("details", element).own = own;
      return element;
    }),
  );
};

/** Writing the questionnaire: as a form, or as the text of its file. */

import { post } from "./api.js";
import { at, make } from "./dom.js";
import { act, answer, button, changed, choice, field, on, save, settled, state, takeDraft, textInput } from "./parts.js";
import { addQuestion, drawQuestions } from "./questions.js";
import { LANGUAGES, anyWords, languageName, languages, renameLanguage, setLanguages, setWords, words } from "./words.js";

const OF_SURVEY = [
  ["title", "Title", 0, "What the survey is called."],
  ["introduction", "Introduction", 3, "What people read first."],
  ["who", "Who asks, and why", 3, ""],
  ["contact", "Whom people may ask", 1, "A name, and how to reach them."],
  ["consent", "What people agree to", 2, "Beside what is said of every survey."],
  ["thanks", "Thank-you", 2, "What people read when they have answered."],
  ["closed", "When the survey is over", 2, "What people read then."],
];
const FIRST = 2; // of these, so many are always seen

let isText = false;

/** A text of the survey in the language that is being written, with the default one's as an example. */
const surveyField = ([name, label, lines, hint]) => {
  const change = (value) => {
    setWords(state.form, name, value);
    save();
  };
  const isDefault = state.language === languages()[0];
  const more = { lang: state.language, dir: "auto", placeholder: isDefault ? undefined : anyWords(state.form, name) };
  return field(label, textInput(words(state.form, name), change, { lines, ...more }), { hint, place: `survey:${name}`, wide: true });
};

const drawSurvey = () => {
  const rest = OF_SURVEY.slice(FIRST);
  const isOpen = at("#of-survey details")?.open ?? rest.some(([name]) => state.form[name] !== undefined);
  at("#of-survey").replaceChildren(
    ...OF_SURVEY.slice(0, FIRST).map(surveyField),
    make("details", { class: "more", open: isOpen }, make("summary", {}, "Who asks, contact, consent, thanks"), rest.map(surveyField)),
  );
};

// Languages

const addLanguage = (code) => {
  if (!code || languages().includes(code)) return;
  setLanguages([...languages(), code]);
  state.language = code;
  save();
  draw();
  at(`[data-write="${code}"]`)?.focus();
};

const languageTools = () => {
  const all = languages();
  const others = Object.keys(LANGUAGES).filter((code) => !all.includes(code));
  const shown = make("div", { class: "switch", role: "group", "aria-label": "Language that you write in" },
    all.map((code) => button(languageName(code), () => {
      state.language = code;
      draw();
      at(`[data-write="${code}"]`)?.focus();
    }, { "aria-pressed": String(code === state.language), lang: code, "data-write": code })));
  const add = choice([["", "Add a language…"], ...others.map((code) => [code, languageName(code)]), ["other", "Another…"]], "", (code) => {
    const other = code === "other" ? prompt("The language's code, such as pt-BR")?.trim() : code;
    addLanguage(other);
    add.value = "";
  }, { "aria-label": "Add a language" });
  const isOnly = all.length === 1;
  const instead = choice([...Object.keys(LANGUAGES), ...all.filter((code) => !(code in LANGUAGES))].map((code) => [code, languageName(code)]), all[0], (code) => {
    renameLanguage(code);
    save();
    draw();
    at("#first-language")?.focus();
  }, { id: "first-language" });
  const drop = () => {
    setLanguages(all.filter((code) => code !== state.language));
    save();
    draw();
    at("#write-tools button")?.focus();
  };
  return [
    isOnly ? field("Language", instead) : shown,
    add,
    ...(isOnly || state.language === all[0] ? [] : [button(`Remove ${languageName(state.language)}`, drop)]),
  ];
};

// Import

const importFile = async (file) => {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  const draft = await post("import", { name: file.name, content: btoa(text) });
  [state.language] = draft.form?.languages ?? ["en"];
  takeDraft(draft);
  draw();
  showRows(draft.rows);
  return draft;
};

const OUTCOMES = { refused: "cannot be asked", "left out": "left out", imported: "imported" };

/** What came of each row of a form that was imported: what is lost comes first. */
const showRows = (rows) => {
  at("#import-rows")?.remove();
  if (!rows?.length) return;
  const line = ({ row, name, column, says }) => make("li", {}, `Row ${row} `, name && make("code", {}, name), `${column ? ` (column ${column})` : ""}: ${says}`);
  const group = ([outcome, words]) => {
    const own = rows.filter((row) => row.outcome === outcome);
    return own.length ? [make("details", { class: "more", open: outcome === "refused" }, make("summary", {}, `${own.length} of ${rows.length} rows ${words}`), make("ul", { class: "small", tabindex: 0, "aria-label": `Rows ${words}` }, own.map(line)))] : [];
  };
  at("#write-tools").after(make("div", { id: "import-rows", role: "status" }, Object.entries(OUTCOMES).flatMap(group)));
};

const importButton = () => {
  const input = make("input", { type: "file", accept: ".yaml,.yml,.toml,.json,.xlsx", class: "hidden", tabindex: -1, "aria-hidden": "true", "aria-label": "A questionnaire's file" });
  const click = button("Import a file…", () => input.click());
  input.addEventListener("change", async () => {
    const [file] = input.files;
    const isEmpty = !state.form.attributes?.length;
    if (file && (isEmpty || confirm("This puts the file in the place of what is written here, which is kept beside it, as survey.before-import.yaml or with a number. Go on?"))) {
      await act(click, async () => {
        await settled();
        return importFile(file);
      });
    }
    input.value = "";
  });
  return [click, input];
};

// Form or text

const showText = async (isOn) => {
  await settled();
  isText = isOn;
  at("#as-form").hidden = isOn;
  at("#as-text").hidden = !isOn;
  draw();
  at("[data-view][aria-pressed=true]").focus();
};

const viewSwitch = () =>
  make("div", { class: "switch", role: "group", "aria-label": "How you write" },
    button("Form", () => showText(false), { "aria-pressed": String(!isText), "data-view": "form", disabled: isText && !state.draft?.form }),
    button("Text", () => showText(true), { "aria-pressed": String(isText), "data-view": "text" }));

// Flaws

const flawField = ({ attribute, field: name }) => {
  const holder = attribute === null ? "survey" : attribute;
  return at(`[data-place="${holder}:${name}"]`) ?? at(`[data-place="${holder}:wording"]`);
};

const goToFlaw = () => {
  const { place } = state.draft;
  if (isText) {
    const lines = at("#yaml").value.split("\n");
    const start = lines.slice(0, (place?.line ?? 1) - 1).join("\n").length;
    at("#yaml").focus();
    at("#yaml").setSelectionRange(start, start + (lines[(place?.line ?? 1) - 1]?.length ?? 0) + 1);
    return;
  }
  const input = flawField(place) ?? at("#add button");
  for (let parent = input.closest("details"); parent; parent = parent.parentElement.closest("details")) parent.open = true;
  input.focus();
};

/** Mark what is wrong, and say it. */
const showFlaw = () => {
  const { flaw, place, untranslated } = state.draft;
  for (const each of document.querySelectorAll("#write [aria-invalid]")) each.removeAttribute("aria-invalid");
  for (const each of document.querySelectorAll(".question.flawed")) each.classList.remove("flawed");
  const isEmpty = !state.form.title && !state.form.attributes?.length;
  at("#flaw").hidden = !flaw || isEmpty;
  at("#flaw p").textContent = flaw ?? "";
  at("#yaml-flaw").textContent = flaw ?? "";
  if (flaw && !isEmpty && !isText) {
    const input = flawField(place);
    input?.setAttribute("aria-invalid", "true");
    input?.closest(".question")?.classList.add("flawed");
  }
  if (isText) at("#yaml").toggleAttribute("aria-invalid", Boolean(flaw));
  const gaps = Object.entries(untranslated ?? {});
  at("#translate").hidden = !gaps.length;
  at("#translate").textContent = gaps.map(([code, names]) => `Not translated into ${languageName(code)} yet, so shown in ${languageName(languages()[0])}: ${names.slice(0, 4).join(", ")}${names.length > 4 ? ` and ${names.length - 4} more` : ""}.`).join(" ");
};

const draw = () => {
  if (!languages().includes(state.language)) [state.language] = languages();
  at("#write-tools").replaceChildren(...(isText ? [] : languageTools()), viewSwitch(), ...importButton());
  if (isText) {
    at("#yaml").value = state.draft.text;
  } else {
    drawSurvey();
    drawQuestions();
  }
  if (state.draft) showFlaw();
};

export const startWrite = () => {
  at("#yaml").addEventListener("input", () => save("text"));
  at("#flaw button").addEventListener("click", goToFlaw);
  at("#problem button").addEventListener("click", answer);
  at("#add").append(
    button("Add a yes/no question", () => addQuestion("truth"), { class: "main" }),
    button("Add a choice", () => addQuestion("choice")),
    button("Add a number", () => addQuestion("number")),
  );
  let form;
  on("draft", () => {
    if (form !== state.form || isText) {
      if (form !== state.form) draw();
      form = state.form;
      const view = at('[data-view="form"]');
      if (view) view.disabled = isText && !state.draft.form;
    }
    showFlaw();
  });
  on("form", () => state.draft && showFlaw());
  draw();
  changed("form");
};

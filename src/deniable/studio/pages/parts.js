/** What the areas share: where the questionnaire is kept, fields with labels, and sentences. */

import { at, make } from "./dom.js";
import { Problem, post } from "./api.js";

/** Everything that the page knows. `form` is the questionnaire, and is changed in place. */
export const state = { form: undefined, draft: undefined, surveys: [], collecting: null, language: "en" };

const listeners = { draft: [], surveys: [], collecting: [], form: [] };

/** Hear when something changed. */
export const on = (what, listener) => listeners[what].push(listener);

/** Say that something changed. */
export const changed = (...what) => what.forEach((each) => listeners[each].forEach((listener) => listener()));

// Problems and deeds

const box = () => at("#problem");
const ELSEWHERE = "changed-elsewhere";

/** Say what went wrong. */
export const tell = (error) => {
  if (!(error instanceof Problem)) throw error;
  at("p", box()).textContent = error.message;
  at("button", box()).textContent = error.name === ELSEWHERE ? "Load it again" : "Close";
  box().hidden = false;
  box().focus({ preventScroll: true });
  box().scrollIntoView({ block: "center" });
};

/** Close what was told; what was changed elsewhere is loaded. */
export const answer = () => {
  if (at("button", box()).textContent === "Close") untell();
  else location.reload();
};

export const untell = () => (box().hidden = true);

const copy = (text) => {
  const button = make("button", { type: "button", class: "slight", "aria-label": `Copy the command ${text}` }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return button;
};

/** A command as it is typed, to copy. */
export const commandLine = (text) => make("div", { class: "command" }, make("code", {}, `$ ${text}`), copy(text));

/** Show what was done. */
export const showDeeds = (deeds) => {
  if (!deeds) return;
  at("#did").hidden = !deeds.length;
  at("#did-last").textContent = deeds[0]?.text ?? "";
  at("#deeds").replaceChildren(
    ...deeds.map(({ text, files, commands }) =>
      make("li", {}, make("span", {}, text, " "), ...files.map((file) => [make("code", {}, file), " "]),
        ...commands.map(commandLine))),
  );
};

const WORKING = "Working…";

/** Do something that a button asks for; the button waits, which is told as well as any problem. */
export const act = async (button, work) => {
  if (button?.getAttribute("aria-disabled") === "true") return undefined;
  button?.setAttribute("aria-disabled", "true");
  untell();
  const earlier = at("#saved").textContent;
  saved(WORKING);
  try {
    const result = await work();
    showDeeds(result?.deeds);
    return result;
  } catch (error) {
    tell(error);
    return undefined;
  } finally {
    button?.removeAttribute("aria-disabled");
    if (at("#saved").textContent === WORKING) saved(earlier);
  }
};

// Saving

let timer, isSaving, isChanged;
const saved = (text) => (at("#saved").textContent = text);

/** Take what the studio says of the questionnaire. */
export const takeDraft = (draft, isOwn = false) => {
  state.draft = draft;
  if (!isOwn && draft.form) state.form = draft.form;
  changed("draft");
};

const saveNow = async () => {
  if (isSaving) return;
  isSaving = true;
  try {
    while (isChanged) {
      const how = isChanged;
      isChanged = undefined;
      const body = how === "text" ? { text: at("#yaml").value } : { form: state.form };
      const draft = await post("draft", { ...body, revision: state.draft.revision });
      showDeeds(draft.deeds);
      takeDraft(draft, how === "form");
      saved(draft.is_valid ? "Saved" : "Saved as a draft");
    }
  } catch (error) {
    isChanged = undefined;
    saved("Not saved");
    tell(error);
  } finally {
    isSaving = false;
  }
};

/** Save the questionnaire in a moment, from its form or from its text. */
export const save = (how = "form") => {
  isChanged = how;
  saved("Saving…");
  clearTimeout(timer);
  timer = setTimeout(saveNow, 350);
};

/** Save what waits, and go on when it is saved. */
export const settled = async () => {
  clearTimeout(timer);
  await saveNow();
  while (isSaving) await new Promise((done) => setTimeout(done, 20));
};

// Fields

let last = 0;

/** A field under its label; `hint` stands below it. */
export const field = (label, input, { hint, place, wide } = {}) => {
  const id = input.id || `f${++last}`;
  input.id = id;
  if (place) input.dataset.place = place;
  const parts = [make("label", { for: id }, label), input];
  if (hint) {
    input.setAttribute("aria-describedby", `${id}-hint`);
    parts.push(make("p", { class: "hint", id: `${id}-hint` }, hint));
  }
  return make("div", { class: wide ? "field wide" : "field" }, ...parts);
};

/** A line, or some lines, of text. */
export const textInput = (value, change, { lines, ...more } = {}) => {
  const input = lines ? make("textarea", { rows: lines, ...more }) : make("input", { type: "text", autocomplete: "off", ...more });
  input.value = value ?? "";
  input.addEventListener("input", () => change(input.value));
  return input;
};

export const numberInput = (value, change, more = {}) => {
  const input = make("input", { type: "number", autocomplete: "off", step: "any", ...more });
  input.value = value ?? "";
  input.addEventListener("input", () => change(Number.isFinite(input.valueAsNumber) ? input.valueAsNumber : undefined));
  return input;
};

/** A list to choose from; options are pairs of value and words. */
export const choice = (options, value, change, more = {}) => {
  const input = make("select", { autocomplete: "off", ...more }, options.map(([key, words]) => make("option", { value: key, selected: key === value }, words)));
  input.addEventListener("change", () => change(input.value));
  return input;
};

export const check = (label, isOn, change, more = {}) => {
  const input = make("input", { type: "checkbox", autocomplete: "off", checked: isOn, ...more });
  input.addEventListener("change", () => change(input.checked));
  return make("label", { class: "check" }, input, label);
};

export const button = (label, click, more = {}) => make("button", { type: "button", onclick: click, ...more }, label);

export const thousands = (number) => Math.round(number).toLocaleString("en");

/** A report in a frame of its own, and in a tab. */
export const reportFrame = (address, title) => [
  make("p", {}, make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, "Open the report in a tab of its own")),
  make("iframe", { class: "report", src: address, title, sandbox: "allow-scripts", referrerpolicy: "no-referrer" }),
];

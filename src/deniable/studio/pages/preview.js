/** The participant's page, live: on a stage of its own, which cannot reach this page. */

import { post } from "./api.js";
import { at, make } from "./dom.js";
import { button, on, state } from "./parts.js";
import { languageName, languages } from "./words.js";

let shown, timer, language;
let isLoading = false;

const isSeen = () => !at("#preview").hidden && at("#preview").checkVisibility();
const told = (text) => (at("#preview-told").textContent = text);

/** Load the page, in a language, as if for the first time: in a new frame, which is of another origin from its beginning. */
const load = ({ address }) =>
  at("#phone").replaceChildren(
    make("iframe", {
      src: `${address}?language=${encodeURIComponent(language)}&at=${Date.now()}`, title: "The participant’s page, at the width of a phone",
      sandbox: "allow-scripts allow-same-origin allow-forms", referrerpolicy: "no-referrer",
    }),
  );

/** Show the page as the questionnaire is; one at a time, since a long one takes a while to design. */
const refresh = async (isForced = false) => {
  if (!state.draft || !isSeen()) return;
  if (isLoading) {
    soon();
    return;
  }
  tools();
  if (!state.draft.is_valid) {
    told(shown ? "The page is as it was: the questionnaire is not whole just now." : "The page is shown as soon as the questionnaire is whole.");
    return;
  }
  const wanted = `${state.draft.revision} ${language}`;
  if (wanted === shown && !isForced) return;
  shown = wanted;
  isLoading = true;
  try {
    const stage = await post("preview");
    load(stage);
    told(`Survey ${stage.survey.slice(0, 8)}, as it would be.`);
  } catch (error) {
    told(error.message);
  } finally {
    isLoading = false;
  }
};

const tools = () => {
  if (!languages().includes(language)) [language] = languages();
  const focused = document.activeElement?.dataset?.language;
  at("#preview-tools").replaceChildren(
    make("div", { class: "switch", role: "group", "aria-label": "Language of the participant’s page" },
      languages().map((code) =>
        button(languageName(code), () => {
          language = code;
          refresh();
        }, { "aria-pressed": String(code === language), lang: code, "data-language": code }))),
    button("Start again", () => refresh(true)),
  );
  if (focused) at(`#preview-tools [data-language="${focused}"]`)?.focus();
};

const soon = () => {
  clearTimeout(timer);
  timer = setTimeout(refresh, 600);
};

export const startPreview = () => {
  tools();
  on("draft", soon);
  on("form", soon);
};

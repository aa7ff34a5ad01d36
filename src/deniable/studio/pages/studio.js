/** The studio: its areas, and which of them is shown. */

import { get, open } from "./api.js";
import { at, make } from "./dom.js";
import { changed, on, settled, showDeeds, state, takeDraft, tell, untell } from "./parts.js";
import { startDesign } from "./design.js";
import { startLater } from "./later.js";
import { startPreview } from "./preview.js";
import { startWrite } from "./write.js";

const AREAS = ["write", "design", "preview", "try", "freeze", "collect", "read"];
const BESIDE = ["write"]; // the preview stands beside it where there is room

const area = () => AREAS.find((name) => `#${name}` === location.hash) ?? "write";

/** Show an area; `isChosen` by the person, whose focus goes there. */
const show = async (isChosen) => {
  const name = area();
  untell();
  for (const each of AREAS) {
    const section = at(`#${each}`);
    section.hidden = each !== name && !(each === "preview" && BESIDE.includes(name));
    section.classList.toggle("beside-one", each === "preview" && name !== "preview");
  }
  document.body.dataset.area = name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });
    } else link.removeAttribute("aria-current");
  }
  const heading = at(`#${name}-head`);
  document.title = `${heading.textContent} · deniable studio`;
  if (isChosen) {
    scrollTo({ top: 0, behavior: "instant" });
    heading.focus({ preventScroll: true });
    await settled();
  }
  changed("form");
};

/** Tell whether the address of another session came, as of a studio started again at this port; it is opened. */
const isNewSession = () => {
  const isOne = location.hash.startsWith("#token=");
  if (isOne) location.reload();
  return isOne;
};

const begin = async () => {
  let hasSession = false;
  try {
    hasSession = await open();
    if (hasSession) {
      const { folder, draft, surveys, free_name: freeName, deeds, collecting } = await get("state");
      Object.assign(state, { surveys, freeName, collecting, language: draft.form?.languages?.[0] ?? "en" });
      state.form = draft.form ?? { deniable: "questionnaire", format: 1, languages: ["en"], attributes: [] };
      at("#folder").append("in ", make("code", {}, folder));
      showDeeds(deeds);
      startWrite();
      startDesign();
      startPreview();
      startLater();
      takeDraft(draft);
      changed("surveys", "collecting");
      at("nav").hidden = false;
      addEventListener("hashchange", () => isNewSession() || show(true));
      addEventListener("beforeunload", (event) => at("#saved").textContent === "Saving…" && event.preventDefault());
      await show(false);
      return;
    }
  } catch (error) {
    if (!["session-unknown", "token-spent"].includes(error.name)) return tell(error);
  }
  at("#closed").hidden = false;
  at("#closed-head").focus();
  addEventListener("hashchange", isNewSession);
};

on("draft", () => document.body.classList.toggle("whole", Boolean(state.draft?.is_valid)));
begin();

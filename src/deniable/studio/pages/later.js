/** What comes after writing: trying, freezing, collecting, reading. */

import { get, post } from "./api.js";
import { at, make } from "./dom.js";
import { act, button, changed, check, choice, field, numberInput, on, reportFrame, settled, showDeeds, state, takeDraft, textInput, thousands } from "./parts.js";

const POLL = 3000;
const percent = (share) => `${(100 * share).toFixed(share > 0.0995 ? 0 : 1)} %`;

// Try

const track = ({ share, read, low, high }) => {
  if (read === undefined) return "not asked";
  const clip = (value) => Math.min(100, Math.max(0, 100 * value));
  const [line, mark, truth] = [make("i"), make("b"), make("em")];
  line.style.left = `${clip(low)}%`;
  line.style.width = `${clip(high) - clip(low)}%`;
  mark.style.left = `${clip(read)}%`;
  truth.style.left = `${clip(share)}%`;
  return make("div", { class: "track", "aria-hidden": "true" }, line, mark, truth);
};

const questionTable = ({ name, wording, rows }) =>
  make("div", {}, make("h3", {}, wording), make("div", { class: "scroll", role: "region", "aria-label": wording, tabindex: 0 },
    make("table", {}, make("caption", { class: "hidden" }, `${name}: made-up shares, and what is read`),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, name), make("th", { scope: "col", class: "number" }, "made up"), make("th", { scope: "col", class: "number" }, "read"), make("td", {}))),
      make("tbody", {}, rows.map((row) =>
        make("tr", {}, make("th", { scope: "row" }, row.value === "True" ? "yes" : row.value), make("td", { class: "number" }, percent(row.share)),
          make("td", { class: "number" }, row.read === undefined ? "–" : percent(row.read)), make("td", { class: "drawn" }, track(row))))))));

const pairTable = (pairs) =>
  make("div", {}, make("h3", {}, "Which questions go together"), make("div", { class: "scroll", role: "region", "aria-label": "Pairs", tabindex: 0 },
    make("table", {}, make("caption", { class: "hidden" }, "The strongest pairs among the made-up people"),
      make("thead", {}, make("tr", {}, ["pair", "made up (V)", "would a test find it?"].map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, pairs.map(({ a, b, strength, is_found: isFound }) => make("tr", {}, make("th", { scope: "row" }, `${a} × ${b}`), make("td", {}, strength.toFixed(2)), make("td", {}, isFound ? "yes" : "no, it is lost in the noise")))))));

const legend = () => {
  const [line, mark, truth] = [make("i"), make("b"), make("em")];
  line.style.cssText = "left: 10%; width: 80%";
  [mark.style.left, truth.style.left] = ["50%", "50%"];
  const sample = (part) => make("span", { class: "track", "aria-hidden": "true" }, part);
  return make("p", { class: "legend-line" }, make("span", {}, sample(truth), "made up: the truth"), make("span", {}, sample(mark), "read"), make("span", {}, sample(line), "95 % interval"));
};

const startTry = () => {
  let seed = 0;
  const people = numberInput(2000, () => undefined, { min: 10, max: 50000, step: 1, id: "trial-people" });
  const go = button("Ask made-up people", () =>
    act(go, async () => {
      await settled();
      seed += 1;
      const result = await post("trial", { people: Math.round(people.valueAsNumber) || 0, seed });
      const report = button("Make the whole report of this trial", () =>
        act(report, async () => {
          const whole = await post("trial/report");
          at("#trial-report").replaceChildren(...reportFrame(whole.address, "Report of the trial"));
          return whole;
        }));
      at("#trial").replaceChildren(
        make("p", { class: "banner calm" }, make("strong", {}, "SIMULATED. "), `${thousands(result.people)} people who do not exist. No answer of anybody is in these numbers.`),
        legend(), make("div", { class: "results" }, result.questions.map(questionTable), result.pairs.length ? pairTable(result.pairs) : []),
        make("div", { class: "actions" }, report), make("div", { id: "trial-report", role: "status" }),
      );
      return result;
    }), { class: "main" });
  at("#try-tools").append(field("How many people", people), go);
  on("form", () => {
    if (!people.dataset.typed && state.form?.design?.people) people.value = Math.min(50000, state.form.design.people);
  });
  people.addEventListener("input", () => (people.dataset.typed = "yes"));
};

// Freeze

const drawFreezing = (focus) => {
  const { surveys, freeName } = state;
  const name = textInput(freeName, () => undefined, { id: "freeze-name", maxlength: 40, spellcheck: "false" });
  const [follows, set] = [{ name: null }, (isOn) => (follows.name = isOn ? surveys.at(-1).name : null)];
  const go = button("Freeze the survey", () =>
    act(go, async () => {
      await settled();
      const result = await post("freeze", { name: name.value.trim(), follows: follows.name });
      Object.assign(state, { surveys: result.surveys, freeName: result.free_name });
      takeDraft(result.draft);
      changed("surveys");
      at(`#frozen [data-name="${result.frozen.name}"]`)?.focus();
      return result;
    }), { class: "main" });
  at("#freezing").replaceChildren(
    make("div", { class: "tools" }, field("Name of the file, without .json", name), go),
    ...(surveys.length ? [check(`It replaces ${surveys.at(-1).name}: whoever answered that one does not answer again by itself`, false, set)] : []),
  );
  if (focus) at(focus)?.focus();
};

/** Go on with a survey, wherever one is chosen. */
const choose = (name) => {
  for (const list of document.querySelectorAll("#collect-survey, #deploy-survey, #read-survey")) list.value = name;
};

const drawFrozen = () =>
  at("#frozen").replaceChildren(
    ...state.surveys.map(({ name, id, epsilon, order, attributes, has_texts: hasTexts }) =>
      make("div", { class: "card" }, make("h3", { tabindex: -1, "data-name": name }, `${name}.json`),
        make("p", {}, "Id ", make("code", {}, id)),
        make("p", { class: "soft" }, `${attributes} ${attributes === 1 ? "question" : "questions"}, tables of ${order}, ε = ${epsilon}${hasTexts ? `; its words are in ${name}.texts.json` : ""}. `,
          make("a", { href: "#collect", onclick: () => choose(name) }, "Collect answers")))),
  );

// Collect

const surveyChoice = (id) => choice(state.surveys.map(({ name, id: own }) => [name, `${name} (${own.slice(0, 8)})`]), state.collecting?.survey ?? state.surveys.at(-1)?.name, () => undefined, { id });

const nothing = () => [make("p", {}, "There is no survey yet. ", make("a", { href: "#freeze" }, "Freeze the questionnaire first"), ".")];

const here = () => {
  const { collecting } = state;
  if (!collecting) {
    const survey = surveyChoice("collect-survey");
    const port = numberInput(8000, () => undefined, { id: "collect-port", min: 0, max: 65535, step: 1 });
    const go = button("Start collecting", () =>
      act(go, async () => {
        const result = await post("collect", { survey: survey.value, port: Math.round(port.valueAsNumber) || 0 });
        state.collecting = result.collecting;
        choose(result.collecting.survey);
        changed("collecting");
        at("#collect-link").focus();
        return result;
      }), { class: "main" });
    return [make("p", {}, "People who use a browser on this machine can answer: to try it for real, or at a desk where people come by."), make("div", { class: "tools" }, field("Survey", survey), field("Port (0 takes any)", port), go)];
  }
  const { link, address, dashboard, survey, people } = collecting;
  const stop = button("Stop collecting", () =>
    act(stop, async () => {
      const result = await post("collect/stop");
      state.collecting = null;
      changed("collecting");
      at("#collecting button")?.focus();
      return result;
    }));
  return [
    make("p", { class: "count", id: "collect-people" }, people === null ? "…" : thousands(people)),
    make("p", {}, "answers to ", make("code", {}, `${survey}.json`), " so far."),
    make("p", {}, "People answer at ", make("a", { id: "collect-link", href: link, target: "_blank", rel: "noopener noreferrer" }, address), ". You watch at ",
      make("a", { id: "collect-dashboard", href: dashboard, target: "_blank", rel: "noopener noreferrer" }, "the dashboard"), "; this link opens it once, and here is a new one then."),
    make("div", { class: "actions" }, stop, make("a", { href: "#read" }, "Read what came")),
  ];
};

const phones = () =>
  make("p", { class: "small soft" }, "A phone cannot open this address: it is this machine’s own, and on another machine’s plain http a browser has no safe randomness, so that the page refuses to answer. For phones, put the survey on a server with https, below. The studio itself never leaves this machine.");

const server = () => {
  const survey = surveyChoice("deploy-survey");
  const address = textInput("", () => undefined, { id: "deploy-address", type: "url", placeholder: "https://survey.example.org" });
  const result = make("div", { role: "status" });
  const go = button("Write what a server needs", () =>
    act(go, async () => {
      const files = await post("deploy", { survey: survey.value, address: address.value });
      result.replaceChildren(
        make("p", {}, "Written: ", ...files.files.flatMap((name) => [make("code", {}, name), " "])),
        make("p", {}, "The link for people: ", make("code", {}, files.link), ". Each needs an id that is issued on the server: README.md there has the command, which writes personal links."),
        ...(files.qr ? [make("img", { class: "qr", src: files.qr, alt: "The link as a QR code", width: 176, height: 176 })] : []),
      );
      return files;
    }));
  return [make("p", {}, "A folder deploy/ with the survey, its words, and a page of commands. Copy it to a server that has a name and https."), make("div", { class: "tools" }, field("Survey", survey), field("Its address", address), go), result];
};

const drawCollecting = () => {
  if (!state.surveys.length) return at("#collecting").replaceChildren(...nothing());
  const isNew = !at("#deploy-card");
  const parts = [make("div", { class: "card", id: "here-card" }, make("h3", {}, "On this machine"), ...here(), phones())];
  if (isNew) return at("#collecting").replaceChildren(...parts, make("div", { class: "card", id: "deploy-card" }, make("h3", {}, "On a server"), ...server()));
  return at("#here-card").replaceWith(...parts);
};

const poll = async () => {
  if (state.collecting && !document.hidden) {
    try {
      const { collecting, deeds } = await get("collecting");
      const hasEnded = !collecting;
      state.collecting = collecting;
      if (hasEnded) changed("collecting");
      else if (at("#collect-people")) {
        at("#collect-people").textContent = thousands(collecting.people ?? 0);
        at("#collect-dashboard").href = collecting.dashboard;
      }
      showDeeds(deeds);
    } catch {
      // It is tried again.
    }
  }
  setTimeout(poll, POLL);
};

// Read

const drawReading = () => {
  if (!state.surveys.length) return at("#reading").replaceChildren(...nothing());
  const survey = surveyChoice("read-survey");
  const result = make("div", { id: "read-report", role: "status" });
  const go = button("Make the report", () =>
    act(go, async () => {
      const report = await post("read", { survey: survey.value });
      result.replaceChildren(make("p", {}, "Written: ", ...report.files.flatMap((name) => [make("code", {}, name), " "])), ...reportFrame(report.address, "The report"));
      return report;
    }), { class: "main" });
  return at("#reading").replaceChildren(make("p", {}, "From what was collected on this machine: a report with every table, its error bars and the charts, and the same as a .csv file. It takes some seconds."), make("div", { class: "tools" }, field("Survey", survey), go), result);
};

export const startLater = () => {
  startTry();
  on("surveys", () => {
    drawFreezing();
    drawFrozen();
    at("#collecting").replaceChildren();
    drawCollecting();
    drawReading();
  });
  on("collecting", drawCollecting);
  poll();
};

/**
 * <deniable-survey>: an invitation to a survey within another site's page.
 *
 *   <script src="https://survey.example.org/static/survey-element.js" async></script>
 *   <deniable-survey survey="…" language="de" participant="…"></deniable-survey>
 *
 * It is a frame of the collector's own page, which says what the survey is about and opens it in a window of its own. The
 * site around it is told nothing, and sees nothing of what is answered there.
 */
(() => {
  const home = new URL("..", document.currentScript.src).href;
  const STYLE = ":host { display: block } iframe { display: block; border: 0; width: 100%; height: 30rem }";

  class DeniableSurvey extends HTMLElement {
    static observedAttributes = ["server", "survey", "language", "participant"];
    #frame;

    connectedCallback() {
      this.#open();
    }

    disconnectedCallback() {
      this.#frame = undefined;
    }

    attributeChangedCallback() {
      if (this.#frame) this.#open();
    }

    /** The page's address; an id and a language stand behind the #, which no server is told. */
    #address() {
      const address = new URL(this.getAttribute("server") || home, document.baseURI);
      if (!address.pathname.endsWith("/")) address.pathname += "/";
      if (this.getAttribute("survey")) address.searchParams.set("survey", this.getAttribute("survey"));
      const more = Object.entries({ language: "language", token: "participant" })
        .map(([name, attribute]) => [name, this.getAttribute(attribute)])
        .filter(([, value]) => value);
      address.hash = new URLSearchParams(more);
      return address;
    }

    #open() {
      const address = this.#address();
      if (!["https:", "http:"].includes(address.protocol)) return;
      const frame = document.createElement("iframe");
      frame.title = this.getAttribute("aria-label") || "Survey";
      frame.referrerPolicy = "no-referrer";
      frame.sandbox = "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox";
      frame.src = address;
      const style = document.createElement("style");
      style.textContent = STYLE;
      (this.shadowRoot ?? this.attachShadow({ mode: "open" })).replaceChildren(style, frame);
      this.#frame = frame;
    }
  }

  if (!customElements.get("deniable-survey")) customElements.define("deniable-survey", DeniableSurvey);
})();

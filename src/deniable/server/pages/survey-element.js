/**
 * <deniable-survey>: a survey within another site's page.
 *
 *   <script src="https://survey.example.org/static/survey-element.js" async></script>
 *   <deniable-survey survey="…" language="de" participant="…"></deniable-survey>
 *
 * It is a frame of the collector's own page, so the site around it reads no answer; it hears how tall the
 * form is with every item shown, and the events deniable-answered and deniable-refused, which hold nothing.
 */
(() => {
  const home = new URL("..", document.currentScript.src).href;
  // No taller than the window, or the page around would have to scroll to what is filled in, and see where that is.
  const STYLE = ":host { display: block } iframe { display: block; border: 0; width: 100%; height: 40rem; max-height: 100vh; max-height: 100svh }";

  class DeniableSurvey extends HTMLElement {
    static observedAttributes = ["server", "survey", "language", "participant"];
    #frame;
    #hear = ({ source, origin, data }) => {
      if (!this.#frame || source !== this.#frame.contentWindow || origin !== this.#address().origin) return;
      if (data?.deniable === "height" && data.height > 0) {
        this.#frame.style.height = `${Math.ceil(data.height)}px`;
      } else if (["answered", "refused"].includes(data?.deniable)) {
        this.dispatchEvent(new Event(`deniable-${data.deniable}`, { bubbles: true, composed: true }));
      }
    };

    connectedCallback() {
      addEventListener("message", this.#hear);
      this.#open();
    }

    disconnectedCallback() {
      removeEventListener("message", this.#hear);
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
      frame.sandbox = "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox";
      frame.addEventListener("load", () => frame.contentWindow?.postMessage({ deniable: "hello" }, address.origin));
      frame.src = address;
      const style = document.createElement("style");
      style.textContent = STYLE;
      (this.shadowRoot ?? this.attachShadow({ mode: "open" })).replaceChildren(style, frame);
      this.#frame = frame;
    }
  }

  if (!customElements.get("deniable-survey")) customElements.define("deniable-survey", DeniableSurvey);
})();

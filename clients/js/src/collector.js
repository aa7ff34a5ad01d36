/** Talking to a collector: the same bytes again after errors that may pass. */

import { canonical } from "./canonical.js";
import { DEFINITION } from "./definition.js";
import { randomWord } from "./exact.js";
import { OVER, refuse } from "./refused.js";

/** Read a response's JSON, if it is no longer than any answer of a collector. */
const readJSON = async (response) => {
  const reader = response.body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > DEFINITION.limits.letters) {
      await reader.cancel();
      throw RangeError();
    }
  }
  return JSON.parse(text + decoder.decode());
};

/** Node's codes of what is the same until somebody mends it: a certificate, TLS, a name. */
const LASTING = /CERT|SSL|TLS|VERIFY|ENOTFOUND/;

/** Return a function that asks the collector at an address, by GET or, with a body, by POST. */
export const collectorAt = (address) => async (path, body, key) => {
  const PATIENCE = 60; // seconds that may be waited at once
  const TURNS = 5; // after the first
  for (let turn = 1; ; turn++) {
    let response, form, cause;
    try {
      response = await fetch(`${address}/v1/${path}`, {
        method: body && "POST",
        headers: body && { "Content-Type": "application/json", ...(key && { "Idempotency-Key": key }) },
        body: body && canonical(body),
        credentials: "omit",
        referrerPolicy: "no-referrer",
        redirect: "error",
        signal: AbortSignal.timeout(30_000),
      });
      form = await readJSON(response);
    } catch (error) {
      cause = error.cause?.code; // in Node; the network failed, or what answered was no collector
    }
    if (LASTING.test(cause)) refuse("unavailable", `The collector cannot be reached: ${cause}.`);
    if (form) {
      if (response.ok) return form;
      const { status } = response;
      // A name, and nothing else that a collector might want to be shown.
      const [reason] = /[a-z-]+$/.exec(typeof form.type === "string" && form.type) ?? ["collector"];
      if (status < 500 && status !== 429) refuse(reason, reason === OVER[0] ? OVER[1] : `The collector refuses: ${reason}.`);
    }
    const least = 2 ** turn * (0.5 + Number(randomWord() >> 54n) / 2048);
    const wait = Math.max(least, +response?.headers.get("Retry-After") || 0);
    if (turn > TURNS || wait > PATIENCE) {
      refuse("unavailable", "The collector is away.");
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
  }
};

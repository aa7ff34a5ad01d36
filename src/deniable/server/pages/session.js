/** Who asks: a token that is typed, or the code of an address, which is exchanged for a key of half a day. */

import { collector } from "./dom.js";

const TOKEN_KEY = "deniable.analyst";

let typed; // browsers write what a tab stores to the disk, and bring it back with a closed tab: a long-lived token is not stored

/** The token; an empty one where whoever signs people in, in front of the collector, says who this is; null before. */
export const token = () => typed ?? sessionStorage.getItem(TOKEN_KEY);

/** Take the token that was typed, or forget all with null. */
export const keep = (text) => {
  typed = text || undefined;
  if (text === "") sessionStorage.setItem(TOKEN_KEY, "");
  else sessionStorage.removeItem(TOKEN_KEY);
};
export const credentials = () => (token() ? "omit" : "same-origin");

export class Problem extends Error {
  constructor(name, detail) {
    super(detail);
    this.name = name;
  }
}

/** Ask the collector; throw a `Problem` for anything but what was asked for. */
export const send = async (path, options) => {
  let response;
  try {
    response = await fetch(`${collector}/v1/${path}`, { ...options, credentials: credentials(), referrerPolicy: "no-referrer", cache: "no-store" });
  } catch {
    throw new Problem("away", "The collector does not answer.");
  }
  if (response.ok) return response;
  const form = await response.json().catch(() => ({}));
  const name = `${form.type}`.split("/").pop();
  throw new Problem(response.status >= 500 || response.status === 429 ? "away" : name, form.detail || form.title || "The collector refuses.");
};

/**
 * Exchange the code of the address. Browsers keep addresses in their history, and synchronise it: so a code is good
 * once, and no token is taken from an address.
 */
export const enter = async () => {
  const code = new URLSearchParams(location.hash.slice(1)).get("code")?.trim();
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  if (!code) return;
  keep(null);
  const response = await send("session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) });
  sessionStorage.setItem(TOKEN_KEY, (await response.json()).token);
};

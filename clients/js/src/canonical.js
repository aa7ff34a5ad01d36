/** Canonical JSON (RFC 8785), and the SHA-256 of texts. */

import { refuse } from "./refused.js";

export const canonical = (form) =>
  Array.isArray(form)
    ? `[${form.map(canonical)}]`
    : form === Object(form)
      ? `{${Object.keys(form)
          .sort()
          .map((name) => `${canonical(name)}:${canonical(form[name])}`)}}`
      : JSON.stringify(form);

export const utf8 = (text) => new TextEncoder().encode(text);

/** The SHA-256 of some bytes. */
export const sha256 = async (bytes) =>
  (crypto.subtle ?? refuse("insecure", "No WebCrypto: a page needs https.")).digest("SHA-256", bytes);

/** The hexadecimal digits of some bytes. */
export const hex = (bytes) =>
  [...new Uint8Array(bytes)].map((byte) => (byte + 256).toString(16).slice(1)).join("");

/** The SHA-256 of a text, in hexadecimal digits. */
export const digest = async (text) => hex(await sha256(utf8(text)));

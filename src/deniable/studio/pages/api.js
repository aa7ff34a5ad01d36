/** Talking to the studio: the token of the address is exchanged once, for a key that stays in this tab. */

const KEY = "deniable-studio-key";

export class Problem extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

const problemOf = async (response) => {
  const { type = "", title, detail } = await response.json().catch(() => ({}));
  return new Problem(type.split("/studio-").at(-1), detail || title || "The studio does not answer as it should.");
};

const send = async (path, how) => {
  let response;
  try {
    response = await fetch(`api/${path}`, { credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer", ...how });
  } catch {
    throw new Problem("away", "The studio does not answer: has it been ended in the terminal?");
  }
  if (!response.ok) throw await problemOf(response);
  return response.json();
};

const key = () => ({ Authorization: `Bearer ${sessionStorage.getItem(KEY)}` });

/** Ask for something, which changes nothing. */
export const get = (path) => send(path, { headers: key() });

/** Do something. */
export const post = (path, body = {}) =>
  send(path, { method: "POST", headers: { "Content-Type": "application/json", ...key() }, body: JSON.stringify(body) });

/** Take the token out of the address, where it must not stay, and exchange it; tell whether there is a session. */
export const open = async () => {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", `${location.pathname}#write`);
    const { key: own } = await post("session", { token });
    sessionStorage.setItem(KEY, own);
  }
  return Boolean(sessionStorage.getItem(KEY));
};

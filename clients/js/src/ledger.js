/**
 * Where answers are kept, once and for ever.
 *
 * A ledger has one method: `update(change)` holds the ledger alone, gives its entries (by survey, or by survey and id) to
 * `change`, which must not wait, and is done when what was changed is kept safely. Nothing is kept if it throws.
 */

import { Refused, refuse } from "./refused.js";

/**
 * Tell whether a page of another site is around this one. A browser keeps storage there apart for each such site, so a ledger
 * would not know what was answered elsewhere. That it keeps no cookie there which is for this site alone shows it.
 */
const isApart = () => {
  const { parent, document, credentialless } = globalThis;
  if (!parent || parent === globalThis) return false;
  const cookie = `deniable-${crypto.randomUUID()}=`;
  const keep = (seconds) => (document.cookie = `${cookie}; SameSite=Strict; Max-Age=${seconds}`);
  try {
    keep(9);
    const isKept = document.cookie.includes(cookie);
    keep(0);
    return credentialless || !isKept;
  } catch {
    return true; // a frame without an origin of its own
  }
};

/** Let a change take its turn in a database's entries, by one transaction. */
const change = (name, work) =>
  new Promise((resolve, reject) => {
    const fail = () => reject(new Refused("ledger", "This browser keeps no ledger."));
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("ledger");
    opening.onerror = fail;
    opening.onsuccess = () => {
      const database = opening.result;
      const turn = database.transaction("ledger", "readwrite", { durability: "strict" });
      const store = turn.objectStore("ledger");
      const reading = store.get("entries");
      let result;
      turn.oncomplete = () => resolve(result);
      turn.onabort = fail;
      reading.onsuccess = () => {
        try {
          const entries = reading.result ?? {};
          result = work(entries);
          store.put(entries, "entries");
        } catch (error) {
          reject(error);
          turn.abort();
        }
      };
      database.close(); // once the turn is over
    };
  });

/**
 * A ledger in the browser's IndexedDB. Its transactions take turns across tabs, so two tabs give one
 * answer, and they are complete only when they are on disk. Within another site's page it refuses.
 */
export function browserLedger(name = "deniable") {
  let isRefused;
  return {
    async update(work) {
      isRefused ??= isApart();
      if (isRefused) refuse("framed", "Within another site's page no ledger is kept.");
      return change(name, work);
    },
  };
}

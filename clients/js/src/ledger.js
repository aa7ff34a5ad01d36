/**
 * Where answers are kept, once and for ever.
 *
 * A ledger has one method: `update(change)` holds the ledger alone, gives its entries (by survey, or by survey and id) to
 * `change`, which must not wait, and is done when what was changed is kept safely. Nothing is kept if it throws.
 */

import { Refused, refuse } from "./refused.js";

/**
 * Tell whether a page of another origin is around this one. Such a page can lay a sheet over it that takes each click, move
 * its focus, and measure its time, and so read what is filled in; and browsers keep storage apart there for each site, so
 * that a ledger would not know what was answered elsewhere.
 */
const isFramed = () => {
  try {
    for (let page = globalThis; page.parent !== page; page = page.parent) {
      if (page.parent.origin !== globalThis.origin) return true;
    }
  } catch {
    return true; // it does not say which origin it is of, or is a worker, which cannot know
  }
  return !!globalThis.credentialless; // whose storage is apart, too
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
 * answer, and they are complete only when they are on disk. Within a page of another origin it refuses.
 */
export function browserLedger(name = "deniable") {
  let isRefused;
  return {
    async update(work) {
      isRefused ??= isFramed();
      if (isRefused) refuse("framed", "No ledger is kept within another page.");
      return change(name, work);
    },
  };
}

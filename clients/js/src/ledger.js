/**
 * Where answers are kept, once and for ever.
 *
 * A ledger has one method: `update(change)` holds the ledger alone, gives its entries (by survey, or by survey and id) to
 * `change`, which must not wait, and is done when what was changed is kept safely. Nothing is kept if it throws.
 */

import { Refused } from "./refused.js";

/**
 * A ledger in the browser's IndexedDB. Its transactions take turns across tabs, so two tabs give one
 * answer, and they are complete only when they are on disk.
 */
export function browserLedger(name = "deniable") {
  return {
    update: (change) =>
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
              result = change(entries);
              store.put(entries, "entries");
            } catch (error) {
              reject(error);
              turn.abort();
            }
          };
          database.close(); // once the turn is over
        };
      }),
  };
}

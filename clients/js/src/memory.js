/** A ledger that forgets with the page or program: for tests. */
export function memoryLedger() {
  let kept = "{}";
  return {
    async update(change) {
      const entries = JSON.parse(kept);
      const made = change(entries);
      kept = JSON.stringify(entries);
      return made;
    },
  };
}


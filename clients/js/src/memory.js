/** A ledger that forgets with the page or program: for rehearsals and tests. */
export function memoryLedger() {
  let text = "{}";
  return {
    async update(change) {
      const entries = JSON.parse(text);
      const result = change(entries);
      text = JSON.stringify(entries);
      return result;
    },
  };
}


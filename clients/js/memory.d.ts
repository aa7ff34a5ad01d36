import type { Ledger } from "./index.js";

/** A ledger that forgets: for rehearsals and tests. */
export function memoryLedger(): Ledger;

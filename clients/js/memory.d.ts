import type { Ledger } from "./index.js";

/** A ledger that forgets: for tests. */
export function memoryLedger(): Ledger;

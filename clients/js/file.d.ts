import type { Ledger } from "./index.js";

/** A ledger in a file, for Node: processes take turns. */
export function fileLedger(path: string): Ledger;

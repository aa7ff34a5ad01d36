import type { Asking } from "./index.js";

/** What a survey's JSON object asks. */
export function asking(form: any, id: string): Asking;

import type { Labelling, Survey } from "./index.js";

/** Let a survey take labels; `keep` remembers something for it, unless it is there already. */
export function labelling(survey: Survey, keep: (made: object) => Promise<any>): Labelling;

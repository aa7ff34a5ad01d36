import type { Question, Report } from "./index.js";
import type { Language } from "./language.js";
import type { Wording } from "./words.js";

export interface Explanation {
  /** The question and the device's odds, in several lines. */
  text: string;
  /** How much one report can tell, computed from the question itself. */
  epsilon: number;
  /** What a suspicion of one half can become at most. */
  suspicion: number;
  /** The possible answers in words, if they are no more than 256. */
  answers: string[];
  /** The answers that a report names, in words; empty without a report, and for unary answers. */
  reported: string[];
}

/** What a question says, and a report to it: in English, or in another language and the words of a survey. */
export function explain(question: Question, report?: Report, language?: Language, spoken?: Map<string, Wording>): Explanation;

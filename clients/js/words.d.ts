import type { Question } from "./index.js";
import type { Language, Part } from "./language.js";

export interface Said {
  text: string;
  tag?: string;
  /** Whether somebody wrote it to be read; else it is said to the letter. */
  prose?: boolean;
}

export interface Wording {
  text: Said;
  help?: Said;
  unit?: Said;
  label(value: unknown): Said;
  absent(): Said;
}

/** How each attribute of a survey's schema is spoken of in a language, by name. */
export function wordings(attributes: object[], language: Language, texts?: object): Map<string, Wording>;

export interface Words {
  lead: string;
  items?: [Part[], Part[]][];
  questions?: Words[];
  odds?: string;
}

/** A question in the words of a language. */
export function compose(question: Question, language: Language, spoken?: Map<string, Wording>): Words;

/** The same as lines of text. */
export function linesOf(words: Words, language: Language): string[];

/** A file of src/deniable/languages/catalogues. */
export interface Catalogue {
  language: string;
  locale: string;
  direction: "ltr" | "rtl";
  messages: Record<string, string>;
  first_day?: string;
  liaisons?: [between: string, instead: string, before: string][];
}

/** Texts, and what is in another language, whose tag it has. */
export type Part = string | { parts: Part[]; tag: string };

export interface Language {
  readonly tag: string;
  readonly direction: "ltr" | "rtl";
  isolate(text: string): string;
  number(value: number, most?: number): string;
  percent(value: number): string;
  day(day: string): string;
  parts(name: string, args?: Record<string, unknown>): Part[];
  say(name: string, args?: Record<string, unknown>): string;
  has(name: string): boolean;
  listing(things: Part[][] | string[], type?: "conjunction" | "disjunction"): Part[];
}

/** What a catalogue says; messages that it lacks are those of the reserve, and marked. */
export function languageOf(tag: string, catalogue: Catalogue, reserve?: Catalogue): Language;

/** Parts as one text. */
export function textOf(parts: Part[]): string;

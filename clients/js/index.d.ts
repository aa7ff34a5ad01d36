/** A value that an attribute may have. */
export type Value = boolean | number | string;

/**
 * A person's record: a value for each attribute; any number where it is on a grid or at points, a text such as
 * "2026-11-01" where it is a day. `null`, NaN and what is left out are missing.
 */
export type Entries = { readonly [attribute: string]: Value | null | undefined };

/** What is sent beside an answer, as it is: a value for each label that the survey declares. */
export type Labels = { readonly [label: string]: string };

export interface Term {
  attribute: string;
  values: Value[];
}

/**
 * A number or day above a point and at most `to`; or the value `or`, which stands for missing.
 */
export interface Range {
  attribute: string;
  above: number | string;
  to?: number | string;
  or?: Value;
  unit?: string;
}

export type Asks = { cell: Term[] } | { parities: (Term | Range)[][] };

export type Answer =
  | { way: "subset"; symbols: number; chosen: number; threshold: string }
  | { way: "unary"; symbols: number; own: string; other: string }
  | { way: "bitwise"; bits: number; threshold: string };

export interface Question {
  survey: string;
  slot: string;
  asks: Asks;
  answer: Answer;
}

/** What is sent: a decimal number, or base64 of little-endian bytes if it is 2^63 or more. */
export type Report = { slot: string; labels?: Labels } & ({ value: string; packed?: undefined } | { packed: string; value?: undefined });

/** What a ledger keeps of an answer; once it is forgotten, only that there is one, and its ε. */
export interface Entry {
  report?: Report;
  epsilon: number;
  state: "drawn" | "sent";
  /** The token that was made up, if it was; one that was given is not kept. */
  token?: string;
  /** The period that this device drew: its first day, and the day before which it ends. */
  period?: [string, string];
  /** What the report is sent with: a ticket, a survey and slot, or a survey (and the id that was given). */
  names?: { ticket: string } | { survey: string; slot?: string };
  /** Names the request where nothing else does. */
  key?: string;
  /** The day since 1970 on which a slot was drawn; a collector knows the key for a week. */
  day?: number;
}

/** Where answers are kept; `change` gets the entries by survey (and id), must not wait, and may throw. */
export interface Ledger {
  update<T>(change: (entries: { [survey: string]: any }) => T): Promise<T>;
}

/** A survey that was fetched and is the one with the known id. */
export interface Survey {
  id: string;
  /** The survey's own JSON object (docs/formats.md). */
  form: any;
  epsilon: number;
  /** The most attributes that a question touches. */
  touches: number;
  /** Who chooses the questions. */
  slots: "assigned" | "hashed" | "drawn";
  /** Check a record in full; return the declared values that it stands for. Throws `Refused`. */
  check(record: Entries, labels?: Labels): Map<string, Value>;
  /** Throw `Refused` for a question that is not the survey's own, to the letter, or above this limit. */
  verify(question: Question, limit: number): void;
  /** The question of a slot; nothing if there is no such slot. */
  question(slot: string | bigint): Question | undefined;
  /** Draw a slot, without looking at any data. */
  draw(word?: () => bigint): bigint;
  /** The slot of an issued id. */
  hashed(id: string): Promise<bigint>;
}

/** What is said of an attribute in a language; what is not is said in the default language. */
export interface AttributeWords {
  wording?: string;
  help?: string;
  /** Of each declared value; `null` for what stays as it is. */
  values?: (string | null)[];
  missing?: string;
  unit?: string;
}

export interface SurveyWords {
  title?: string;
  introduction?: string;
  who?: string;
  contact?: string;
  consent?: string;
  thanks?: string;
  closed?: string;
  pages?: { title?: string; introduction?: string }[];
  labels?: { wording?: string; values?: (string | null)[] }[];
}

/** Pages and conditions, by the positions of attributes; runs of codes, both ends included. */
export interface Layout {
  pages: { attributes: number[] }[];
  conditions: { attribute: number; all: { on: number; codes: [number, number][] }[]; otherwise: number }[];
}

/** The texts' JSON object (docs/formats.md): plain text, never markup. */
export interface TextsForm {
  deniable: "texts";
  format: 1;
  default: string;
  layout: Layout;
  languages: { [language: string]: { survey: SurveyWords; attributes: AttributeWords[] } };
}

/** The texts of a survey: those that its id covers, to the letter. */
export interface Texts {
  form: TextsForm;
  /** A record in which what is not asked has its declared value, whatever was given; it is not checked. */
  completed(record: Entries): Entries;
  /** The positions of the attributes that are not asked of somebody with this record, so far as it is given. */
  skipped(record: Entries): number[];
}

/** Read the texts' JSON object; throw `Refused` for what is not what a survey's JSON object (a sound one) covers. */
export function readTexts(form: any, survey: any): Promise<Texts>;

export interface Options {
  /** The survey's id, 64 hexadecimal digits: what the person agreed to. */
  survey: string;
  /** The survey's own JSON object, where it is at hand: a record is then checked before anybody is contacted. */
  form?: any;
  /** The texts' JSON object, where it is at hand: then it is not fetched. */
  texts?: any;
  /** The collector's address. */
  collector: string;
  /** Which participant this is; without one, one is made up and kept in the ledger. */
  token?: string;
  /** The largest ε of one survey, 2 by default. */
  limit?: number;
  /** The largest ε of all answers in the ledger, 6 by default. */
  lifetimeLimit?: number;
  /** Whether the owner agrees to answer although the ledger holds an answer to the survey that this one replaces. */
  again?: boolean;
  /** Whether the owner is another person than those who have answered this survey under another id. */
  another?: boolean;
  /** A public log of surveys whose head is known (`deniable/log`): then nothing is asked unless the log still continues it. */
  log?: { check(call: (path: string) => Promise<any>, survey: string): Promise<void> };
  ledger: Ledger;
}

/** One person's device. Every method throws `Refused`. */
export class Client {
  constructor(options: Options);
  /** The survey, fetched once. */
  survey(): Promise<Survey>;
  /** The texts in which people are asked, fetched once; nothing where the survey has none. */
  texts(): Promise<Texts | undefined>;
  /** Check a record, completed by the survey's conditions, and what is said of the labels, in full against the survey. */
  check(record: Entries, labels?: Labels): Promise<Map<string, Value>>;
  /**
   * The period in which this device answers, drawn once: its first day, and the day before which it ends
   * (UTC). Nothing where the survey has no periods.
   */
  period(): Promise<[string, string] | undefined>;
  /** The question that this person is asked. Nothing is drawn from the record. */
  question(record: Entries, labels?: Labels): Promise<Question>;
  /** Draw this person's one report and keep it, or return the one that is kept. Call it after consent. */
  answer(record: Entries, labels?: Labels): Promise<Report>;
  /** Send the one report until the collector has it. Only the same is ever sent again. */
  submit(): Promise<Report>;
  /** What the ledger holds for this survey; nothing before an answer. */
  entry(): Promise<Entry | undefined>;
  /** The same, if it was this client that drew the answer: who did not see it drawn may be another person. */
  receipt(): Promise<Entry | undefined>;
  /** Keep of an answer that is counted only that there is one; from then on `answer` refuses (`answered`). */
  forget(): Promise<void>;
}

/** What a client throws. The message is one sentence that never repeats a person's value. */
export class Refused extends Error {
  constructor(reason: string, message: string);
  /**
   * A stable word: `options`, `insecure`, `survey`, `observed`, `record`, `ticket`, `early`, `over`, `token`, `foreign`, `question`, `epsilon`,
   * `attributes`, `lifetime`, `predecessor`, `another`, `texts`, `log`, `ledger`, `framed`, `nothing`, `slot`, `late`, `collector`, `unavailable`, or the name of a collector's problem
   * (`answered`, `conflict`, `participant-unknown`, `ticket-invalid`, …).
   */
  reason: string;
}

/** A ledger in the browser's IndexedDB: tabs take turns. Within a page of another origin it refuses (`framed`). */
export function browserLedger(name?: string): Ledger;

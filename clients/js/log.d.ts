/** The public log of a collector's surveys: all that it ever offered, in order. */
export interface SurveyLog {
  /** The last head that is known, `SIZE:ROOT`; once a question was asked, the present one. */
  head(): string;
  /** Called by a `Client` before it asks; throws `Refused`. */
  check(call: (path: string) => Promise<any>, survey: string): Promise<void>;
}

/** A log whose head is known, such as `12:9f2c…`: give it to a `Client` as its `log`. */
export function surveyLog(head: string): SurveyLog;

/** What a client throws: `reason` is stable, the message one sentence that never repeats a person's value. */
export class Refused extends Error {
  name = "Refused";

  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}

/** Make work refuse for a reason whatever it stumbles over. */
export const guard = (reason, work) => (argument) =>
  work(argument).catch((error) => {
    throw error.reason ? error : new Refused(reason, `What came is no ${reason}.`);
  });

/** What is said of a survey that gives no new questions. */
export const OVER = ["survey-closed", "The survey is over: it takes no new answers."];

export function refuse(reason, message) {
  throw new Refused(reason, message);
}

/** What a client throws: `reason` is stable, the message one sentence that never repeats a person's value. */
export class Refused extends Error {
  constructor(reason, message) {
    super(message);
    this.name = "Refused";
    this.reason = reason;
  }
}

export function refuse(reason, message) {
  throw new Refused(reason, message);
}

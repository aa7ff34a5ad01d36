/** Shares and values in plain English words, as the analysts' page shows them. */

/** A bound on a share, rounded up as in the report. */
const atMost = (share) => `${(Math.ceil(1000 * share) / 10).toFixed(1)}\u00a0%`;

/** How sure a 50 % suspicion can become at an ε. */
export const suspicion = (epsilon) => atMost(1 / (1 + Math.exp(-epsilon)));

/** A value within a sentence. */
export const valueText = (value) =>
  value === true ? "yes" : value === false ? "no" : `${value}`.trim() ? `${value}` : `“${value}”`;

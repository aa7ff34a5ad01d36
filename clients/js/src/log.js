/**
 * The public log of surveys: from the head of it that one knows (`12:9f2c…`, size and root), the present log must only
 * add to it, and hold the survey. The tree is that of RFC 9162 (docs/survey-log.md).
 */

import { digest, hex, sha256 } from "./canonical.js";
import { refuse } from "./refused.js";

const HASH = /^[0-9a-f]{64}$/;
const MOST = 2 ** 30;
const demand = (isSound, what) => isSound || refuse("log", `Nothing was answered. ${what}`);
const FORKED = "The log does not continue the one whose head is known: it was rewritten, or is another one.";

const bytes = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
const node = async (left, right) => hex(await sha256(Uint8Array.of(1, ...bytes(left), ...bytes(right))));
const checkProof = (proof) =>
  demand(
    Array.isArray(proof) && proof.length <= 64 && proof.every((each) => typeof each === "string" && HASH.test(each)),
    "What came is no proof.",
  );

/** The places of two nodes once the first is a right child, or the root. */
const up = (place, last) => {
  while (place && !(place & 1)) [place, last] = [place >> 1, last >> 1];
  return [place, last];
};

/** Refuse an entry that is not proven to be in the log of a head. */
export const checkInclusion = async ({ size, root }, { day, survey }, index, proof) => {
  const absent = "The survey is not in the log.";
  checkProof(proof);
  demand(typeof day === "string" && /^\d{4}-\d\d-\d\d$/.test(day) && HASH.test(survey), "What came is no entry.");
  demand(Number.isInteger(index) && index >= 0 && index < size, absent);
  let [place, last] = [index, size - 1];
  let own = await digest(`\0${day} ${survey}`);
  for (const other of proof) {
    demand(last, absent);
    const isRight = place & 1 || place === last;
    own = await (isRight ? node(other, own) : node(own, other));
    if (isRight) [place, last] = up(place, last);
    [place, last] = [place >> 1, last >> 1];
  }
  demand(!last && own === root, absent);
};

/** Refuse a head unless its log only adds to that of an earlier one. */
export const checkFollows = async ({ size, root }, earlier, proof) => {
  checkProof(proof);
  demand(earlier.size <= size, "The log is shorter than the one whose head is known: it was cut short.");
  if (!earlier.size || earlier.size === size) {
    demand(!proof[0] && earlier.root === (earlier.size ? root : await digest("")), FORKED);
    return;
  }
  const [first, ...path] = earlier.size & (earlier.size - 1) ? proof : [earlier.root, ...proof];
  let [place, last] = [earlier.size - 1, size - 1];
  while (place & 1) [place, last] = [place >> 1, last >> 1];
  demand(first, FORKED);
  let [before, now] = [first, first];
  for (const other of path) {
    demand(last, FORKED);
    if (place & 1 || place === last) {
      [before, now] = [await node(other, before), await node(other, now)];
      [place, last] = up(place, last);
    } else now = await node(now, other);
    [place, last] = [place >> 1, last >> 1];
  }
  demand(!last && before === earlier.root && now === root, FORKED);
};

/** Read a head such as `12:9f2c…`. */
export const readHead = (text) => {
  const [, size, root] = /^(0|[1-9]\d{0,9}):([0-9a-f]{64})$/.exec(text) ?? refuse("options", "That is no head of a log.");
  return +size <= MOST ? { size: +size, root } : refuse("options", "That is no head of a log.");
};

/**
 * What a `Client` takes as its `log`, from the last head that is known; `head()` is the present one, to be remembered,
 * once a question was asked.
 */
export const surveyLog = (text) => {
  let head = readHead(text);
  return {
    head: () => `${head.size}:${head.root}`,

    /** Refuse a survey that is not in a continuation of the log; `call` asks the collector. */
    async check(call, survey) {
      const proof = await call(`log/proof?survey=${survey}&size=${head.size}`);
      const { size, root } = proof.head ?? {};
      demand(Number.isInteger(size) && size <= MOST && typeof root === "string" && HASH.test(root), "What came is no proof.");
      await checkFollows({ size, root }, head, proof.consistency);
      await checkInclusion({ size, root }, { day: proof.entry?.day, survey }, proof.index, proof.inclusion);
      head = { size, root };
    },
  };
};

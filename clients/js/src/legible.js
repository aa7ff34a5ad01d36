/** Texts of somebody else's, so that one sees what they are and where they end. */

import { lettersOf } from "./forms.js";

// Letters that control rather than show, or show nothing. Joiners and spaces are parts of words, letters for private use
// show something, and behind a sign fe0e and fe0f tell whether it is a picture.
const HIDDEN = lettersOf(
  "hidden",
  "(?![\\u200c\\u200d\\p{Zs}\\p{Co}])(?!(?<=[©®‼-\u2fff〰〽㊗㊙\\u{1f000}-\\u{1faff}])[\\ufe0e\\ufe0f]|(?<=[0-9#*])\\ufe0f\\u20e3)[",
  "]",
  "gu",
);

/** A text as it is, or in quotes where it is hard to see or holds one of the signs. */
export const legible = (text, signs = /^$/) =>
  text === text.trim() && text.search(HIDDEN) < 0 && !signs.test(text)
    ? text
    : `"${text
        .replace(/[\\"]/g, "\\$&")
        .replace(HIDDEN, (letter) => `\\u{${letter.codePointAt().toString(16)}}`)}"`;

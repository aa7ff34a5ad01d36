/** Texts of somebody else's, so that one sees what they are and where they end. */

// Letters that control rather than show; joiners (200c, 200d) are part of words.
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** A text as it is, or in quotes where it is hard to see or holds one of the signs. */
export const legible = (text, signs = /^$/) =>
  text === text.trim() && text.search(HIDDEN) < 0 && !signs.test(text)
    ? text
    : `"${text
        .replace(/[\\"]/g, "\\$&")
        .replace(HIDDEN, (letter) => `\\u{${letter.codePointAt().toString(16)}}`)}"`;

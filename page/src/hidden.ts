// Characters that a person cannot see, or that move others: what a text holds besides its letters.

import type { Json } from "./types";

const CLASSES = [
  "[\\p{Cc}\\p{Cf}\\p{Cn}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Me}]",
  "(?! )\\p{Zs}",
  // drawn as nothing, or as a blank: fillers, variation selectors, the empty Braille pattern
  "[\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0]",
  "[\\u{16fe4}\\u{1d159}\\u{e0100}-\\u{e01ef}]",
  // marks that stand alone, or reach into the lines around them
  "(?<=\\p{M}\\p{M})\\p{M}|(?<![\\p{L}\\p{N}\\p{M}])\\p{M}",
];
const HIDDEN = new RegExp(CLASSES.join("|"), "gu");
const NAMES: { [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A stretch of a text: as it is, or one hidden character by its number. */
interface Piece {
  text: string;
  hidden: boolean;
}

/** Split a text at its hidden characters; each comes as an escape that can be seen. */
export function pieces(text: string, hidden = HIDDEN): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > at) found.push({ text: text.slice(at, match.index), hidden: false });
    found.push({ text: escaped(match[0]), hidden: true });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ text: text.slice(at), hidden: false });
  return found;
}

// The marks that turn the text around them; writing in two directions seldom needs more than letters.
export const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Return a text whose marks of direction are escapes; all else stays as it is. */
export const straight = (text: string): string => text.replace(TURNS, escaped);

/** Return a text with its hidden characters as escapes. */
export const revealed = (text: string): string =>
  pieces(text)
    .map((piece) => piece.text)
    .join("");

/** Return a value as JSON whose hidden characters are escapes, which read back as they were. */
export const exactJson = (value: Json): string =>
  JSON.stringify(value, null, 2).replace(HIDDEN, (character) =>
    character === "\n"
      ? character
      : Array.from({ length: character.length }, (_, at) =>
          `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
        ).join(""),
  );

function escaped(character: string): string {
  const code = character.codePointAt(0)!.toString(16);
  return NAMES[character] ?? (code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`);
}

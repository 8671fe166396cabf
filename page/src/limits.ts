// The limits of a JSON schema, as far as the page can check them before the server does.

import type { Json } from "./types";

const MOST_TEXT = 2000; // characters that are searched for a pattern
const SLOW = /\)[*+?{]|\(\?/; // a pattern with repeated groups may take long: the server judges
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/i;

/** How texts of a format are written, as a hint. */
export const FORMATS: { [format: string]: string } = { date: "YYYY-MM-DD", "date-time": "YYYY-MM-DDThh:mm:ss" };

type Rules = { [key: string]: Json };

/** Return which limit of its schema a value breaks, in words; empty if none. */
export function limitOf(value: Json, rules: Rules): string {
  const limit = (key: string) => (typeof rules[key] === "number" ? rules[key] : undefined);
  const beyond = (size: number, least: string, most: string, what: string): string => {
    const [low, high] = [limit(least), limit(most)];
    if (low !== undefined && size < low) return `At least ${low}${what}.`;
    return high !== undefined && size > high ? `At most ${high}${what}.` : "";
  };
  if (Array.isArray(value)) return beyond(value.length, "minItems", "maxItems", " entries");
  if (typeof value === "string") {
    return beyond([...value].length, "minLength", "maxLength", " characters") || formOf(value, rules);
  }
  const size = typeof value === "object" ? Number(JSON.stringify(value)) : value; // a number kept as written
  if (typeof size !== "number" || Number.isNaN(size)) return "";
  const [above, below] = [limit("exclusiveMinimum"), limit("exclusiveMaximum")];
  if (above !== undefined && size <= above) return `More than ${above}.`;
  if (below !== undefined && size >= below) return `Less than ${below}.`;
  return beyond(size, "minimum", "maximum", "");
}

function formOf(text: string, { format, pattern }: Rules): string {
  const form = typeof format === "string" ? FORMATS[format] : undefined;
  if (form) {
    const fits = (format === "date" ? DATE : TIME).test(text) && isDay(text.slice(0, 10));
    return fits ? "" : `A ${format === "date" ? "date" : "date and time"} is written ${form}.`;
  }
  if (typeof pattern !== "string" || SLOW.test(pattern) || text.length > MOST_TEXT) return "";
  try {
    return new RegExp(pattern, "u").test(text) ? "" : `This has to fit the pattern ${pattern}.`;
  } catch {
    return ""; // a pattern of another language
  }
}

function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

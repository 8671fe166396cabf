// Exact numbers in JSON: 12345678901234567890 and 1.0 are sent back with the same digits.

import type { Json } from "./types";

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Whether this browser tells the digits of a number that it reads, and writes given ones. */
export const isExact = "rawJSON" in JSON;

Object.defineProperty(BigInt.prototype, "toJSON", {
  value(this: bigint) {
    return (JSON as unknown as RawJson).rawJSON(String(this));
  },
});

const LARGE = /[\s:,[]-?\d{16,}[\s,}\]]/;

/** Read what the server sends: an integer that a number would round comes as a BigInt. */
export function parseJson<T>(text: string): T {
  if (!isExact || !LARGE.test(text)) return JSON.parse(text) as T;
  return JSON.parse(text, (_, value: unknown, context?: { source?: string }) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(context!.source!)
      ? BigInt(context!.source!)
      : value,
  ) as T;
}

/** A number that JavaScript would write otherwise, kept with its digits. */
export const isRaw = (value: Json): boolean => isExact && (JSON as unknown as RawJson).isRawJSON(value);

interface RawJson {
  rawJSON(text: string): Json;
  isRawJSON(value: Json): boolean;
}

function exact(text: string): Json {
  const found = Number(text);
  if (String(found) === text) return found;
  if (isExact) return (JSON as unknown as RawJson).rawJSON(text);
  if (Number.isInteger(found) && !Number.isSafeInteger(found)) {
    throw new Error(`This browser cannot keep ${text} as it is.`);
  }
  return found;
}

export function readNumber(text: string, kind: "integer" | "number"): Json {
  const written = text.trim();
  if (!NUMBER.test(written)) throw new Error(`${written} is no number.`);
  if (kind === "integer" && !/^-?\d+$/.test(written)) throw new Error(`${written} is no whole number.`);
  return exact(written);
}

/** Read JSON and keep the digits of its numbers. */
export function readJson(text: string): Json {
  try {
    return JSON.parse(text, (_, value: Json, context?: { source?: string }) =>
      typeof value === "number" && context?.source ? exact(context.source) : value,
    ) as Json;
  } catch {
    throw new Error("This is not JSON.");
  }
}

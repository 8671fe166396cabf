// Values as a person reads them.

import type { Json, Part } from "./types";

export const clock = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });

export const day = (seconds: number): string => {
  const then = new Date(seconds * 1000);
  const today = new Date();
  return then.toDateString() === today.toDateString()
    ? clock(seconds).slice(0, 5)
    : then.toLocaleDateString([], { day: "numeric", month: "short" });
};

export const duration = (seconds: number): string =>
  seconds < 1 ? `${(seconds * 1000).toFixed(0)} ms` : `${seconds.toFixed(2)} s`;

export const count = (value: number | undefined): string => (value ?? 0).toLocaleString("en");

export const bytes = (length: number): string =>
  length < 1024
    ? `${length} B`
    : length < 1024 * 1024
      ? `${(length / 1024).toFixed(1)} KB`
      : `${(length / 1024 / 1024).toFixed(1)} MB`;

export const oneLine = (value: Json | undefined, limit = 80): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  const flat = text.replace(/\s+/g, " ");
  return flat.length > limit ? `${flat.slice(0, limit)}…` : flat;
};

/** A call's arguments as `name: value` pairs. */
export const args = (value: { [key: string]: Json } | undefined, limit = 60): string =>
  Object.entries(value ?? {})
    .map(([key, inner]) => `${key}: ${oneLine(inner, limit)}`)
    .join(", ");

export const textOf = (parts: Part[] | undefined): string =>
  (parts ?? [])
    .filter((part) => part.text && !part.thought)
    .map((part) => part.text)
    .join("");

/** The address of bytes as the server writes them: base64 with - and _ for + and /. */
export const dataUrl = (mimeType: string, data: string): string =>
  `data:${mimeType};base64,${data.replace(/-/g, "+").replace(/_/g, "/")}`;

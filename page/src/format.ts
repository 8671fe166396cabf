// Values as a person reads them.

import { straight } from "./hidden";
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

/** How long ago something was, in one short word. */
export const age = (seconds: number, now = Date.now() / 1000): string => {
  const gone = Math.max(0, now - seconds);
  if (gone < 60) return "now";
  if (gone < 3600) return `${Math.floor(gone / 60)} min`;
  if (gone < 86_400) return `${Math.floor(gone / 3600)} h`;
  return gone < 7 * 86_400 ? `${Math.floor(gone / 86_400)} d` : day(seconds);
};

/** A number as a list shows it: 950, 12.3k, 4.5M. */
export const short = (value: number): string =>
  value < 1000
    ? String(value)
    : value < 1e6
      ? `${(value / 1000).toFixed(value < 1e4 ? 1 : 0)}k`
      : `${(value / 1e6).toFixed(1)}M`;

/** A time as a person says it: 12 ms, 3.20 s, 12 min, 2 h 5 min, 3 d 1 h. */
export const duration = (seconds: number): string => {
  if (seconds < 1) return `${(seconds * 1000).toFixed(0)} ms`;
  if (seconds < 59.995) return `${seconds.toFixed(2)} s`;
  const whole = Math.round(seconds);
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  if (minutes < 10) return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  const [large, small, words] = minutes < 1440 ? [60, 1, ["h", "min"]] : [1440, 60, ["d", "h"]];
  if (minutes < 60) return `${minutes} min`;
  const more = Math.floor((minutes % large) / small);
  return `${Math.floor(minutes / large)} ${words[0]}${more ? ` ${more} ${words[1]}` : ""}`;
};

export const count = (value: number | undefined): string => (value ?? 0).toLocaleString("en");

export const bytes = (length: number): string =>
  length < 1024
    ? `${length} B`
    : length < 1024 * 1024
      ? `${(length / 1024).toFixed(1)} KB`
      : `${(length / 1024 / 1024).toFixed(1)} MB`;

export const oneLine = (value: Json | undefined, limit = 80): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  const flat = straight(text.replace(/\s+/g, " "));
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

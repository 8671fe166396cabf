// What a person typed and the server has not taken yet; it survives a reload and a dead server. Each tab
// keeps its own, and a new tab begins with what was typed last in any.

import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Filled } from "./schema";

const PREFIX = "ostinato-draft ";
const MOST = 50; // drafts that are kept

export function loadDraft<T>(name: string): T | undefined {
  for (const store of [sessionStorage, localStorage]) {
    try {
      const kept = JSON.parse(store.getItem(PREFIX + name) ?? "null") as { value?: T } | null;
      if (kept) return kept.value;
    } catch {
      // not written by this page
    }
  }
  return undefined;
}

/** Keep a draft; undefined forgets it, but not what another tab typed. */
export function keepDraft(name: string, value: unknown): void {
  const key = PREFIX + name;
  try {
    const mine = sessionStorage.getItem(key);
    const kept = JSON.stringify({ value, at: Date.now() });
    sessionStorage.setItem(key, kept);
    if (value !== undefined) localStorage.setItem(key, kept);
    else if (localStorage.getItem(key) === mine) localStorage.removeItem(key);
    forgetOldest();
  } catch {
    // no room, or storage is off: the text is on the screen all the same
  }
}

function forgetOldest(): void {
  const age = (key: string) => Number(/"at":(\d+)}$/.exec(localStorage.getItem(key) ?? "")?.[1] ?? 0);
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  const oldest = keys.length > MOST ? keys.sort((one, other) => age(one) - age(other)) : [];
  for (const key of oldest.slice(0, keys.length - MOST)) localStorage.removeItem(key);
}

/** What a person has filled in to answer a call; credentials are never in it. */
interface Filling {
  doing?: "" | "edit" | "reject";
  reason?: string;
  filled?: Filled | undefined;
  /** The arguments as JSON, and whether they are edited so. */
  json?: string | undefined;
  asJson?: boolean | undefined;
  result?: string;
}

const fillings = new Map<string, Signal<Filling>>(); // by the keys of calls: all views of a call share one

export function fillingOf(key: string): Filling {
  if (!fillings.has(key)) fillings.set(key, signal(loadDraft<Filling>(key) ?? {}));
  return fillings.get(key)!.value;
}

export function fill(key: string, more: Filling | undefined): void {
  const filling = more && { ...fillingOf(key), ...more };
  keepDraft(key, filling);
  const shared = fillings.get(key);
  if (shared) shared.value = filling ?? {};
}

// The log of what went wrong: every message that was shown, with its time.

import { effect, signal } from "@preact/signals";
import { problem } from "./state";

interface Logged {
  at: number;
  text: string;
}

const MOST = 50;

export const log = signal<Logged[]>([]);
/** How many of them a person has not looked at in the log. */
export const unseen = signal(0);

effect(() => {
  const text = problem.value;
  if (!text) return;
  log.value = [...log.peek(), { at: Date.now() / 1000, text }].slice(-MOST);
  unseen.value = unseen.peek() + 1;
});

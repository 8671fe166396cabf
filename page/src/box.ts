// The message box: its words and files, and the messages of its session that are on their way. A message keeps
// its idempotency key until the server has answered, so that the same one, sent again, runs once.

import { effect, signal, untracked } from "@preact/signals";
import { keepDraft, loadDraft } from "./drafts";
import { textOf } from "./format";
import * as s from "./state";
import type { Part } from "./types";

/** A message of which nobody knows yet whether the server has taken it. */
export interface Outgoing {
  key: string;
  /** All that it says, to know it again. */
  content: string;
  text: string;
  /** The number of the newest event when it was sent. */
  after: number;
  /** Whether its words are in the box again. */
  back: boolean;
}

/** The outcome of a message: `unknown` if the server may have taken it. */
export type Outcome = "taken" | "refused" | "unknown";

interface Draft {
  text: string;
  sent: Outgoing[];
}

export const words = signal("");
export const files = signal<File[]>([]);
let name = "";
let sent: Outgoing[] = [];
const waiting = new Map<string, string>(); // keys of messages without an answer, and the names of their drafts

const nameOf = (session: string | undefined): string =>
  [s.app.value, s.user.value, session ?? ""].map(encodeURIComponent).join("/");

const contentOf = (parts: Part[] | undefined): string =>
  (parts ?? [])
    .map(({ text, functionResponse: answer, inlineData: file }) => text ?? answer?.response?.["result"] ?? `${file?.mimeType} ${file?.displayName} ${file?.data.length}`)
    .join("\n");

const keep = (at: string, { text, sent }: Draft): void =>
  keepDraft(at, text || sent.length ? { text, sent } : undefined);

const save = (): void => keep(name, { text: words.value, sent });

export function write(text: string): void {
  words.value = text;
  save();
}

/** Note that a message is sent; one that was sent before has the key that it had. */
export function dispatch(parts: Part[]): Outgoing {
  const content = contentOf(parts);
  const before = sent.find((one) => one.back && one.content === content);
  const key = before?.key ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
  const after = before?.after ?? s.events.value.at(-1)?.number ?? 0;
  const one = { key, content, text: textOf(parts), after, back: false };
  sent = [...sent.filter((other) => !other.back), one];
  waiting.set(key, name);
  save();
  return one;
}

/** Record the outcome of a message. Unless the server took it, its words and files return to the box. */
export function settle(one: Outgoing, outcome: Outcome, added: File[] = []): void {
  const at = waiting.get(one.key) ?? name;
  waiting.delete(one.key);
  const draft = at === name ? { text: words.value, sent } : (loadDraft<Draft>(at) ?? { text: "", sent: [] });
  const others = draft.sent.filter((other) => other.key !== one.key);
  const isLogged = others.length === draft.sent.length;
  if (outcome === "taken" || isLogged) draft.sent = others;
  else {
    draft.text = [one.text, draft.text].filter(Boolean).join("\n");
    draft.sent = outcome === "unknown" ? [...others, { ...one, back: true }] : others;
    if (at === name && !files.value.length) files.value = added;
  }
  if (at === name) [words.value, sent] = [draft.text, draft.sent];
  keep(at, draft);
}

/** Whether the log shows a message. */
const isLogged = (one: Outgoing): boolean =>
  s.events.value.some(
    ({ number, event }) =>
      number > one.after && event.author === "user" && contentOf(event.content?.parts) === one.content,
  );

/** Forget the messages that the log shows; those whose words are in the box leave it. */
function dropLogged(): void {
  const logged = sent.filter(isLogged);
  if (!logged.length) return;
  sent = sent.filter((one) => !logged.includes(one));
  for (const one of logged) {
    if (!one.back || !`${words.value}\n`.startsWith(`${one.text}\n`)) continue;
    words.value = words.value.slice(one.text.length + 1);
    files.value = [];
  }
  save();
}

/** Take the draft of another session. What was on its way when the page was left is in the box again. */
function enter(next: string): void {
  const kept = loadDraft<Draft>(next);
  const made = name === nameOf(undefined) && s.session.value && s.total.value === 0;
  // Words that were typed, or sent, before the session was made go with it.
  const draft = (made && !kept ? { text: words.value, sent } : kept) ?? { text: "", sent: [] };
  if (draft !== kept && made) keepDraft(name, undefined);
  name = next;
  sent = draft.sent.filter((one) => !isLogged(one));
  for (const one of sent) if (waiting.has(one.key)) waiting.set(one.key, name);
  const left = sent.filter((one) => !one.back && !waiting.has(one.key));
  words.value = [...left.map((one) => one.text), draft.text].filter(Boolean).join("\n");
  sent = sent.map((one) => (left.includes(one) ? { ...one, back: true } : one));
  if (draft.text || draft.sent.length) save();
}

effect(() => {
  const next = nameOf(s.session.value?.id);
  void s.events.value; // the log may show what was sent
  untracked(() => (next === name ? dropLogged() : enter(next)));
});

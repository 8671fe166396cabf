// What a person tries again: runs in forks, with something changed.

import { signal } from "@preact/signals";
import { listSessions, open, place, tried } from "./actions";
import { api } from "./api";
import * as s from "./state";
import type { ForkBranch, JsonObject, Numbered } from "./types";

/** Whether a trial is on its way to the server; a second click does nothing. */
export const starting = signal(false);

interface Trial {
  message: string;
  agent?: string;
  instruction?: string;
  model?: string;
  result?: { callId: string; response: JsonObject };
}

/** Fork behind an event, or before all of them, run there, and open the fork beside the old session. */
export async function tryAgain(at: Numbered | undefined, trial: Trial): Promise<boolean> {
  const where = place();
  if (!where || starting.value) return false;
  const { message, ...changes } = trial;
  const old = s.sessions.value.find((one) => one.id === where.session);
  starting.value = true;
  try {
    const made = await tried(() =>
      api.tryAgain(where, {
        ...(at ? { atEvent: at.event.id } : {}),
        newMessage: { role: "user", parts: [{ text: message }] },
        ...(changes as JsonObject),
      }),
    );
    if (!made) return false;
    await listSessions();
    await open({ ...where, session: made.id });
    forkedFrom.value = old?.id ?? where.session;
    return true;
  } finally {
    starting.value = false;
  }
}

/** The session that the open one was forked from here, to compare with. */
export const forkedFrom = signal<string | undefined>(undefined);

/** The last event before a message, behind which a fork takes the message's place. */
export function eventBefore(one: Numbered): Numbered | undefined {
  const at = s.events.value.indexOf(one);
  return at > 0 ? s.events.value[at - 1] : undefined;
}

/** The user's message of an invocation. */
export const messageOf = (invocation: string): Numbered | undefined =>
  s.events.value.find(
    ({ event }) =>
      event.invocationId === invocation &&
      event.author === "user" &&
      event.content?.parts?.some((part) => part.text),
  );

/** The number of the last event that two sessions of a tree share; undefined if one is not in it. */
export function sharedEvents(tree: ForkBranch, one: string, other: string): number | undefined {
  const has = (branch: ForkBranch, id: string): boolean =>
    branch.sessions.some((session) => session.id === id) || branch.branches.some((inner) => has(inner, id));
  if (!has(tree, one) || !has(tree, other)) return undefined;
  const deeper = tree.branches.find((branch) => has(branch, one) && has(branch, other));
  return deeper ? sharedEvents(deeper, one, other) : tree.last;
}

// What is streamed: pieces that grow into answers, and changes of the state.

import type { Event, JsonObject } from "./types";

/** Return a state with what an event changes in it. */
export function merged(state: JsonObject, delta: JsonObject): JsonObject {
  const next = { ...state, ...delta };
  for (const [key, value] of Object.entries(delta)) if (value === null) delete next[key];
  return next;
}

/** Whether two events are of one agent in one run. */
export const sameSpeaker = (one: Event, other: Event): boolean =>
  one.author === other.author &&
  one.branch === other.branch &&
  one.invocationId === other.invocationId;

/** Add a streamed piece to what its speaker said before; each piece has an id of its own. */
export function grown(open: Event[], piece: Event): Event[] {
  const others = open.filter((one) => !sameSpeaker(one, piece));
  if (piece.customMetadata?.["restarted"]) return others; // what was streamed is taken back
  const before = open.find((one) => sameSpeaker(one, piece));
  const parts = [...(before?.content?.parts ?? [])];
  for (const part of piece.content?.parts ?? []) {
    const last = parts[parts.length - 1];
    if (part.text !== undefined && last?.text !== undefined && !!last.thought === !!part.thought) {
      parts[parts.length - 1] = { ...last, text: last.text + part.text };
    } else parts.push(part);
  }
  return [...others, { ...piece, content: { ...piece.content, parts } }];
}

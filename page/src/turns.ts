// Turns: all that one message of a person caused, with its time and its tokens.

import { textOf } from "./format";
import { isCancelled } from "./nesting";
import type { Row } from "./nesting";
import type { Usage as TokenCounts } from "./types";

export interface Usage {
  model: string;
  prompt: number;
  cached: number;
  output: number;
}

export interface Turn {
  invocation: string;
  /** The message that began it; none if a person was asked, or answered: that cannot run by itself. */
  message: string;
  /** Seconds from its first event to its last. */
  seconds: number;
  events: number;
  usage: Usage[];
  failed: boolean;
}

export interface Turns {
  /** Keys of the rows that begin a turn. */
  starts: ReadonlySet<string>;
  /** The finished turns by the key of their last row. */
  ends: ReadonlyMap<string, Turn>;
}

/** Group rows into turns; the last one has no end while something runs. */
export function turnsOf(rows: Row[], running: boolean): Turns {
  const starts = new Set<string>();
  const ends = new Map<string, Turn>();
  let [invocation, from, last] = ["", 0, ""];
  let turn: Turn | undefined;
  const close = () => {
    if (turn && (turn.usage.length || turn.events > 1)) ends.set(last, turn);
  };
  for (const { key, one, depth } of rows) {
    const { event } = one;
    if (depth === 0 && event.invocationId !== invocation) {
      close();
      [invocation, from] = [event.invocationId, event.timestamp];
      const message = event.author === "user" ? textOf(event.content?.parts) : "";
      turn = { invocation, message, seconds: 0, events: 0, usage: [], failed: false };
      starts.add(key);
    }
    if (!turn) continue;
    turn.events += 1;
    if (event.longRunningToolIds?.length) turn.message = "";
    turn.seconds = Math.max(turn.seconds, event.timestamp - from);
    turn.failed = event.errorCode !== undefined && !isCancelled(event);
    if (event.usageMetadata) addUsage(turn.usage, event.modelVersion ?? "", event.usageMetadata);
    last = key;
  }
  if (!running) close();
  return { starts, ends };
}

function addUsage(all: Usage[], model: string, given: TokenCounts): void {
  let found = all.find((one) => one.model === model);
  if (!found) all.push((found = { model, prompt: 0, cached: 0, output: 0 }));
  found.prompt += given.promptTokenCount ?? 0;
  found.cached += given.cachedContentTokenCount ?? 0;
  found.output += (given.candidatesTokenCount ?? 0) + (given.thoughtsTokenCount ?? 0);
}

export const tokensOf = (usage: Usage[] | undefined): number =>
  (usage ?? []).reduce((sum, one) => sum + one.prompt + one.output, 0);

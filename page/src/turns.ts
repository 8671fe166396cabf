// Turns: all that one message of a person caused, with its time and its tokens.

import { textOf } from "./format";
import { isCancelled, isStopped } from "./nesting";
import type { Row } from "./nesting";
import type { IconName } from "./parts/Icon";
import { modelOf } from "./prices";
import type { Actions, Event, Span, Usage as TokenCounts } from "./types";

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
  /** Seconds from its first event or span to its last, without those in which it waited for a person. */
  seconds: number;
  waited: number;
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

/** What an event changes besides the conversation, each with its drawing. */
export function effectsOf(actions: Actions = {}): [IconName, string][] {
  const found: [IconName, string][] = [];
  if (actions.transferToAgent) found.push(["transfer", `transfer to ${actions.transferToAgent}`]);
  if (actions.escalate) found.push(["undo", "escalates"]);
  if (actions.rewindBeforeInvocationId) found.push(["undo", "rewinds the session"]);
  if (actions.compaction) found.push(["rows", "summary of what was before"]);
  for (const key of Object.keys(actions.stateDelta ?? {})) {
    if (key !== "__session_metadata__") found.push(["state", `state ${key}`]); // the session's name
  }
  for (const [name, version] of Object.entries(actions.artifactDelta ?? {})) {
    found.push(["file", `artifact ${name} v${version}`]);
  }
  return found;
}

/** Whether an event has something to show in a conversation; the mark of an agent's end has not. */
export const isShown = (event: Event): boolean =>
  !!event.content?.parts?.length ||
  event.partial === true ||
  event.output !== undefined ||
  event.errorCode !== undefined ||
  event.usageMetadata !== undefined ||
  effectsOf(event.actions).length > 0;

/** Tell when a turn began and ended: with its first and last event or span; an open span lasts until now. */
export function extentOf(events: readonly Event[], spans: readonly Span[] = [], now = 0): [number, number] {
  let [from, to] = [Infinity, -Infinity];
  const reach = (start: number, end: number) => {
    from = Math.min(from, start);
    to = Math.max(to, end);
  };
  for (const { timestamp } of events) reach(timestamp, timestamp);
  for (const { start, end } of spans) reach(start, end ?? Math.max(start, now));
  return [from, to];
}

/** Group rows into turns; the last one has no end while something runs. */
export function turnsOf(rows: Row[], running: boolean, spans: readonly Span[] = []): Turns {
  const spansBy = new Map<string, Span[]>();
  for (const span of spans) {
    const known = spansBy.get(span.invocationId);
    if (known) known.push(span);
    else spansBy.set(span.invocationId, [span]);
  }
  const starts = new Set<string>();
  const ends = new Map<string, Turn>();
  let [invocation, begun, before, last, waits] = ["", false, 0, "", false];
  let events: Event[] = [];
  let turn: Turn | undefined;
  const close = () => {
    const [from, to] = extentOf(events, spansBy.get(invocation));
    if (turn) turn.seconds = Math.max(0, to - from - turn.waited);
    if (turn && last && (turn.usage.length || turn.events > 1)) ends.set(last, turn);
  };
  for (const { key, one, depth } of rows) {
    const { event } = one;
    if (depth === 0 && event.invocationId !== invocation) {
      close();
      [invocation, begun, before, last, waits] = [event.invocationId, false, event.timestamp, "", false];
      events = [];
      const message = event.author === "user" ? textOf(event.content?.parts) : "";
      turn = { invocation, message, seconds: 0, waited: 0, events: 0, usage: [], failed: false };
    }
    if (!turn) continue;
    turn.events += 1;
    events.push(event);
    if (event.longRunningToolIds?.length || isCancelled(event) || isStopped(event)) turn.message = "";
    const answers = waits && event.author === "user";
    if (answers) turn.waited += Math.max(0, event.timestamp - before);
    before = Math.max(before, event.timestamp);
    waits = event.longRunningToolIds?.length ? true : waits && !answers;
    turn.failed = event.errorCode !== undefined && !isCancelled(event);
    if (event.usageMetadata) addUsage(turn.usage, modelOf(event), event.usageMetadata);
    if (!isShown(event)) continue;
    last = key;
    if (!begun && depth === 0) starts.add(key);
    begun ||= depth === 0;
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

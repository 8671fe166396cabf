// Which events happened inside others: an agent that was called works below its call, a node of a
// graph below the graph. Rows are in the order of the log, but for what belongs below a call.

import type { Event, JsonObject, Numbered } from "./types";

/** An event as a list shows it. */
export interface Row {
  key: string;
  one: Numbered;
  /** How many calls and graphs it lies in. */
  depth: number;
  /** Where it happened, in words; empty for the conversation itself. */
  scope: string;
  /** Whether it is still being made. */
  open: boolean;
}

const DEEPEST = 8; // levels; those below are shown as this one

/** The call that an event of an agent which runs as a tool belongs to; nobody stores such events. */
function seenBelow(event: Event): JsonObject | undefined {
  const place = event.customMetadata?.["ostinato:parent_call"];
  return place && typeof place === "object" && !Array.isArray(place) ? place : undefined;
}

/** What was streamed until a person stopped the run; nobody stores it. */
export const STOPPED = "page:stopped";

export const isStopped = (event: Event): boolean => event.customMetadata?.[STOPPED] === true;

/** Whether an event is the mark of a run that was cancelled, which is no failure. */
export const isCancelled = (event: Event): boolean => event.errorCode === "RunCancelledError";

/** Whether an event was seen live, and then no more: a whole one of an agent that runs as a tool, or
 * what a stopped run had said. */
export const isLiveOnly = (event: Event): boolean =>
  seenBelow(event)?.["complete"] === true || isStopped(event);

interface Place {
  call: string | undefined;
  scope: string;
  /** Graphs that it lies in. */
  graphs: number;
}

const places = new WeakMap<Event, Place>(); // an event never changes

function placeOf(event: Event): Place {
  let found = places.get(event);
  if (!found) {
    const graphs = Math.max(0, nodes(event).length - 1);
    places.set(event, (found = { call: called(event), scope: scopeOf(event), graphs }));
  }
  return found;
}

/** The call that an event happened for. */
export const callOf = (event: Event): string | undefined => placeOf(event).call;

/** Where an event happened, in words; empty for the conversation itself. */
export const shortScope = (event: Event): string => placeOf(event).scope;

function called(event: Event): string | undefined {
  const path = seenBelow(event)?.["path"];
  if (Array.isArray(path)) return path[path.length - 1] as string | undefined;
  if (event.isolationScope) return event.isolationScope;
  const last = event.branch?.split(".").findLast((part) => part.includes("@"));
  return last?.slice(last.indexOf("@") + 1);
}

/** The nodes of a graph, or the agents, that an event lies in, the outermost first; not those that
 * were called, which the branch names. */
function nodes(event: Event): string[] {
  const path = (event.nodeInfo?.path ?? "").split("/").filter(Boolean);
  const called = (event.branch ?? "").split(".").filter((segment) => segment.includes("@"));
  while (path.length && called.length && nameOf(path.at(-1)!) === nameOf(called.at(-1)!)) {
    path.pop();
    called.pop();
  }
  return path;
}

const nameOf = (segment: string): string => segment.split("@")[0]!;

/** Where an event happened, as short as can be told apart. */
function scopeOf(event: Event): string {
  const called = (event.branch ?? "").split(".").filter(Boolean).map(short);
  if (!called.length && event.isolationScope) called.push(short(`@${event.isolationScope}`));
  const path = nodes(event);
  return [called.join(" › "), path.length > 1 ? path.map(nodeName).join(" / ") : ""]
    .filter(Boolean)
    .join(", ");
}

/** `clerk@adk-7acae335-...` as `clerk 7aca`. */
function short(segment: string): string {
  const [name, call] = segment.split("@") as [string, string?];
  return call === undefined ? name : `${name} ${call.replace(/^adk-/, "").slice(0, 4)}`.trim();
}

/** A node without the number of its first run: `plan@1` as `plan`, `plan@2` as `plan 2`. */
export const nodeName = (node: string): string => node.replace(/@1$/, "").replace("@", " ");

/** All that tells where an event happened, for those who want to know exactly. */
export const exactScope = (event: Event): string =>
  [event.branch, event.nodeInfo?.path].filter(Boolean).join(", ");

/** Put the events of agents that were called below their calls. */
export function nested(all: Numbered[]): Row[] {
  const calls = new Set<string>();
  const below = new Map<string, Numbered[]>();
  const tops: Numbered[] = [];
  for (const one of all) {
    const call = callOf(one.event);
    if (call === undefined || !calls.has(call)) tops.push(one);
    else if (below.has(call)) below.get(call)!.push(one);
    else below.set(call, [one]);
    for (const part of one.event.content?.parts ?? []) {
      if (part.functionCall?.id) calls.add(part.functionCall.id);
    }
  }
  const rows: Row[] = [];
  const add = (one: Numbered, outer: number) => {
    const { event } = one;
    const { call, scope, graphs } = placeOf(event);
    const inside = outer === 0 && call !== undefined ? 1 : outer; // its call is not loaded
    const depth = inside + graphs;
    const open = !one.number && !isLiveOnly(event);
    const key = open ? `open-${event.author} ${event.branch}` : event.id;
    rows.push({ key, one, depth: Math.min(depth, DEEPEST), scope, open });
    for (const part of event.content?.parts ?? []) {
      const id = part.functionCall?.id;
      if (!id) continue;
      const inner = below.get(id);
      below.delete(id); // an id that comes twice has its events once
      for (const child of inner ?? []) add(child, depth + 1);
    }
  };
  for (const one of tops) add(one, 0);
  return rows;
}

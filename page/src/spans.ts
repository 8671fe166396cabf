// How spans and events belong together, and where spans lie in time.

import { callOf } from "./nesting";
import type { Event, Span } from "./types";

/** Gaps between invocations, while nobody works, are shortened to this many seconds. */
const GAP = 0.2;

export interface Bar {
  span: Span;
  depth: number;
  from: number;
  to: number;
}

export interface Waterfall {
  bars: Bar[];
  length: number;
}

/** Count spans of agents that ran as tools to the invocation that called them. */
export function rooted(spans: Span[]): Span[] {
  const known = new Map(spans.map((span) => [span.id, span]));
  return spans.map((span) => {
    let root = span;
    while (root.parentId && known.has(root.parentId)) root = known.get(root.parentId)!;
    return root === span ? span : { ...span, invocationId: root.invocationId };
  });
}

/** Lay an invocation's spans out on one axis that begins with it. */
export function waterfall(spans: Span[], now: number): Waterfall {
  const known = new Map(spans.map((span) => [span.id, span]));
  const below = new Map<string, Span[]>();
  for (const span of spans) {
    const parent = span.parentId && known.has(span.parentId) ? span.parentId : "";
    below.set(parent, [...(below.get(parent) ?? []), span]);
  }
  const bars: Bar[] = [];
  let shift = 0;
  let end = 0;
  const add = (span: Span, depth: number) => {
    bars.push({ span, depth, from: span.start - shift, to: (span.end ?? now) - shift });
    const children = (below.get(span.id) ?? []).sort((a, b) => a.start - b.start);
    for (const child of children) add(child, depth + 1);
  };
  const roots = (below.get("") ?? []).sort((a, b) => a.start - b.start);
  for (const root of roots) {
    shift = root.start - (bars.length ? end + GAP : 0);
    add(root, 0);
    end = Math.max(end, ...bars.map((bar) => bar.to));
  }
  return { bars, length: Math.max(end, 1e-6) };
}

/** The span in which an event came about. */
export function spanOf(event: Event, spans: Span[]): Span | undefined {
  const mine = spans.filter((span) => span.invocationId === event.invocationId);
  for (const part of event.content?.parts ?? []) {
    const id = part.functionResponse?.id;
    const tool = id && mine.find((s) => s.attributes["gen_ai.tool.call.id"] === id);
    if (tool) return tool;
  }
  if (event.content?.role !== "model") return undefined;
  const agents = new Map(mine.map((span) => [span.id, span]));
  const scope = callOf(event);
  const inner = scope && mine.find((one) => one.attributes["gen_ai.tool.call.id"] === scope);
  const within = (span: Span): boolean => {
    if (!inner) return true;
    for (let at: Span | undefined = span; at; at = agents.get(at.parentId ?? "")) {
      if (at === inner) return true;
    }
    return false;
  };
  const calls = mine.filter(
    (span) =>
      span.operation === "chat" &&
      within(span) &&
      agents.get(span.parentId ?? "")?.attributes["gen_ai.agent.name"] === event.author,
  );
  let best: Span | undefined;
  for (const call of calls) {
    if (call.start <= event.timestamp + 0.05 && (!best || call.start > best.start)) best = call;
  }
  // The event's time is that of its skeleton, made as the call begins: the nearest start counts.
  const nearest = calls.reduce<Span | undefined>(
    (found, call) =>
      !found || Math.abs(call.start - event.timestamp) < Math.abs(found.start - event.timestamp)
        ? call
        : found,
    undefined,
  );
  return nearest ?? best;
}

/** The event that came about in a span. */
export function eventOf(span: Span, events: Event[], spans: Span[]): Event | undefined {
  return events.find((event) => spanOf(event, spans)?.id === span.id);
}

/** The model call before this one by the same agent. */
export function callBefore(span: Span, spans: Span[]): Span | undefined {
  const names = new Map(spans.map((one) => [one.id, one.attributes["gen_ai.agent.name"]]));
  const agent = names.get(span.parentId ?? "");
  let found: Span | undefined;
  for (const one of spans) {
    if (one.operation !== "chat" || one.start >= span.start) continue;
    if (names.get(one.parentId ?? "") !== agent) continue;
    if (!found || one.start > found.start) found = one;
  }
  return found;
}

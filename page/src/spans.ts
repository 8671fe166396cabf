// How spans and events belong together.

import { callOf } from "./nesting";
import type { Event, Span } from "./types";

/** Count spans of agents that ran as tools to the invocation that called them. */
export function rooted(spans: Span[]): Span[] {
  const known = new Map(spans.map((span) => [span.id, span]));
  return spans.map((span) => {
    let root = span;
    while (root.parentId && known.has(root.parentId)) root = known.get(root.parentId)!;
    return root === span ? span : { ...span, invocationId: root.invocationId };
  });
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

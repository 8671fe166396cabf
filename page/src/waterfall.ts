// The waterfall of a session: its turns, and what happened in each, laid out in time.

import { nodeName } from "./nesting";
import { addCosts, addTokens, costOf, modelOf, NO_TOKENS, tokensOfSpan, tokensOfUsage } from "./prices";
import type { Tokens } from "./prices";
import { extentOf } from "./turns";
import type { Event, Numbered, Span } from "./types";

/** A row: a turn, or something that happened in it. Times are seconds since the turn began. */
export interface Bar {
  key: string;
  kind: "turn" | "queue" | "agent" | "model" | "tool" | "node" | "other";
  name: string;
  depth: number;
  from: number;
  to: number;
  /** Whether it still runs. */
  open: boolean;
  /** Whether its beginning is a guess: that of the event before it. */
  guessed: boolean;
  error: string;
  /** How many times it was tried before. */
  tries: number;
  tokens: Tokens;
  cost: number | undefined;
  span: Span | undefined;
  event: Event | undefined;
  invocation: string;
}

export interface Turn {
  invocation: string;
  title: string;
  /** Seconds since 1970. */
  start: number;
  length: number;
  bars: Bar[];
}

const KINDS: { [operation: string]: Bar["kind"] } = {
  chat: "model",
  execute_tool: "tool",
  invoke_agent: "agent",
};
const QUEUED = 0.02; // seconds; less is no wait

/** Lay out all turns, oldest first. */
export function turnsOf(events: readonly Numbered[], spans: readonly Span[], now: number): Turn[] {
  const order: string[] = [];
  const eventsBy = new Map<string, Event[]>();
  const spansBy = new Map<string, Span[]>();
  const note = <T>(map: Map<string, T[]>, key: string, one: T) => {
    if (!eventsBy.has(key) && !spansBy.has(key)) order.push(key);
    const known = map.get(key);
    if (known) known.push(one);
    else map.set(key, [one]);
  };
  for (const { event } of events) note(eventsBy, event.invocationId, event);
  for (const span of spans) note(spansBy, span.invocationId, span);
  return order
    .map((key) => turnOf(key, eventsBy.get(key) ?? [], spansBy.get(key) ?? [], now))
    .filter((turn) => turn.bars.length > 1)
    .sort((a, b) => a.start - b.start);
}

function turnOf(invocation: string, events: Event[], spans: Span[], now: number): Turn {
  const asked = events.find((one) => one.author === "user");
  const text = asked?.content?.parts?.find((part) => part.text)?.text;
  const [start, end] = extentOf(events, spans, now);
  const root = spans.find((one) => !one.parentId) ?? spans[0];
  const bars = [...spanBars(spans, invocation, start, now), ...nodeBars(events, spans, invocation, start)];
  const waited = root && asked ? root.start - asked.timestamp : 0;
  if (waited > QUEUED) {
    bars.unshift({
      ...blank(invocation, "queue", "in the queue"),
      depth: 1,
      from: asked!.timestamp - start,
      to: root!.start - start,
    });
  }
  const length = Math.max(1e-6, end - start);
  const models = bars.filter((bar) => bar.kind === "model");
  const head: Bar = {
    ...blank(invocation, "turn", text ?? (asked ? "answer" : "turn")),
    to: length,
    open: bars.some((bar) => bar.open),
    error: events.find((one) => one.errorCode)?.errorCode ?? "",
    event: asked ?? events[0],
    tokens: models.reduce((sum, bar) => addTokens(sum, bar.tokens), NO_TOKENS),
    cost: addCosts(models.map((bar) => bar.cost)),
  };
  return { invocation, title: head.name, start, length, bars: [head, ...bars] };
}

const blank = (invocation: string, kind: Bar["kind"], name: string): Bar => ({
  key: `${invocation} ${kind} ${name}`,
  kind,
  name,
  depth: 0,
  from: 0,
  to: 0,
  open: false,
  guessed: false,
  error: "",
  tries: 0,
  tokens: NO_TOKENS,
  cost: 0,
  span: undefined,
  event: undefined,
  invocation,
});

function spanBars(spans: Span[], invocation: string, start: number, now: number): Bar[] {
  const known = new Set(spans.map((one) => one.id));
  const below = new Map<string, Span[]>();
  for (const span of spans) {
    const parent = span.parentId && known.has(span.parentId) ? span.parentId : "";
    const others = below.get(parent);
    if (others) others.push(span);
    else below.set(parent, [span]);
  }
  const found: Bar[] = [];
  const add = (span: Span, depth: number, tries: number) => {
    const isRoot = span.operation === "invocation" && !span.parentId;
    if (!isRoot) {
      found.push({
        ...blank(invocation, KINDS[span.operation] ?? "other", nameOf(span)),
        key: span.id,
        depth,
        from: span.start - start,
        to: (span.end ?? now) - start,
        open: span.end === undefined,
        error: span.error ?? "",
        tries,
        tokens: span.operation === "chat" ? tokensOfSpan(span) : NO_TOKENS,
        cost: span.operation === "chat" ? costOfSpan(span) : 0,
        span,
      });
    }
    let failed: Span | undefined;
    let again = 0;
    for (const child of (below.get(span.id) ?? []).sort((a, b) => a.start - b.start)) {
      again = failed && failed.name === child.name ? again + 1 : 0;
      add(child, isRoot ? depth : depth + 1, again);
      failed = child.error ? child : undefined;
    }
  };
  for (const root of (below.get("") ?? []).sort((a, b) => a.start - b.start)) add(root, 1, 0);
  return found;
}

/** The name of a span without its operation, which the row shows otherwise. */
const nameOf = (span: Span): string => span.name.replace(/^(chat|execute_tool|invoke_agent) /, "");

const costOfSpan = (span: Span): number | undefined =>
  costOf(tokensOfSpan(span), String(span.attributes["gen_ai.request.model"] ?? ""));

/** Rows of workflow nodes that have no span: a node is known by its events, and begins after the one before. */
function nodeBars(events: Event[], spans: Span[], invocation: string, start: number): Bar[] {
  const agents = new Set(spans.map((one) => one.attributes["gen_ai.agent.name"]));
  const found = new Map<string, Bar>();
  let before = start;
  for (const event of events) {
    const path = event.nodeInfo?.path ?? "";
    const name = path.split("/").pop()!;
    const bare = name.split("@")[0]!;
    if (path.includes("/") && !agents.has(bare)) {
      const known = found.get(path);
      if (known) known.to = event.timestamp - start;
      else {
        const bar = {
          ...blank(invocation, "node", nodeName(name)),
          key: `${invocation} ${path}`,
          depth: path.split("/").length - 1,
          from: before - start,
          to: event.timestamp - start,
          guessed: true,
          error: event.errorCode ?? "",
          event,
        };
        found.set(path, bar);
      }
    }
    before = event.timestamp;
  }
  return [...found.values()];
}

/** Tokens and cost of events; the cost is undefined if one of their models has no price. */
export function sumUsage(
  events: readonly Numbered[],
  spanOf: (event: Event) => Span | undefined = () => undefined,
): { tokens: Tokens; cost: number | undefined } {
  let tokens = NO_TOKENS;
  const costs: (number | undefined)[] = [];
  for (const { event } of events) {
    if (!event.usageMetadata) continue;
    const mine = tokensOfUsage(event.usageMetadata);
    tokens = addTokens(tokens, mine);
    costs.push(costOf(mine, modelOf(event, spanOf(event))));
  }
  return { tokens, cost: addCosts(costs) };
}

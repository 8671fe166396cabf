// What the nodes of the graph did in a session: how often, how long, and what they do now.

import type { AppGraph, Approval, Event, GraphNode, Numbered, Span } from "./types";

type NodeState = "idle" | "done" | "running" | "waiting" | "failed";

export interface Activity {
  state: NodeState;
  runs: number;
  events: Event[];
  /** Seconds of all its runs, by its spans; 0 if it has none. */
  seconds: number;
}

/** The path of a node without the numbers of its runs: `flow@1/plan@2` as `flow/plan`. */
export const barePath = (path: string): string => path.replace(/@[^/]*/g, "");

/** Return the node of the graph in which an event came about. */
function nodeOf(event: Event, byPath: Map<string, GraphNode>, byName: Map<string, GraphNode>) {
  const path = barePath(event.nodeInfo?.path ?? "");
  for (let at = path; at; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
    const found = byPath.get(at);
    if (found) return found;
  }
  return byName.get(event.author);
}

/** Return what each node did, by its id. */
export function activities(
  graph: AppGraph,
  events: readonly Numbered[],
  spans: readonly Span[],
  waiting: readonly Approval[],
  active: string | undefined,
  running = active !== undefined,
): Map<string, Activity> {
  const byPath = new Map(graph.nodes.map((node) => [node.id, node]));
  const byName = new Map(graph.nodes.toReversed().map((node) => [node.name, node]));
  const found = new Map<string, Activity>();
  const of = (id: string): Activity => {
    let known = found.get(id);
    if (!known) found.set(id, (known = { state: "idle", runs: 0, events: [], seconds: 0 }));
    return known;
  };
  const seen = new Set<string>();
  for (const { event } of events) {
    if (event.author === "user") continue;
    const node = nodeOf(event, byPath, byName);
    if (!node) continue;
    const mine = of(node.id);
    mine.events.push(event);
    mine.state = event.errorCode ? "failed" : "done";
    const run = `${event.invocationId} ${event.nodeInfo?.path ?? ""} ${event.branch ?? ""} ${node.id}`;
    if (!seen.has(run)) mine.runs += 1;
    seen.add(run);
  }
  const starts = new Map<string, number>();
  for (const span of spans) {
    if (span.operation !== "invoke_agent") continue;
    const node = byName.get(String(span.attributes["gen_ai.agent.name"] ?? ""));
    if (!node) continue;
    const mine = of(node.id);
    mine.runs = Math.max(mine.runs, (starts.get(node.id) ?? 0) + 1);
    starts.set(node.id, (starts.get(node.id) ?? 0) + 1);
    if (span.end === undefined) mine.state = running ? "running" : mine.state;
    else {
      mine.seconds += span.end - span.start;
      if (mine.state === "idle") mine.state = span.error ? "failed" : "done"; // its events are elsewhere
    }
  }
  for (const one of waiting) {
    const event = events.find((each) => each.event.id === one.eventId)?.event;
    const node = event && nodeOf(event, byPath, byName);
    if (node) of(node.id).state = "waiting";
  }
  const lit = active === undefined ? undefined : byName.get(active);
  if (lit) of(lit.id).state = "running";
  for (const node of graph.nodes.toReversed()) {
    const mine = found.get(node.id);
    if (mine && node.group) {
      const group = of(node.group);
      if (group.state === "idle" || mine.state === "running" || mine.state === "waiting") {
        group.state = mine.state;
      }
    }
  }
  return found;
}

import * as dagre from "@dagrejs/dagre";
import { expect, test } from "vitest";
import { layOutWith, pathOf } from "../src/graphlayout";
import { activities, barePath } from "../src/graphstate";
import type { AppGraph, Event, GraphEdge, GraphNode, Numbered, Span } from "../src/types";

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({
  id,
  name: id.split("/").pop()!,
  kind: "node",
  description: "",
  tools: [],
  ...more,
});
const edge = (source: string, target: string, more: Partial<GraphEdge> = {}): GraphEdge => ({
  source,
  target,
  kind: "next",
  label: "",
  ...more,
});
const FLOW: AppGraph = {
  root: "flow",
  complete: true,
  nodes: [
    node("flow", { kind: "workflow" }),
    node("flow/START", { kind: "start", group: "flow" }),
    node("flow/plan", { group: "flow" }),
    node("flow/inner", { kind: "workflow", group: "flow" }),
    node("flow/inner/check", { group: "flow/inner" }),
    node("flow/draft", { kind: "agent", group: "flow" }),
  ],
  edges: [
    edge("flow/START", "flow/plan"),
    edge("flow/plan", "flow/inner", { kind: "route", label: "go" }),
    edge("flow/inner", "flow/plan", { kind: "again" }),
    edge("flow/plan", "flow/draft", { kind: "route", label: "otherwise" }),
    edge("flow/plan", "flow/plan", { kind: "route", label: "retry" }),
  ],
};

test("nodes lie in their groups, and beside each other", () => {
  const { boxes, arrows, width, height } = layOutWith(dagre, FLOW);
  const at = new Map(boxes.map((box) => [box.node.id, box]));
  expect(boxes).toHaveLength(6);
  expect(arrows).toHaveLength(5);
  for (const box of boxes) {
    const outer = at.get(box.node.group ?? "");
    const [left, top, right, bottom] = outer
      ? [outer.x, outer.y, outer.x + outer.width, outer.y + outer.height]
      : [0, 0, width, height];
    expect(box.x).toBeGreaterThanOrEqual(left);
    expect(box.y).toBeGreaterThanOrEqual(top);
    expect(box.x + box.width).toBeLessThanOrEqual(right);
    expect(box.y + box.height).toBeLessThanOrEqual(bottom);
    for (const other of boxes) {
      if (other === box || other.node.group !== box.node.group) continue;
      const apart =
        box.x + box.width <= other.x || other.x + other.width <= box.x ||
        box.y + box.height <= other.y || other.y + other.height <= box.y;
      expect(apart, `${box.node.id} and ${other.node.id}`).toBe(true);
    }
  }
  for (const arrow of arrows) expect(pathOf(arrow.points)).toMatch(/^M[-\d.]+ [-\d.]+ /);
  expect(arrows.filter((one) => one.label)).toHaveLength(3);
});

test("an app without nodes is an empty drawing", () => {
  expect(layOutWith(dagre, { root: "", complete: true, nodes: [], edges: [] }).boxes).toEqual([]);
});

let count = 0;
const event = (author: string, path: string, more: Partial<Event> = {}): Numbered => ({
  number: (count += 1),
  event: { id: `e${count}`, invocationId: "i", author, timestamp: count, nodeInfo: { path }, ...more },
});

test("a node knows how often it ran and what it does", () => {
  const events = [
    event("user", ""),
    event("flow", "flow@1/plan@1"),
    event("flow", "flow@1/plan@2"),
    event("inner", "flow@1/inner@1/check@1", { errorCode: "E" }),
    event("draft", "flow@1/draft@1"),
    event("draft", "flow@1/draft@1"),
  ];
  const span: Span = {
    id: "s", name: "invoke_agent draft", operation: "invoke_agent", start: 1, end: 3,
    invocationId: "i", attributes: { "gen_ai.agent.name": "draft" },
  };
  const done = activities(FLOW, events, [span], [], undefined);
  expect(done.get("flow/plan")).toMatchObject({ runs: 2, state: "done" });
  expect(done.get("flow/inner/check")).toMatchObject({ runs: 1, state: "failed" });
  expect(done.get("flow/draft")).toMatchObject({ runs: 1, seconds: 2 });
  expect(done.get("flow/draft")!.events).toHaveLength(2);
  const running = activities(FLOW, events, [], [], "draft");
  expect(running.get("flow/draft")!.state).toBe("running");
  expect(running.get("flow")!.state).toBe("running");
  const asks = { eventId: events[1]!.event.id } as never;
  expect(activities(FLOW, events, [], [asks], undefined).get("flow/plan")!.state).toBe("waiting");
  expect(barePath("a@1/b@12")).toBe("a/b");
});

import { beforeEach, expect, test, vi } from "vitest";
import type { Event, Numbered, Prices, Span } from "../src/types";

const kept = new Map<string, string>();
vi.stubGlobal("localStorage", {
  getItem: (key: string) => kept.get(key) ?? null,
  setItem: (key: string, value: string) => kept.set(key, value),
});
const prices = await import("../src/prices");
const { turnsOf } = await import("../src/waterfall");

const LIST: Prices = {
  asOf: "2026-11-23",
  currency: "USD",
  prices: {
    "gpt-4o": { input: 2, output: 10, cached: 1 },
    "claude-haiku-4-5": { input: 1, output: 5 },
  },
  own: {},
};

beforeEach(() => {
  kept.clear();
  prices.given.value = {};
  prices.listed.value = LIST;
});

test("names of models find their list price as on the server", () => {
  for (const name of ["gpt-4o", "openai:gpt-4o", "azure/gpt-4o", "gpt-4o-2024-08-06", "GPT-4o-latest"]) {
    expect(prices.priceOf(name), name).toEqual(LIST.prices["gpt-4o"]);
  }
  expect(prices.priceOf("us.anthropic.claude-haiku-4-5-20251001-v1:0")?.output).toBe(5);
  for (const name of ["", "gpt", "gpt-4o-ultra", "constructor", "ollama:llama3.2"]) {
    expect(prices.priceOf(name), name).toBeUndefined();
  }
});

test("a person's price counts before the budget's, and that before the list", () => {
  prices.listed.value = { ...LIST, own: { house: { input: 1, output: 1 } } };
  expect(prices.priceOf("gpt-4o")).toBeUndefined(); // perhaps in another currency
  expect(prices.priceOf("house")).toEqual({ input: 1, output: 1 });
  prices.keepPrice("gpt-4o", "3, 2, 1");
  expect(prices.priceOf("gpt-4o")).toEqual({ input: 3, cached: 2, output: 1 });
  expect(kept.get("ostinato-prices")).toBe('{"gpt-4o":"3, 2, 1"}');
  prices.keepPrice("gpt-4o", "  ");
  expect(kept.get("ostinato-prices")).toBe("{}");
});

test("a cost needs the price of each model", () => {
  const tokens = { input: 1_000_000, cached: 400_000, thoughts: 0, output: 100_000 };
  expect(prices.costOf(tokens, "gpt-4o")).toBeCloseTo(0.6 * 2 + 0.4 * 1 + 0.1 * 10);
  expect(prices.costOf(tokens, "unknown")).toBeUndefined();
  expect(prices.costOf(prices.NO_TOKENS, "unknown")).toBe(0);
  expect(prices.addCosts([1, undefined, 2])).toBeUndefined();
  expect(prices.readPrice("1, x, 2")).toBeUndefined();
});

const span = (id: string, name: string, from: number, to?: number, more: Partial<Span> = {}): Span => ({
  id,
  name,
  operation: name.split(" ")[0]!,
  start: from,
  ...(to === undefined ? {} : { end: to }),
  invocationId: "i1",
  attributes: {},
  ...more,
});
const event = (timestamp: number, more: Partial<Event> = {}): Numbered => ({
  number: timestamp,
  event: { id: `e${timestamp}`, invocationId: "i1", author: "desk", timestamp, ...more },
});

test("a turn has its wait, its model calls with retries, its tools and its sums", () => {
  const usage = { "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 1_000_000 };
  const spans = [
    span("r", "invocation", 12, 20),
    span("a", "invoke_agent desk", 12, 20, { parentId: "r" }),
    span("m1", "chat gpt-4o", 12, 13, { parentId: "a", error: "503" }),
    span("m2", "chat gpt-4o", 13, 15, { parentId: "a", attributes: usage }),
    span("t", "execute_tool look", 15, undefined, { parentId: "a" }),
  ];
  const asked = event(10, { author: "user", content: { parts: [{ text: "Hi" }] } });
  const [turn] = turnsOf([asked], spans, 21);
  expect(turn!.bars.map((bar) => [bar.kind, bar.name, bar.depth, bar.from, bar.to])).toEqual([
    ["turn", "Hi", 0, 0, 11],
    ["queue", "in the queue", 1, 0, 2],
    ["agent", "desk", 1, 2, 10],
    ["model", "gpt-4o", 2, 2, 3],
    ["model", "gpt-4o", 2, 3, 5],
    ["tool", "look", 2, 5, 11],
  ]);
  expect(turn!.bars.map((bar) => bar.tries)).toEqual([0, 0, 0, 0, 1, 0]);
  expect(turn!.bars[5]!.open).toBe(true);
  expect(turn!.bars[0]!.cost).toBe(2);
  expect(turn!.bars[0]!.tokens.input).toBe(1_000_000);
});

test("nodes without spans are rows, too", () => {
  const [turn] = turnsOf(
    [
      event(1, { author: "user", content: { parts: [{ text: "go" }] } }),
      event(2, { author: "flow", nodeInfo: { path: "flow@1/plan@1" }, output: "x" }),
      event(5, { author: "flow", nodeInfo: { path: "flow@1/inner@1/check@2" }, output: "y" }),
    ],
    [],
    9,
  );
  expect(turn!.bars.slice(1).map((bar) => [bar.kind, bar.name, bar.depth, bar.from, bar.to])).toEqual([
    ["node", "plan", 1, 0, 1],
    ["node", "check 2", 2, 1, 4],
  ]);
});

test("turns are apart, in their order", () => {
  const later = { invocationId: "i0" };
  const turns = turnsOf([], [
    span("b", "invocation", 50, 51, later),
    span("b1", "invoke_agent b", 50, 51, { ...later, parentId: "b" }),
    span("a", "invocation", 1, 2),
    span("a1", "invoke_agent a", 1, 2, { parentId: "a" }),
  ], 60);
  expect(turns.map((one) => one.bars[1]!.name)).toEqual(["a", "b"]);
});

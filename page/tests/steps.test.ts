import { expect, test, vi } from "vitest";
import type { Event, Numbered, Part } from "../src/types";

vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
const { align, rewoundNumbers, stepsOf, sumsOf } = await import("../src/steps");

let count = 0;
const event = (author: string, parts: Part[], more: Partial<Event> = {}): Event => ({
  id: `e${(count += 1)}`,
  invocationId: "i1",
  author,
  timestamp: count,
  content: { role: author === "user" ? "user" : "model", parts },
  ...more,
});
const numbered = (...events: Event[]): Numbered[] =>
  events.map((one, at) => ({ number: at + 1, event: one }));
const says = (author: string, text: string) => event(author, [{ text }]);
const calls = (name: string, args = {}) => event("desk", [{ functionCall: { id: "x", name, args } }]);
const gives = (name: string, response = {}) =>
  event("desk", [{ functionResponse: { id: "x", name, response } }]);
const shown = (left: Event[], right: Event[]) =>
  align(stepsOf(numbered(...left)), stepsOf(numbered(...right))).map(
    (pair) => `${pair.kind} ${(pair.left ?? pair.right)!.kind} ${(pair.left ?? pair.right)!.name}`.trim(),
  );

test("equal runs face each other, whatever their ids and times", () => {
  const run = () => [says("user", "Hi"), calls("look", { city: "Rome" }), gives("look", { ok: true })];
  expect(shown(run(), run())).toEqual(["same message", "same call look", "same result look"]);
});

test("an inserted step moves the rest and changes none of it", () => {
  const left = [says("user", "Hi"), calls("look"), says("desk", "Sunny.")];
  const right = [says("user", "Hi"), calls("check"), calls("look"), says("desk", "Sunny.")];
  expect(shown(left, right)).toEqual([
    "same message", "added call check", "same call look", "same answer",
  ]);
  expect(shown(right, left)[1]).toBe("removed call check");
});

test("a changed step faces the one that it replaces", () => {
  const left = [calls("look", { city: "Rome", days: 1 }), calls("look", { city: "Oslo", days: 1 })];
  const right = [calls("look", { city: "Oslo", days: 2 })];
  const pairs = align(stepsOf(numbered(...left)), stepsOf(numbered(...right)));
  expect(pairs.map((one) => one.kind)).toEqual(["removed", "changed"]);
  expect(pairs[1]!.left!.value).toEqual({ city: "Oslo", days: 1 });
});

test("steps of several kinds in one event are told apart, its tokens count once", () => {
  const whole = event("desk", [{ text: "Hm", thought: true }, { text: "Yes." }], {
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3 },
    actions: { stateDelta: { a: 1 }, transferToAgent: "helper" },
  });
  const steps = stepsOf(numbered(whole));
  expect(steps.map((one) => one.kind)).toEqual(["thought", "answer", "transfer", "state"]);
  expect(sumsOf(steps)).toMatchObject({ steps: 4, tokens: 10, calls: 0 });
});

test("what a rewind took back is known", () => {
  const at = (invocationId: string, more: Partial<Event> = {}) =>
    event("desk", [{ text: invocationId }], { invocationId, ...more });
  const rewind = (to: string) => at("r", { actions: { rewindBeforeInvocationId: to } });
  expect([...rewoundNumbers(numbered(at("a"), at("b"), at("b"), rewind("b"), at("c")))].sort()).toEqual([
    2, 3, 4,
  ]);
  expect([...rewoundNumbers(numbered(at("a"), rewind("deleted"), at("b")))].sort()).toEqual([1, 2]);
  expect([
    ...rewoundNumbers(numbered(at("a"), at("b"), rewind("b"), at("c"), rewind("a"))),
  ].sort()).toEqual([1, 2, 3, 4, 5]);
});

test("a thousand steps are aligned at once", () => {
  const run = (salt: number) =>
    Array.from({ length: 1000 }, (_, at) => calls("look", { at: at % 7 === 0 ? at + salt : at }));
  const pairs = align(stepsOf(numbered(...run(0))), stepsOf(numbered(...run(1))));
  expect(pairs.length).toBeGreaterThanOrEqual(1000);
  expect(pairs.filter((one) => one.kind === "same").length).toBeGreaterThan(850);
});

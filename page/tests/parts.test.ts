// What the parts of the page compute.

import { beforeEach, describe, expect, test } from "vitest";
import { costOf } from "../src/cost";
import { keepDraft, loadDraft } from "../src/drafts";
import { age, duration, short } from "../src/format";
import { pieces, straight, TURNS } from "../src/hidden";
import { stretches } from "../src/highlight";
import type { Row } from "../src/nesting";
import { agentModels, keepPrice } from "../src/prices";
import { turnsOf } from "../src/turns";
import { turnsOf as waterfallOf } from "../src/waterfall";
import type { Event } from "../src/types";

beforeEach(() => [localStorage, sessionStorage].forEach((one) => one.clear()));

describe("drafts", () => {
  test("are forgotten by undefined", () => {
    keepDraft("one", "alpha");
    keepDraft("two", { text: "beta" });
    expect([loadDraft("one"), loadDraft("two"), loadDraft("three")]).toEqual(["alpha", { text: "beta" }, undefined]);
    keepDraft("one", undefined);
    expect(loadDraft("one")).toBeUndefined();
  });
  test("of this tab come first, and those of another stay", () => {
    keepDraft("one", "alpha");
    const other = JSON.stringify({ value: "beta" });
    localStorage.setItem("ostinato-draft one", other); // another tab
    expect(loadDraft("one")).toBe("alpha");
    keepDraft("one", undefined);
    expect(localStorage.getItem("ostinato-draft one")).toBe(other);
  });
  test("only the newest are kept", () => {
    for (let at = 0; at < 60; at += 1) keepDraft(String(at), "x");
    expect(Object.keys(localStorage).length).toBe(50);
    expect(loadDraft("59")).toBe("x");
  });
  test("damaged storage is no draft", () => {
    localStorage.setItem("ostinato-draft one", "{");
    expect(loadDraft("one")).toBeUndefined();
  });
});

const SAID = { parts: [{ text: "said" }] };
const row = (
  invocationId: string,
  timestamp: number,
  depth = 0,
  more: Partial<Event> = { content: SAID },
): Row => ({
  key: `${invocationId} ${timestamp}`,
  one: { number: timestamp, event: { id: "e", author: "a", invocationId, timestamp, ...more } },
  depth,
  scope: "",
  open: false,
});

describe("turns", () => {
  const usageMetadata = { promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 2, thoughtsTokenCount: 1 };
  test("sum what they used, nested events too", () => {
    const rows = [
      row("i", 1),
      row("i", 2, 0, { usageMetadata }),
      row("other", 3, 1, { usageMetadata }),
      row("i", 6),
      row("j", 9),
      row("j", 10),
    ];
    const { starts, ends } = turnsOf(rows, false);
    expect([...starts]).toEqual(["i 1", "j 9"]);
    expect(ends.get("i 6")).toEqual({
      invocation: "i",
      message: "",
      seconds: 5,
      waited: 0,
      events: 4,
      failed: false,
      usage: [{ model: "", prompt: 20, cached: 8, output: 6 }],
    });
    expect(ends.has("j 10")).toBe(true);
  });
  test("take as long as in the waterfall", () => {
    const rows = [row("i", 2, 0, { content: { role: "user", parts: [{ text: "Hi" }] } }), row("i", 5)];
    const spans = [
      { id: "s", name: "invocation", operation: "invocation", invocationId: "i", start: 2.5, end: 9, attributes: {} },
      { id: "t", name: "x", operation: "x", invocationId: "i", start: 2.5, end: 8, parentId: "s", attributes: {} },
    ];
    const [drawn] = waterfallOf(rows.map(({ one }) => one), spans, 0);
    expect(turnsOf(rows, false, spans).ends.get("i 5")!.seconds).toBe(7);
    expect(drawn!.length).toBe(7);
  });
  test("count tokens of a response without a model as those of its agent's", () => {
    agentModels.value = { a: "house" };
    const one = (modelVersion?: string) => row("i", 2, 0, { usageMetadata, ...(modelVersion ? { modelVersion } : {}) });
    const models = () => turnsOf([row("i", 1), one(), one("other")], false).ends.get("i 2")!.usage.map((all) => all.model);
    expect(models()).toEqual(["house", "other"]);
    keepPrice("house", "1, 1, 1"); // one with a price counts
    expect(models()).toEqual(["house"]);
    agentModels.value = {};
    keepPrice("house", "");
  });
  test("the last one has no end while something runs", () => {
    expect(turnsOf([row("i", 1), row("i", 2)], true).ends.size).toBe(0);
  });
  test("tell the time of waiting for a person apart", () => {
    const asks = { longRunningToolIds: ["c"], content: { parts: [] } };
    const answer = { author: "user", content: { parts: [{ text: "yes" }] } };
    const shown = { content: { parts: [{ text: "x" }] } };
    const rows = [row("i", 1, 0, answer), row("i", 3, 0, asks), row("i", 4, 0, shown), row("i", 700, 0, answer), row("i", 702, 0, shown)];
    expect(turnsOf(rows, false).ends.get("i 702")).toMatchObject({ seconds: 5, waited: 696 });
  });
  test("end at what is shown last, and stopped ones are no case", () => {
    const said = { content: { parts: [{ text: "x" }] } };
    const end = { actions: { endOfAgent: true, stateDelta: { __session_metadata__: {} } } };
    const rows = [row("i", 1, 0, { ...said, author: "user" }), row("i", 2, 0, said), row("i", 3, 0, end)];
    expect([...turnsOf(rows, false).ends.keys()]).toEqual(["i 2"]);
    expect(turnsOf(rows, false).ends.get("i 2")).toMatchObject({ message: "x", seconds: 2, events: 3 });
    const stopped = row("i", 4, 0, { errorCode: "RunCancelledError" });
    expect(turnsOf([...rows, stopped], false).ends.get("i 4")).toMatchObject({ message: "", failed: false });
  });
  test("a change by hand is no turn", () => {
    expect(turnsOf([row("p-1", 1)], false).ends.size).toBe(0);
  });
});

describe("cost", () => {
  const usage = [{ model: "m", prompt: 1_000_000, cached: 500_000, output: 100_000 }];
  test("needs the prices of every model", () => {
    expect(costOf(usage)).toBeUndefined();
    keepPrice("m", "2, 1, 10");
    expect(costOf(usage)).toBeCloseTo(1 + 0.5 + 1);
    expect(costOf([...usage, { ...usage[0]!, model: "n" }])).toBeUndefined();
    expect(costOf([])).toBeUndefined();
  });
});

test("highlighting keeps every character", () => {
  const text = 'def f(x: int) -> str:\n    return "<b>&amp;</b>"  # &lt;';
  const found = stretches(text, "python")!;
  expect(found.map((one) => one.text).join("")).toBe(text);
  expect(found.find((one) => one.text === "def")!.scope).toBe("keyword");
  expect(stretches(text, "no such language")).toBeUndefined();
});

test("ages and counts are short", () => {
  const now = 1_000_000;
  expect([10, 120, 7200, 200_000].map((gone) => age(now - gone, now))).toEqual(["now", "2 min", "2 h", "2 d"]);
  expect([999, 1285, 12_850, 4_500_000].map(short)).toEqual(["999", "1.3k", "13k", "4.5M"]);
});

test("times are told as a person says them", () => {
  const told = [0.02, 3.2, 59.999, 722.26, 61, 3600, 7500, 90_000].map(duration);
  expect(told).toEqual(["20 ms", "3.20 s", "1 min", "12 min", "1 min 1 s", "1 h", "2 h 5 min", "1 d 1 h"]);
});

test("marks of direction are shown, and nothing else of a person's words", () => {
  const text = "a\u202eb\nשלום 👩\u200d💻\u200f";
  expect(straight(text)).toBe("a\\u202eb\nשלום 👩\u200d💻\u200f");
  expect(pieces(text, TURNS).map((one) => one.hidden)).toEqual([false, true, false]);
});

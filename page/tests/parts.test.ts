// What the parts of the page compute.

import { beforeEach, describe, expect, test } from "vitest";
import { costOf } from "../src/cost";
import { keepDraft, loadDraft } from "../src/drafts";
import { age, short } from "../src/format";
import { stretches } from "../src/highlight";
import type { Row } from "../src/nesting";
import { keepPrice } from "../src/prices";
import { turnsOf } from "../src/turns";
import type { Event } from "../src/types";

beforeEach(() => localStorage.clear());

describe("drafts", () => {
  test("belong to a session", () => {
    keepDraft("a", "u", "s", "one");
    keepDraft("a", "u", undefined, "two");
    expect([loadDraft("a", "u", "s"), loadDraft("a", "u", undefined), loadDraft("a", "v", "s")]).toEqual(
      ["one", "two", ""],
    );
    keepDraft("a", "u", "s", "");
    expect(loadDraft("a", "u", "s")).toBe("");
  });
  test("names with slashes stay apart", () => {
    keepDraft("a", "u/s", "", "one");
    expect(loadDraft("a", "u", "s/")).toBe("");
  });
  test("only the newest are kept", () => {
    for (let at = 0; at < 60; at += 1) keepDraft("a", "u", String(at), "x");
    expect(Object.keys(localStorage).length).toBe(50);
    expect(loadDraft("a", "u", "59")).toBe("x");
  });
  test("damaged storage is no draft", () => {
    localStorage.setItem("ostinato-draft a/u/s", "{");
    expect(loadDraft("a", "u", "s")).toBe("");
  });
});

const row = (invocationId: string, timestamp: number, depth = 0, more: Partial<Event> = {}): Row => ({
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
      events: 4,
      failed: false,
      usage: [{ model: "", prompt: 20, cached: 8, output: 6 }],
    });
    expect(ends.has("j 10")).toBe(true);
  });
  test("the last one has no end while something runs", () => {
    expect(turnsOf([row("i", 1), row("i", 2)], true).ends.size).toBe(0);
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

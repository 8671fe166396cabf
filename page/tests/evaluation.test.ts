// Cases beside what happened, results beside each other, and reports of replays.

import { describe, expect, it } from "vitest";
import { callsOf, caseIdOf, compareResults, pairCalls, scoreOf } from "../src/evaluation";
import { eventAt, readReport } from "../src/replay";
import type { Numbered } from "../src/types";
import type { EvalCaseResult, EvalSetResult, EvalStatus, Invocation } from "../src/wire";

const call = (name: string, args = {}) => ({ name, args });

describe("calls", () => {
  const turn = (intermediateData: Invocation["intermediateData"]): Invocation => ({
    invocationId: "i", userContent: {}, creationTimestamp: 0, ...(intermediateData ? { intermediateData } : {}),
  });

  it("come from both forms of a turn", () => {
    expect(callsOf(turn({ toolUses: [call("a")] }))).toEqual([call("a")]);
    const events = [{ author: "x", content: { parts: [{ text: "t" }, { functionCall: call("b") }] } }];
    expect(callsOf(turn({ invocationEvents: events }))).toEqual([call("b")]);
    expect(callsOf(turn(undefined))).toEqual([]);
  });

  it("are put beside those that were expected", () => {
    const pairs = pairCalls([call("a"), call("b", { x: 1 }), call("c")], [call("a"), call("b", { x: 2 }), call("d")]);
    expect(pairs.map((one) => one.kind)).toEqual(["same", "changed", "missing", "extra"]);
    expect(pairCalls([], [call("a")])).toEqual([{ kind: "extra", actual: call("a") }]);
  });
});

describe("results", () => {
  const one = (evalId: string, finalEvalStatus: EvalStatus): EvalCaseResult => ({
    evalSetId: "s", evalId, finalEvalStatus, overallEvalMetricResults: [], evalMetricResultPerInvocation: [], sessionId: "",
  });
  const result = (...evalCaseResults: EvalCaseResult[]): EvalSetResult => ({
    evalSetResultId: "r", evalSetId: "s", creationTimestamp: 0, evalCaseResults,
  });

  it("are compared case by case, what got worse first", () => {
    const rows = compareResults(
      result(one("a", 1), one("b", 2), one("c", 1), one("gone", 1)),
      result(one("a", 1), one("b", 1), one("c", 2), one("new", 1)),
    );
    expect(rows.map((row) => [row.id, row.change])).toEqual([
      ["c", "worse"], ["b", "better"], ["gone", "gone"], ["new", "new"], ["a", "same"],
    ]);
  });

  it("count a case as failed if one of its runs failed", () => {
    const [row] = compareResults(result(one("a", 2), one("a", 1)), result(one("a", 1), one("a", 2)));
    expect(row?.change).toBe("same");
    expect(row?.after?.finalEvalStatus).toBe(2);
  });

  it("show a score with its threshold", () => {
    expect(scoreOf({ metricName: "m", evalStatus: 1, score: 0.12345, threshold: 0.8 })).toBe("0.123 of 0.8");
    expect(scoreOf({ metricName: "m", evalStatus: 3 })).toBe("no score");
  });
});

it("names a case by its title and session", () => {
  expect(caseIdOf("What is the weather?", "ab12-cd34-ef")).toBe("what_is_the_weather_ab12_cd3");
  expect(caseIdOf("../../x", "s1")).toBe("x_s1");
  expect(caseIdOf("Привет, мир", "s1")).toBe("привет_мир_s1");
  expect(caseIdOf("ab12cd34", "ab12cd34")).toBe("ab12cd34");
});

describe("a report", () => {
  const invocation = {
    app_name: "desk", user_id: "u", session_id: "s", invocation_id: "i2", message: "hi", outcome: "diverged",
    is_noise: false, change: { step: 2, expected: [["pay", { to: "Ann" }]], actual: [] },
    recorded: { answer: "paid" }, new: { answer: "", error: "" },
  };

  it("is read, whatever is missing", () => {
    const report = readReport("r.json", JSON.stringify({ format: 1, agent: "a", invocations: [invocation, {}] }));
    expect(report.invocations[0]).toMatchObject({ step: 2, expected: [{ name: "pay", args: { to: "Ann" } }], actual: [] });
    expect(report.invocations[1]).toMatchObject({ outcome: "failed", session: "", step: undefined });
  });

  it("of another format is refused", () => {
    expect(() => readReport("r.json", "{}")).toThrow("r.json is no report of ostinato replay");
    expect(() => readReport("r.json", "no")).toThrow("is not JSON");
  });

  it("leads to the event of the step", () => {
    const event = (number: number, invocationId: string, calls = false): Numbered => ({
      number,
      event: {
        id: `e${number}`, invocationId, author: "a", timestamp: number,
        content: { parts: calls ? [{ functionCall: call("x") }] : [{ text: "t" }] },
      },
    });
    const events = [event(1, "i1", true), event(2, "i2"), event(3, "i2", true), event(4, "i2", true), event(5, "i2")];
    expect(eventAt(events, "i2", 2)?.number).toBe(4);
    expect(eventAt(events, "i2", 9)?.number).toBe(5);
    expect(eventAt(events, "i2", undefined)?.number).toBe(5);
    expect(eventAt(events, "none", 1)).toBeUndefined();
  });
});

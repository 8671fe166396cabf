// Which traceback belongs to what, and how its frames fold.

import { expect, it } from "vitest";
import { groupsOf } from "../src/parts/Traceback";
import { tracebackOf } from "../src/tracebacks";
import type { Traceback, TracebackFrame } from "../src/wire";

const frame = (isOwn: boolean, line: number): TracebackFrame => ({ file: "f.py", line, function: "f", isOwn, first: 1, lines: [] });
const traced = (spanId: string, type: string, callId?: string): Traceback => ({
  spanId, invocationId: "i", name: "n", errors: [{ type, message: "m", frames: [] }], ...(callId ? { callId } : {}),
});

it("finds the traceback of a call, or of the error that ended the run", () => {
  const all = [traced("a", "KeyError", "c1"), traced("b", "KeyError", "c2"), traced("c", "RuntimeError")];
  expect(tracebackOf(all, "c1", undefined)?.spanId).toBe("a");
  expect(tracebackOf(all, "none", undefined)).toBeUndefined();
  expect(tracebackOf(all, undefined, "RuntimeError")?.spanId).toBe("c");
  expect(tracebackOf(all.slice(0, 2), undefined, "Wrapped")?.spanId).toBe("b");
  expect(tracebackOf([], undefined, "X")).toBeUndefined();
});

it("folds the frames of other code together", () => {
  const groups = groupsOf([frame(false, 1), frame(false, 2), frame(true, 3), frame(true, 4), frame(false, 5)]);
  expect(groups.map((group) => group.map((one) => one.line))).toEqual([[1, 2], [3, 4], [5]]);
  expect(groupsOf([])).toEqual([]);
});

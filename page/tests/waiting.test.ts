// What waits in other agents, and what sessions share.

import { expect, test, vi } from "vitest";
import { api } from "../src/api";
import type { Approval, AppInfo, ForkBranch } from "../src/types";

vi.stubGlobal("matchMedia", () => ({ matches: false }));
const s = await import("../src/state");
const { refreshWaiting } = await import("../src/actions");
const { sharedEvents } = await import("../src/runs");

test("calls that wait in other agents are counted, whatever becomes of one of them", async () => {
  const open: { [app: string]: number } = { here: 1, one: 2, none: 0 };
  vi.spyOn(api, "approvals").mockImplementation(async (app) => {
    if (app === "gone") throw new Error("503");
    return Array.from({ length: open[app]! }, () => ({ callId: "c" }) as Approval);
  });
  const named = (name: string, error?: string) => ({ name, ...(error ? { error } : {}) }) as AppInfo;
  s.apps.value = [named("here"), named("one"), named("none"), named("gone"), named("broken", "no")];
  s.app.value = "here";
  await refreshWaiting();
  expect(s.elsewhere.value).toEqual({ one: 2 });
});

test("sessions share the events up to where they part", () => {
  const leaf = (id: string, first: number, last: number): ForkBranch => ({
    first,
    last,
    sessions: [{ id, userId: "u", lastUpdateTime: 0 }],
    branches: [],
  });
  const inner: ForkBranch = { first: 6, last: 9, sessions: [], branches: [leaf("b", 10, 12), leaf("c", 10, 10)] };
  const tree: ForkBranch = { first: 1, last: 5, sessions: [], branches: [leaf("a", 6, 7), inner] };
  expect(["b", "c"].map((one) => sharedEvents(tree, "a", one))).toEqual([5, 5]);
  expect(sharedEvents(tree, "b", "c")).toBe(9);
  expect(sharedEvents(tree, "a", "stranger")).toBeUndefined();
});

// Where rules acted, and who decided, from the events of a session.

import { describe, expect, it } from "vitest";
import { decisionsOf } from "../src/decisions";
import { readEffects } from "../src/effects";
import { actsOf, policyOn } from "../src/rules";
import type { Event, JsonObject, Numbered, Part } from "../src/types";

const event = (number: number, parts: Part[], more: Partial<Event> = {}): Numbered => ({
  number,
  event: { id: `e${number}`, invocationId: "i", author: "desk", timestamp: number, content: { parts }, ...more },
});
const decided = (call: string, given: JsonObject): JsonObject => ({ policy: { [call]: given } });

describe("where rules acted", () => {
  const call = event(1, [{ functionCall: { id: "c", name: "refund" } }]);

  it("tells of policies once for a request that stands on two events", () => {
    const asked = { customMetadata: decided("c", { verdict: "ask", rule: "large" }) };
    const allowed = { customMetadata: decided("c", { verdict: "allow", rule: "large", by: "person" }) };
    const found = actsOf([call, event(2, [], asked), event(3, [], asked), event(4, [], allowed)]);
    expect(found.map((one) => [one.one.number, one.did, one.about, one.rule, one.detail])).toEqual([
      [4, "allowed", "refund", "large", "by a person"],
      [2, "asked", "refund", "large", ""],
    ]);
  });

  it("tells of guardrails and limits", () => {
    const guardrail = { name: "no_cards", of: "desk", stage: "output", tripwire: true, info: { found: 1 } };
    const found = actsOf([
      event(1, [], { customMetadata: { guardrail } }),
      event(2, [], { errorCode: "BudgetExceededError", errorMessage: "too much" }),
      event(3, [], { errorCode: "ValueError", errorMessage: "no limit" }),
    ]);
    expect(found.map((one) => `${one.did} ${one.about} ${one.kind} ${one.rule} ${one.detail}`)).toEqual([
      "stopped desk limit BudgetExceededError too much",
      'stopped output of desk guardrail no_cards {"found":1}',
    ]);
  });

  it("survives metadata of another form", () => {
    expect(actsOf([event(1, [], { customMetadata: { policy: [1], guardrail: "x" } })])).toEqual([]);
    expect(actsOf([event(1, [], { customMetadata: { policy: { c: 1 } } })])).toEqual([]);
  });

  it("is said beside a call", () => {
    expect(policyOn(decided("c", { verdict: "deny", rule: "huge" }), "c")).toBe("denied by huge");
    expect(policyOn(decided("c", { verdict: "allow", rule: "large", by: "person" }), "c")).toBe("asked by large");
    expect(policyOn(decided("c", { verdict: "allow" }), "d")).toBeUndefined();
  });
});

it("knows which call was decided, how and when", () => {
  const original = { originalFunctionCall: { id: "c", name: "pay", args: {} } };
  const found = decisionsOf([
    event(1, [{ functionCall: { id: "c", name: "pay" } }]),
    event(2, [{ functionCall: { id: "q", name: "adk_request_confirmation", args: original } }]),
    event(3, [{ functionResponse: { id: "q", name: "adk_request_confirmation", response: { confirmed: false, payload: { reason: "no" } } } }], { author: "user" }),
  ]);
  expect(found).toMatchObject([{ about: "pay", call: "c", outcome: "rejected: no", approved: false, one: { number: 3 } }]);
});

it("never shows what a credential is", () => {
  const asks = { functionCallId: "c", authConfig: {} };
  const given = { exchangedAuthCredential: { apiKey: "sk-secret" } };
  const [one] = decisionsOf([
    event(1, [{ functionCall: { id: "c", name: "search" } }]),
    event(2, [{ functionCall: { id: "q", name: "adk_request_credential", args: asks } }]),
    event(3, [{ functionResponse: { id: "q", name: "adk_request_credential", response: given } }], { author: "user" }),
  ]);
  expect(one).toMatchObject({ about: "search", call: "c", outcome: "credential given" });
  expect(JSON.stringify({ ...one, one: undefined })).not.toContain("secret");
});

it("asks for effects by filters, and leaves empty ones out", async () => {
  const asked: string[] = [];
  globalThis.fetch = ((url: string) => {
    asked.push(url);
    return Promise.resolve(new Response('{"effects": []}'));
  }) as typeof fetch;
  await readEffects({ app: "a", user: "u", session: "s" }, { tool: " pay ", hours: "1", inDoubt: true }, "t", 10_000);
  await readEffects({ app: "a", user: "u", session: "s" }, { tool: "", hours: "", inDoubt: false }, undefined);
  expect(asked[0]).toContain("/apps/a/users/u/sessions/s/effects?tool=pay&since=6400&inDoubt=true&pageSize=100&pageToken=t");
  expect(asked[1]).toContain("/effects?pageSize=100");
});

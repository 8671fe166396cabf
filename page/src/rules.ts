// Where a policy, a guardrail or a limit acted, as the events of a session tell.

import { oneLine } from "./format";
import { isObject } from "./schema";
import type { Json, JsonObject, Numbered } from "./types";

export interface Act {
  one: Numbered;
  kind: "policy" | "guardrail" | "limit";
  /** What it did: `denied`, `asked`, `allowed`, `stopped`, `noted`. */
  did: string;
  /** The rule, guardrail or limit. */
  rule: string;
  /** The tool or agent that it was about. */
  about: string;
  detail: string;
}

const LIMITS = new Set(["BudgetExceededError", "LlmCallsLimitExceededError"]);
const VERDICTS: { [verdict: string]: string } = { deny: "denied", ask: "asked", allow: "allowed" };
const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");

/** Return where rules acted among events, the newest first. */
export function actsOf(events: readonly Numbered[]): Act[] {
  const tools = new Map<string, string>();
  const seen = new Set<string>(); // a request for approval stands on two events
  const found: Act[] = [];
  for (const one of events) {
    for (const { functionCall } of one.event.content?.parts ?? []) {
      if (functionCall?.id) tools.set(functionCall.id, functionCall.name);
    }
    found.push(...policyActs(one, tools, seen), ...guardrailActs(one), ...limitActs(one));
  }
  return found.reverse();
}

function policyActs(one: Numbered, tools: Map<string, string>, seen: Set<string>): Act[] {
  const decided = one.event.customMetadata?.["policy"];
  if (!isObject(decided)) return [];
  return Object.entries(decided).flatMap(([call, given]): Act[] => {
    if (!isObject(given)) return [];
    const verdict = text(given["verdict"]);
    const by = text(given["by"]);
    if (seen.has(`${call} ${verdict}`)) return [];
    seen.add(`${call} ${verdict}`);
    return [
      {
        one,
        kind: "policy",
        did: VERDICTS[verdict] ?? verdict,
        rule: text(given["rule"]) || "the default",
        about: tools.get(call) ?? call,
        detail: by === "grant" ? "by an earlier grant" : by === "person" ? "by a person" : "",
      },
    ];
  });
}

function guardrailActs(one: Numbered): Act[] {
  const given = one.event.customMetadata?.["guardrail"];
  if (!isObject(given)) return [];
  const stopped = given["tripwire"] === true;
  const info = given["info"];
  return [
    {
      one,
      kind: "guardrail",
      did: stopped ? "stopped" : "noted",
      rule: text(given["name"]),
      about: `${text(given["stage"])} of ${one.event.author}`,
      detail: info === undefined || info === null ? "" : oneLine(info, 200),
    },
  ];
}

function limitActs(one: Numbered): Act[] {
  const code = one.event.errorCode;
  if (!code || !LIMITS.has(code)) return [];
  return [{ one, kind: "limit", did: "stopped", rule: code, about: one.event.author, detail: one.event.errorMessage ?? "" }];
}

/** The word on a call of a tool, if a policy decided it. */
export function policyOn(metadata: JsonObject | undefined, call: string | undefined): string | undefined {
  const decided = metadata?.["policy"];
  const given = isObject(decided) && call !== undefined ? decided[call] : undefined;
  if (!isObject(given)) return undefined;
  const [verdict, by] = [text(given["verdict"]), text(given["by"])];
  const did = by === "person" ? "asked" : (VERDICTS[verdict] ?? verdict);
  return `${did} by ${text(given["rule"]) || "its default"}${by === "grant" ? ", granted before" : ""}`;
}

// What was decided in the open session: which call, how, and when.

import { CONFIRMATION, REQUEST_INPUT } from "./actions";
import { oneLine } from "./format";
import { isObject } from "./schema";
import type { Json, JsonObject, Numbered } from "./types";

export interface Decided {
  one: Numbered;
  /** The tool, or the question. */
  about: string;
  outcome: string;
  approved: boolean;
}

/** Return the answers to requests among events, the newest first. */
export function decisionsOf(events: readonly Numbered[]): Decided[] {
  const asked = new Map<string, string>();
  const found: Decided[] = [];
  for (const one of events) {
    for (const { functionCall, functionResponse } of one.event.content?.parts ?? []) {
      if (functionCall?.id) asked.set(functionCall.id, aboutOf(functionCall.name, functionCall.args ?? {}));
      const about = functionResponse?.id && asked.get(functionResponse.id);
      if (!functionResponse || !about || one.event.author !== "user") continue;
      const given = functionResponse.response ?? {};
      const [outcome, approved] = outcomeOf(functionResponse.name, given);
      found.push({ one, about, outcome, approved });
    }
  }
  return found.reverse();
}

function aboutOf(name: string, args: JsonObject): string {
  if (name === REQUEST_INPUT) return String(args["message"] ?? "a question");
  const original = args["originalFunctionCall"];
  if (name === CONFIRMATION && isObject(original)) return String(original["name"]);
  return name;
}

function outcomeOf(name: string, given: JsonObject): [string, boolean] {
  if (name !== CONFIRMATION) {
    const value: Json = Object.keys(given).length === 1 && "result" in given ? given["result"]! : given;
    return [`answered: ${oneLine(value, 120)}`, true];
  }
  const payload = given["payload"];
  const reason = isObject(payload) && typeof payload["reason"] === "string" ? payload["reason"] : "";
  if (!given["confirmed"]) return [reason ? `rejected: ${oneLine(reason, 120)}` : "rejected", false];
  return [isObject(given["args"]) ? `approved with ${oneLine(given["args"], 120)}` : "approved", true];
}

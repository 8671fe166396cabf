// What was decided in the open session: which call, how, by whom, and when.

import { computed } from "@preact/signals";
import { CONFIRMATION, CREDENTIAL, REQUEST_INPUT } from "./actions";
import { oneLine } from "./format";
import { isObject } from "./schema";
import * as s from "./state";
import type { Json, JsonObject, Numbered } from "./types";

export interface Decided {
  one: Numbered;
  /** The tool, or the question. */
  about: string;
  outcome: string;
  approved: boolean;
  /** Whether other arguments were approved than were asked for. */
  edited: boolean;
  /** The tool's own call, for an approval. */
  call: string;
}

interface Asked {
  about: string;
  call: string;
}

/** Return the answers to requests among events, the newest first. */
export function decisionsOf(events: readonly Numbered[]): Decided[] {
  const asked = new Map<string, Asked>();
  const names = new Map<string, string>();
  const found: Decided[] = [];
  for (const one of events) {
    for (const { functionCall, functionResponse } of one.event.content?.parts ?? []) {
      if (functionCall?.id) {
        names.set(functionCall.id, functionCall.name);
        asked.set(functionCall.id, askedBy(functionCall.name, functionCall.args ?? {}, names));
      }
      const about = functionResponse?.id && asked.get(functionResponse.id);
      if (!functionResponse || !about || one.event.author !== "user") continue;
      const given = functionResponse.response ?? {};
      const [outcome, approved] = outcomeOf(functionResponse.name, given);
      found.push({ one, ...about, outcome, approved, edited: approved && isObject(given["args"]) });
    }
  }
  return found.reverse();
}

/** The decisions of the open session by the tool's call that they are about. */
export const decisions = computed(
  () => new Map(decisionsOf(s.events.value).filter((one) => one.call).map((one) => [one.call, one])),
);

function askedBy(name: string, args: JsonObject, names: Map<string, string>): Asked {
  if (name === REQUEST_INPUT) return { about: String(args["message"] ?? "a question"), call: "" };
  if (name === CREDENTIAL) {
    const call = String(args["functionCallId"] ?? "");
    return { about: names.get(call) ?? "a credential", call };
  }
  const original = args["originalFunctionCall"];
  if (name === CONFIRMATION && isObject(original)) {
    return { about: String(original["name"]), call: String(original["id"] ?? "") };
  }
  return { about: name, call: "" };
}

function outcomeOf(name: string, given: JsonObject): [string, boolean] {
  if (name === CREDENTIAL) {
    const filled = isObject(given["exchangedAuthCredential"] ?? given["exchanged_auth_credential"]);
    return filled ? ["credential given", true] : ["credential refused", false];
  }
  if (name !== CONFIRMATION) {
    const value: Json = Object.keys(given).length === 1 && "result" in given ? given["result"]! : given;
    return [`answered: ${oneLine(value, 120)}`, true];
  }
  const payload = given["payload"];
  const reason = isObject(payload) && typeof payload["reason"] === "string" ? payload["reason"] : "";
  if (!given["confirmed"]) return [reason ? `rejected: ${oneLine(reason, 120)}` : "rejected", false];
  return [isObject(given["args"]) ? `approved with ${oneLine(given["args"], 120)}` : "approved", true];
}

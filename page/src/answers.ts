// What a person answers to calls that wait, and what the page tells where it is too late.

import { batch } from "@preact/signals";
import { GONE, keyOf, NOT_FOUND, open, openedTurn, refreshApprovals, release, REQUEST_INPUT, settle, tried } from "./actions";
import { api, ApiError } from "./api";
import type { Outcome } from "./box";
import { fill } from "./drafts";
import { clock, oneLine } from "./format";
import { revealed } from "./hidden";
import { isObject } from "./schema";
import * as s from "./state";
import type { Approval, JsonObject } from "./types";

/** The outcome of a call that cannot be answered any more. */
export const outcomeOf = (one: Approval): string | undefined =>
  s.outcomes.value[keyOf(one)] ?? (s.gone.value && one.sessionId === s.session.value?.id ? GONE : undefined);

/** The outcome of an answer, and the fault that the person can correct, if there is one. */
interface Answered {
  outcome: Outcome;
  wrong: string;
}

/**
 * Answer a call that waits: approve, edit, reject, give its result, or respond in words.
 *
 * From the first click on its buttons are disabled until the server has answered.
 */
export async function answer(one: Approval, decision: JsonObject): Promise<Answered> {
  const [app, key] = [s.app.value, keyOf(one)];
  if (s.answering.value.has(key)) return { outcome: "refused", wrong: "" };
  s.answering.value = new Set([...s.answering.value, key]);
  try {
    await api.answer(app, one, decision);
  } catch (error) {
    release([key]);
    // A conflict may be with this same answer, sent before over a connection that broke.
    const isRefused = error instanceof ApiError && error.status < 500 && error.status !== 409;
    const wrong = (await refused(one, error)) ?? "";
    return { outcome: isRefused ? "refused" : "unknown", wrong };
  }
  batch(() => {
    fill(key, undefined);
    s.approvals.value = s.approvals.value.filter((each) => keyOf(each) !== key);
    s.dialog.value = "";
  });
  if (s.session.value?.id !== one.sessionId) {
    await open({ app, user: one.userId, session: one.sessionId });
  }
  const turn = openedTurn();
  s.running.value = true;
  await settle({ app, user: one.userId, session: one.sessionId }, turn);
  void refreshApprovals();
  return { outcome: "taken", wrong: "" };
}

/** Whether the loaded events hold a question without an answer. */
export function mayBeAsked(): boolean {
  const given = new Set<string | undefined>();
  for (const { event } of s.events.value.toReversed()) {
    for (const part of event.content?.parts ?? []) {
      if (part.functionResponse) given.add(part.functionResponse.id);
      const call = part.functionCall;
      if (call?.name === REQUEST_INPUT && !given.has(call.id)) return true;
    }
  }
  return false;
}

/** Tell why an answer was not taken; return what the person can mend. */
async function refused(one: Approval, error: unknown): Promise<string | undefined> {
  if (!(error instanceof ApiError)) {
    await tried(() => Promise.reject(error));
    return undefined;
  }
  if (error.status === 400 || error.status === 422) return error.message;
  const first = error.status === 409 ? firstAnswer(error.body) : undefined;
  const gone = error.kind === NOT_FOUND ? GONE : "This is no longer open.";
  const text = first ?? (error.status === 404 ? gone : undefined);
  if (text === undefined) {
    await tried(() => Promise.reject(error));
    return undefined;
  }
  const key = keyOf(one);
  batch(() => {
    fill(key, undefined);
    s.outcomes.value = { ...s.outcomes.value, [key]: text };
    s.approvals.value = s.approvals.value.filter((each) => keyOf(each) !== key);
    if (s.dialog.value === "inbox") s.settled.value = [...s.settled.value, { one, text }];
    s.told.value = text;
  });
  void refreshApprovals();
  return undefined;
}

/** Say how a call was answered first; undefined if the server tells of something else. */
function firstAnswer(body: JsonObject): string | undefined {
  const nested = body["error"];
  const inner = isObject(nested) ? nested : {};
  const kind = inner["type"];
  if (kind !== "CallAlreadyAnsweredError" && body["callId"] === undefined) return undefined;
  const given = body["answer"] ?? inner["answer"];
  const at = body["answeredAt"] ?? inner["answeredAt"];
  const by = body["answeredBy"] ?? inner["answeredBy"];
  let what = "";
  if (isObject(given)) {
    const confirmed = given["confirmed"];
    if (typeof confirmed === "boolean") what = confirmed ? "approved" : "rejected";
    else if (given["action"] === "decline") what = "refused";
    else what = revealed(oneLine("result" in given ? given["result"] : given, 200));
  }
  const when = typeof at === "number" ? `at ${clock(at)}` : "";
  const who = typeof by === "string" ? `by ${revealed(by)}` : "";
  const told = [[what, when].filter(Boolean).join(" "), who].filter(Boolean).join(", ");
  return told ? `Answered already: ${told}.` : "Answered already.";
}

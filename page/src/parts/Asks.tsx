// What waits for a person in an event, and what became of it.

import { readRequest } from "../credentials";
import { args, oneLine } from "../format";
import { isObject } from "../schema";
import * as s from "../state";
import type { Approval, JsonObject, Numbered, Part } from "../types";
import { Credential } from "./Credential";
import { Decision } from "./Decision";
import { Exact } from "./Exact";
import { Tag } from "./Tag";
import { Question } from "./Question";

/** Whether a call has its response in what is loaded. */
export function answered(id: string | undefined): boolean {
  return s.events.value.some((one) =>
    one.event.content?.parts?.some((part) => part.functionResponse?.id === id),
  );
}

export function Asks({ one, part }: { one: Numbered; part: Part }) {
  const call = part.functionCall!;
  const original = (call.args?.["originalFunctionCall"] ?? {}) as JsonObject;
  const asked = (call.args?.["toolConfirmation"] ?? {}) as JsonObject;
  const session = s.session.value;
  if (!session) return null;
  const hint = String(asked["hint"] ?? "");
  const approval: Approval = {
    kind: "approval",
    userId: session.userId,
    sessionId: session.id,
    eventId: one.event.id,
    callId: call.id ?? "",
    tool: String(original["name"] ?? "?"),
    args: (original["args"] ?? {}) as JsonObject,
    hint: hint.includes("FunctionResponse") ? "" : hint,
  };
  const done = !one.number || answered(call.id);
  return <Decision approval={approval} done={done} />;
}

export function AsksCredential({ one, part }: { one: Numbered; part: Part }) {
  const call = part.functionCall!;
  const session = s.session.value;
  if (!session) return null;
  const id = String(call.args?.["functionCallId"] ?? "");
  const approval: Approval = {
    kind: "credential",
    userId: session.userId,
    sessionId: session.id,
    eventId: one.event.id,
    callId: call.id ?? "",
    tool: nameOfCall(id) ?? call.name,
    asker: one.event.author,
    args: {},
    credential: readRequest(call.args ?? {}),
  };
  const waits = one.event.longRunningToolIds?.includes(call.id ?? "");
  return <Credential approval={approval} done={!one.number || !waits || answeredAfter(one, call.id)} />;
}

/** The tool of a call among the loaded events. */
function nameOfCall(id: string): string | undefined {
  for (const { event } of s.events.value) {
    const found = event.content?.parts?.find((part) => part.functionCall?.id === id);
    if (found) return found.functionCall!.name;
  }
  return undefined;
}

export function GaveCredential({ response }: { response: JsonObject }) {
  const gave = isObject(response["exchangedAuthCredential"] ?? response["exchanged_auth_credential"]);
  return (
    <p class="call">
      <Tag kind={gave ? "done" : "failed"} icon={gave ? "check" : "close"}>
        {gave ? "credential given" : "credential refused"}
      </Tag>
      {gave && <span class="quiet"> its secrets are not in the log</span>}
    </p>
  );
}

export function AsksInput({ one, part }: { one: Numbered; part: Part }) {
  const call = part.functionCall!;
  const session = s.session.value;
  if (!session) return null;
  const schema = call.args?.["response_schema"];
  const path = (one.event.nodeInfo?.path ?? "").split("/").map((node) => node.split("@")[0]!);
  const isNode = path.slice(0, -1).includes(one.event.author); // of a graph, which is the author
  const question: Approval = {
    kind: "input",
    userId: session.userId,
    sessionId: session.id,
    eventId: one.event.id,
    callId: call.id ?? "",
    tool: call.name,
    asker: isNode ? path.at(-1)! : one.event.author,
    args: {},
    message: String(call.args?.["message"] ?? ""),
    payload: call.args?.["payload"] ?? null,
    responseSchema: isObject(schema) && Object.keys(schema).length ? schema : null,
  };
  const waits = one.event.longRunningToolIds?.includes(call.id ?? "");
  return <Question approval={question} done={!one.number || !waits || answeredAfter(one, call.id)} />;
}

/** Whether a call has its answer behind the event that asks; a node may ask twice by one id. */
function answeredAfter(asks: Numbered, id: string | undefined): boolean {
  return s.events.value.some(
    (one) =>
      one.number > asks.number &&
      one.event.content?.parts?.some((part) => part.functionResponse?.id === id),
  );
}

export function AnsweredInput({ response }: { response: JsonObject }) {
  const keys = Object.keys(response);
  const value = keys.length === 1 && "result" in response ? response["result"] : response;
  return (
    <p class="call">
      <Tag kind="done" icon="answer">
        answered
      </Tag>
      <code>
        <Exact text={oneLine(value, 300)} />
      </code>
    </p>
  );
}

export function Decided({ response }: { response: JsonObject }) {
  const kind = response["confirmed"] ? "done" : "failed";
  const label = response["confirmed"] ? "approved" : "rejected";
  const edited = response["args"] as JsonObject | undefined;
  return (
    <p class="call">
      <Tag kind={kind} icon={kind === "done" ? "check" : "close"}>
        {label}
      </Tag>
      {edited && (
        <code>
          with <Exact text={args(edited)} />
        </code>
      )}
    </p>
  );
}


// One event as a person reads it: words, thoughts, calls, results, files, and what may be done.

import { useState } from "preact/hooks";
import * as act from "../actions";
import { args, bytes, clock, dataUrl, oneLine, textOf } from "../format";
import { exactScope } from "../nesting";
import type { Row } from "../nesting";
import { isObject } from "../schema";
import * as s from "../state";
import type { Approval, Blob, JsonObject, Numbered, Part } from "../types";
import type { At } from "../virtual";
import { Decision } from "./Decision";
import { Exact } from "./Exact";
import { Menu } from "./Menu";
import { Question } from "./Question";

interface Props {
  row: Row;
  at: At;
  /** Whether it offers what may be done from here. */
  actions?: boolean;
}

export function EventCard({ row, at, actions }: Props) {
  const { one, depth, scope, open } = row;
  const { event, number } = one;
  const mine = event.author === "user" && depth === 0;
  const chosen = s.selected.value === event.id;
  const choose = () => !open && (s.selected.value = chosen ? undefined : event.id);
  const name = scope ? `${event.author} in ${scope}` : event.author;
  return (
    <article
      class={`card ${mine ? "mine" : ""} ${chosen ? "chosen" : ""} ${open ? "open" : ""}`}
      style={{ "--depth": depth }}
      data-depth={depth}
      aria-label={number ? `${name}, event ${number}` : name}
      aria-posinset={at[0]}
      aria-setsize={at[1]}
    >
      <header>
        <button class="author" aria-pressed={chosen} onClick={choose} disabled={open}>
          {event.author}
        </button>
        {scope && (
          <span class="chip scope" title={exactScope(event)}>
            {scope}
          </span>
        )}
        {number > 0 && <span class="quiet">#{number}</span>}
        {!number && !open && <span class="quiet">seen live, in no log here</span>}
        <time class="quiet">{clock(event.timestamp)}</time>
        {actions && number > 0 && <Choices one={one} />}
      </header>
      {(event.content?.parts ?? []).map((part, index) => (
        <PartView key={index} part={part} one={one} />
      ))}
      {event.output !== undefined && (
        <p class="call">
          <span class="chip done">output</span>
          <code>{oneLine(event.output, 300)}</code>
        </p>
      )}
      {event.errorCode && (
        <p class="error">
          <strong>{event.errorCode}</strong> {event.errorMessage}
        </p>
      )}
      <Effects one={one} />
    </article>
  );
}

function PartView({ part, one }: { part: Part; one: Numbered }) {
  if (part.functionCall) {
    const call = part.functionCall;
    if (call.name === act.CONFIRMATION) return <Asks one={one} part={part} />;
    if (call.name === act.REQUEST_INPUT) return <AsksInput one={one} part={part} />;
    const waits = one.event.longRunningToolIds?.includes(call.id ?? "") && !answered(call.id);
    return (
      <p class="call">
        <span class={`chip ${waits ? "waits" : ""}`}>{waits ? "waits" : "call"}</span>
        <code>
          <Exact text={`${call.name}(${args(call.args)})`} />
        </code>
      </p>
    );
  }
  if (part.functionResponse) {
    const given = part.functionResponse;
    if (given.name === act.CONFIRMATION) return <Decided response={given.response ?? {}} />;
    if (given.name === act.REQUEST_INPUT) return <AnsweredInput response={given.response ?? {}} />;
    const asks = given.id !== undefined && given.id in (one.event.actions?.requestedToolConfirmations ?? {});
    const failed = given.response && "error" in given.response;
    const [kind, label] = asks ? ["waits", "asks first"] : failed ? ["failed", "failed"] : ["done", "result"];
    return (
      <p class="call">
        <span class={`chip ${kind}`}>{label}</span>
        <code>
          <Exact text={`${given.name}: ${oneLine(given.response, 300)}`} />
        </code>
      </p>
    );
  }
  if (part.inlineData) return <File blob={part.inlineData} />;
  if (part.fileData) {
    return <p class="call">File {part.fileData.displayName ?? part.fileData.fileUri}</p>;
  }
  if (part.executableCode) return <pre class="code">{part.executableCode.code}</pre>;
  if (part.codeExecutionResult) return <pre class="code">{part.codeExecutionResult.output}</pre>;
  if (part.text && part.thought) {
    return (
      <details class="thought" open={!one.number}>
        <summary>Thoughts</summary>
        <p class="text">{part.text}</p>
      </details>
    );
  }
  return part.text ? <p class="text">{part.text}</p> : null;
}

function File({ blob }: { blob: Blob }) {
  const url = dataUrl(blob.mimeType, blob.data);
  const name = blob.displayName ?? blob.mimeType;
  if (blob.mimeType.startsWith("image/")) return <img class="image" src={url} alt={name} />;
  if (blob.mimeType.startsWith("audio/")) return <audio controls src={url} aria-label={name} />;
  return (
    <p class="call">
      <a href={url} download={name}>
        {name} ({bytes(Math.floor(blob.data.replace(/=+$/, "").length * 0.75))})
      </a>
    </p>
  );
}

/** Whether a call has its response in what is loaded. */
function answered(id: string | undefined): boolean {
  return s.events.value.some((one) =>
    one.event.content?.parts?.some((part) => part.functionResponse?.id === id),
  );
}

function Asks({ one, part }: { one: Numbered; part: Part }) {
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

function AsksInput({ one, part }: { one: Numbered; part: Part }) {
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

function AnsweredInput({ response }: { response: JsonObject }) {
  const keys = Object.keys(response);
  const value = keys.length === 1 && "result" in response ? response["result"] : response;
  return (
    <p class="call">
      <span class="chip done">answered</span>
      <code>
        <Exact text={oneLine(value, 300)} />
      </code>
    </p>
  );
}

function Decided({ response }: { response: JsonObject }) {
  const [kind, label] = response["confirmed"] ? ["done", "approved"] : ["failed", "rejected"];
  const edited = response["args"] as JsonObject | undefined;
  return (
    <p class="call">
      <span class={`chip ${kind}`}>{label}</span>
      {edited && (
        <code>
          with <Exact text={args(edited)} />
        </code>
      )}
    </p>
  );
}

function Effects({ one }: { one: Numbered }) {
  const actions = one.event.actions;
  if (!actions) return null;
  const lines: string[] = [];
  if (actions.transferToAgent) lines.push(`transfer to ${actions.transferToAgent}`);
  if (actions.escalate) lines.push("escalates");
  if (actions.rewindBeforeInvocationId) lines.push("rewinds the session");
  if (actions.compaction) lines.push("summary of what was before");
  for (const key of Object.keys(actions.stateDelta ?? {})) lines.push(`state ${key}`);
  for (const [name, version] of Object.entries(actions.artifactDelta ?? {})) {
    lines.push(`artifact ${name} v${version}`);
  }
  if (!lines.length) return null;
  return (
    <p class="effects">
      {lines.map((line) => (
        <span class="chip" key={line}>
          {line}
        </span>
      ))}
    </p>
  );
}

function Choices({ one }: { one: Numbered }) {
  const [edits, setEdits] = useState(false);
  const mine = one.event.author === "user" && textOf(one.event.content?.parts) !== "";
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.target as HTMLFormElement).get("text") ?? "");
    setEdits(false);
    void act.rerun(one, text);
  };
  return (
    <>
      <Menu label={`More for event ${one.number}`}>
        <button onClick={() => void act.fork(one.event.id)}>Fork from here</button>
        {mine && <button onClick={() => setEdits(true)}>Edit and run again</button>}
        {mine && (
          <button onClick={() => void act.rewind(one.event.invocationId)}>
            Rewind to before this
          </button>
        )}
      </Menu>
      {edits && (
        <form class="edit" onSubmit={submit}>
          <textarea name="text" aria-label="Message" ref={focus} rows={3}>
            {textOf(one.event.content?.parts)}
          </textarea>
          <button class="primary">Run in a fork</button>
          <button type="button" onClick={() => setEdits(false)}>
            Cancel
          </button>
        </form>
      )}
    </>
  );
}

const focus = (field: HTMLTextAreaElement | null) => field?.focus();

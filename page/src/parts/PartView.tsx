// One part of an event: words, a thought, a call, a result, a file, code that ran.

import { useMemo, useState } from "preact/hooks";
import * as act from "../actions";
import { decisions } from "../decisions";
import { args, bytes, dataUrl, oneLine } from "../format";
import { Markdown } from "../markdown";
import type { Blob, FunctionCall, FunctionResponse, Json, Numbered, Part } from "../types";
import { answered, AnsweredInput, Asks, AsksCredential, AsksInput, Decided, GaveCredential } from "./Asks";
import { CodeBlock } from "./CodeBlock";
import { Exact } from "./Exact";
import { Icon } from "./Icon";
import { JsonTree, LongText } from "./JsonTree";
import { Tag } from "./Tag";
import type { TagKind } from "./Tag";
import { Traceback } from "./Traceback";
import { WhoDecided } from "./WhoDecided";

const LONG_ANSWER = 20_000; // characters of an answer that is folded
const SHOWN_ANSWER = 6000; // of them that are shown
const LONG = 4000; // characters of a person's message that is folded

export function PartView({ part, one }: { part: Part; one: Numbered }) {
  if (part.functionCall) {
    if (part.functionCall.name === act.CONFIRMATION) return <Asks one={one} part={part} />;
    if (part.functionCall.name === act.CREDENTIAL) return <AsksCredential one={one} part={part} />;
    if (part.functionCall.name === act.REQUEST_INPUT) return <AsksInput one={one} part={part} />;
    return <Call call={part.functionCall} one={one} />;
  }
  if (part.functionResponse) {
    const given = part.functionResponse;
    if (given.name === act.CONFIRMATION) return <Decided response={given.response ?? {}} />;
    if (given.name === act.CREDENTIAL) return <GaveCredential response={given.response ?? {}} />;
    if (given.name === act.REQUEST_INPUT) return <AnsweredInput response={given.response ?? {}} />;
    return <Result given={given} one={one} />;
  }
  if (part.inlineData) return <File blob={part.inlineData} />;
  if (part.fileData) {
    return (
      <p class="call">
        <Tag icon="file">file</Tag> <Exact text={part.fileData.displayName ?? part.fileData.fileUri} />
      </p>
    );
  }
  if (part.executableCode) {
    const { code, language } = part.executableCode;
    return <CodeBlock text={code} language={language?.toLowerCase()} />;
  }
  if (part.codeExecutionResult) {
    return <CodeBlock text={part.codeExecutionResult.output ?? ""} label="Output" />;
  }
  if (part.text && part.thought) return <Thought text={part.text} open={!one.number} />;
  if (!part.text) return null;
  if (one.event.author === "user") return <Said text={part.text} />;
  return <Answer text={part.text} folds={one.number > 0} />;
}

/** A model's words; of very long ones the beginning, with their size. */
function Answer({ text, folds }: { text: string; folds: boolean }) {
  const [open, setOpen] = useState(false);
  if (!folds || text.length <= LONG_ANSWER) return <Markdown text={text} />;
  const cut = text.lastIndexOf("\n\n", SHOWN_ANSWER);
  return (
    <>
      <Markdown text={open ? text : text.slice(0, cut > 0 ? cut : SHOWN_ANSWER)} />
      <p>
        <button class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : `Show all ${bytes(text.length)}`}
        </button>
      </p>
    </>
  );
}

/** What a person wrote is shown as it was written, but for characters that would turn it around. */
function Said({ text }: { text: string }) {
  return text.length > LONG ? (
    <p class="text">
      <LongText text={text} />
    </p>
  ) : (
    <p class="text" dir="auto">
      <Exact text={text} turns />
    </p>
  );
}

function Thought({ text, open }: { text: string; open: boolean }) {
  return (
    <details class="thought" open={open}>
      <summary>
        <Icon name="think" /> Thoughts
      </summary>
      <Markdown text={text} />
    </details>
  );
}

function Call({ call, one }: { call: FunctionCall; one: Numbered }) {
  const waits = one.event.longRunningToolIds?.includes(call.id ?? "") && !answered(call.id);
  const moves = call.name === "transfer_to_agent";
  return (
    <Folded
      kind={waits ? "waits" : "acts"}
      icon={waits ? "wait" : moves ? "transfer" : "call"}
      label={waits ? "waits" : "call"}
      line={`${call.name}(${args(call.args)})`}
      value={call.args ?? {}}
      what={`arguments of ${call.name}`}
    />
  );
}

function Result({ given, one }: { given: FunctionResponse; one: Numbered }) {
  const { requestedToolConfirmations, requestedAuthConfigs } = one.event.actions ?? {};
  const requested = { ...requestedToolConfirmations, ...requestedAuthConfigs };
  const asks = given.id !== undefined && given.id in requested;
  const failed = given.response !== undefined && "error" in given.response;
  const decided = given.id === undefined ? undefined : decisions.value.get(given.id);
  const rejected = failed && decided?.approved === false && decided.one.number < one.number;
  const kind: TagKind = asks ? "waits" : rejected ? "" : failed ? "failed" : "done";
  return (
    <>
      {!asks && <WhoDecided call={given.id} one={one} />}
      <Folded
        kind={kind}
        icon={asks ? "wait" : rejected ? "close" : failed ? "alert" : "result"}
        label={asks ? "asks first" : rejected ? "did not run" : failed ? "failed" : "result"}
        line={`${given.name}: ${oneLine(given.response, 300)}`}
        value={given.response ?? {}}
        what={`result of ${given.name}`}
      />
      {failed && !asks && !rejected && <Traceback invocation={one.event.invocationId} call={given.id ?? ""} />}
    </>
  );
}

interface FoldedProps {
  kind: TagKind;
  icon: Parameters<typeof Icon>[0]["name"];
  label: string;
  line: string;
  value: Json;
  what: string;
}

/** A call or a result on one line; opened, as a tree. */
function Folded({ kind, icon, label, line, value, what }: FoldedProps) {
  const [open, setOpen] = useState(false);
  const size = useMemo(() => JSON.stringify(value).length, [value]);
  return (
    <details class={`call ${kind}`} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary title={`Show the ${what}`}>
        <Tag kind={kind} icon={icon}>
          {label}
        </Tag>
        <code>
          <Exact text={line} />
        </code>
        {size > 300 && <span class="quiet size">{bytes(size)}</span>}
      </summary>
      {open && (
        <div class="tree">
          <JsonTree value={value} open={2} />
        </div>
      )}
    </details>
  );
}

/** How many bytes a base64 text stands for. */
function sizeOf(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.floor((data.length - padding) * 0.75);
}

function File({ blob }: { blob: Blob }) {
  const url = dataUrl(blob.mimeType, blob.data);
  const name = blob.displayName ?? blob.mimeType;
  if (blob.mimeType.startsWith("image/")) return <img class="image" src={url} alt={name} />;
  if (blob.mimeType.startsWith("audio/")) return <audio controls src={url} aria-label={name} />;
  if (blob.mimeType.startsWith("video/")) return <video controls src={url} aria-label={name} />;
  return (
    <p class="call">
      <a class="file" href={url} download={name}>
        <Icon name="file" /> {name} ({bytes(sizeOf(blob.data))})
      </a>
    </p>
  );
}

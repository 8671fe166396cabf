// The exact request of a model call, message by message, beside the request before it; a tool's
// arguments and result.

import { useEffect, useState } from "preact/hooks";
import { place } from "../actions";
import { api } from "../api";
import { edits, lines } from "../diff";
import { exactJson } from "../hidden";
import { compare, equal } from "../jsondiff";
import { parseJson } from "../numbers";
import { callBefore, spanOf } from "../spans";
import * as s from "../state";
import type { Content, Event, Json, Part, Span, SpanDetail } from "../types";
import { Changes } from "./Changes";
import { Exact } from "./Exact";

/** Load a span in full; undefined until it is there, null if it is not kept. */
function useSpan(span: Span | undefined): SpanDetail | null | undefined {
  const [found, setFound] = useState<SpanDetail | null | undefined>(undefined);
  useEffect(() => {
    const where = place();
    let current = true;
    setFound(undefined);
    if (span && where) {
      api.span(where, span.id).then(
        (detail) => current && setFound(detail),
        () => current && setFound(null), // it may have been pruned
      );
    }
    return () => {
      current = false;
    };
  }, [span?.id, span?.end]);
  return found;
}

export function RequestTab({ event }: { event: Event }) {
  const span = spanOf(event, s.spans.value);
  const call = span?.operation === "chat" ? span : undefined;
  const earlier = call && callBefore(call, s.spans.value);
  const now = useSpan(span);
  const before = useSpan(earlier);
  if (!span) return <p class="quiet">No model or tool was called for this event.</p>;
  if (now === undefined || (earlier && before === undefined)) return <p class="quiet">Loading…</p>;
  if (now === null) return <p class="quiet">No contents are kept of {span.name}.</p>;
  if (span.operation === "execute_tool") {
    return (
      <>
        <Text title="Arguments" text={now.texts["arguments"]} />
        <Text title="Result" text={now.texts["result"]} />
      </>
    );
  }
  if (!now.contents.length && !now.texts["system"]) {
    return <p class="quiet">Contents are not kept: start the server with contents on.</p>;
  }
  return (
    <>
      <Text title="System instruction" text={now.texts["system"]} before={before?.texts["system"]} />
      <Text title="Tools" text={now.texts["tools"]} before={before?.texts["tools"]} />
      <Text title="Settings" text={now.texts["config"]} before={before?.texts["config"]} />
      <Messages now={now.contents} before={before?.contents} />
      <Text title="Response" text={now.texts["response"]} />
    </>
  );
}

/** The messages of a request; those that the request before had, too, are folded. */
function Messages({ now, before }: { now: Content[]; before: Content[] | undefined }) {
  const [all, setAll] = useState(false);
  const script = edits(before ?? [], now, (one, other) =>
    equal(one as unknown as Json, other as unknown as Json),
  );
  const same = script.filter((one) => one.kind === "same").length;
  const gone = script.filter((one) => one.kind === "removed").length;
  const shown = all || !before ? script : script.filter((one) => one.kind !== "same");
  return (
    <section>
      <h2>Messages</h2>
      <p class="quiet">
        {before
          ? `${same} of ${now.length} contents as in the request before; ${gone} of its own are gone.`
          : `${now.length} contents; the first request of this agent here.`}{" "}
        {before && same > 0 && (
          <button class="link" onClick={() => setAll(!all)}>
            {all ? "Show only the differences" : "Show all"}
          </button>
        )}
      </p>
      {shown.map((one, index) => (
        <Message
          key={index}
          kind={before ? one.kind : "same"}
          content={one.right ?? one.left!}
        />
      ))}
    </section>
  );
}

const SAID = { same: "", added: "new", removed: "gone" } as const;

function Message({ kind, content }: { kind: "same" | "added" | "removed"; content: Content }) {
  return (
    <div class={`message ${kind}`}>
      <p class="quiet">
        {content.role ?? "?"} {SAID[kind] && <span class="chip">{SAID[kind]}</span>}
      </p>
      {(content.parts ?? []).map((part, index) => (
        <MessagePart key={index} part={part} />
      ))}
    </div>
  );
}

function MessagePart({ part }: { part: Part }) {
  if (part.functionCall) {
    return <Named title={`calls ${part.functionCall.name}`} value={part.functionCall.args ?? {}} />;
  }
  if (part.functionResponse) {
    return (
      <Named title={`result of ${part.functionResponse.name}`} value={part.functionResponse.response ?? {}} />
    );
  }
  if (part.text !== undefined) {
    return (
      <p class={`text ${part.thought ? "thinks" : ""}`}>
        {part.thought && <span class="chip">thought</span>} {part.text}
      </p>
    );
  }
  return <Named title={part.inlineData?.mimeType ?? "part"} value={part as unknown as Json} />;
}

function Named({ title, value }: { title: string; value: Json }) {
  return (
    <div>
      <strong>
        <Exact text={title} />
      </strong>
      <Changes label={title} change={compare(value, value)} whole />
    </div>
  );
}

function parsed(text: string): Json {
  try {
    return parseJson<Json>(text);
  } catch {
    return text;
  }
}

/** A text or a JSON value; with another one before it, how it differs. */
function Text(props: { title: string; text: string | undefined; before?: string | undefined }) {
  const { title, text, before } = props;
  if (text === undefined) return null;
  const changed = before !== undefined && before !== text;
  const note = before === undefined ? "" : changed ? "changed" : "as before";
  const value = parsed(text);
  const old = before === undefined ? value : parsed(before);
  return (
    <details open={changed || before === undefined}>
      <summary>
        {title} <span class="quiet">{note}</span>
      </summary>
      {typeof value === "object" ? (
        <Changes label={title} change={compare(old, value)} whole={!changed} />
      ) : (
        <pre class="code">
          {changed
            ? lines(plain(old), plain(value)).map((line, index) => (
                <div key={index} class={line.kind}>
                  {line.kind === "added" ? "+ " : line.kind === "removed" ? "- " : "  "}
                  {line.text}
                </div>
              ))
            : plain(value)}
        </pre>
      )}
    </details>
  );
}

const plain = (value: Json): string => (typeof value === "string" ? value : exactJson(value));

// What is selected, in full: the event, the exact request and how it differs from the one before,
// the response, state changes, tokens and time.

import { useEffect, useState } from "preact/hooks";
import { api } from "../api";
import { place } from "../actions";
import { lines } from "../diff";
import { count, duration } from "../format";
import { callBefore, spanOf } from "../spans";
import * as s from "../state";
import type { Event, Json, JsonObject, Numbered, Span, SpanDetail } from "../types";
import { Tabs } from "./Tabs";

type Tab = "event" | "request" | "state" | "cost";
const TABS: [Tab, string][] = [
  ["event", "Event"],
  ["request", "Request"],
  ["state", "State"],
  ["cost", "Tokens"],
];

export function Inspector() {
  const [tab, setTab] = useState<Tab>("event");
  const one = s.chosen.value;
  if (!one) return null;
  return (
    <aside class="inspector" aria-label="Selected event">
      <header class="bar">
        <Tabs label="Details" tabs={TABS} chosen={tab} choose={setTab} panel="details" />
        <button aria-label="Close details" onClick={() => (s.selected.value = undefined)}>
          ×
        </button>
      </header>
      <div class="details" role="tabpanel" id="details" aria-labelledby={`details-${tab}`} tabIndex={0}>
        {tab === "event" && <Raw value={one.event as unknown as Json} />}
        {tab === "request" && <RequestTab event={one.event} />}
        {tab === "state" && <StateTab one={one} />}
        {tab === "cost" && <CostTab one={one} />}
      </div>
    </aside>
  );
}

function Raw({ value }: { value: Json }) {
  return <pre class="code">{JSON.stringify(value, null, 2)}</pre>;
}

/** Load a span in full; undefined until it is there. */
function useSpan(span: Span | undefined): SpanDetail | undefined {
  const [found, setFound] = useState<SpanDetail | undefined>(undefined);
  useEffect(() => {
    const where = place();
    let current = true;
    setFound(undefined);
    if (span && where) {
      api.span(where, span.id).then(
        (detail) => current && setFound(detail),
        () => undefined, // it may have been pruned
      );
    }
    return () => {
      current = false;
    };
  }, [span?.id, span?.end]);
  return found;
}

function RequestTab({ event }: { event: Event }) {
  const span = spanOf(event, s.spans.value);
  const call = span?.operation === "chat" ? span : undefined;
  const now = useSpan(span);
  const before = useSpan(call && callBefore(call, s.spans.value));
  if (!span) return <p class="quiet">No model or tool was called for this event.</p>;
  if (!now) return <p class="quiet">No contents are kept of {span.name}.</p>;
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
  const old = before?.contents.map((content) => JSON.stringify(content)) ?? [];
  const fresh = now.contents.map((content) => JSON.stringify(content));
  let same = 0;
  while (same < old.length && same < fresh.length && old[same] === fresh[same]) same += 1;
  return (
    <>
      <p class="quiet">
        {before
          ? `${same} of ${fresh.length} contents as in the request before; ${old.length - same} of its own are gone.`
          : `${fresh.length} contents; the first request of this agent here.`}
      </p>
      <Text title="System instruction" text={now.texts["system"]} before={before?.texts["system"]} />
      <Text title="Tools" text={now.texts["tools"]} before={before?.texts["tools"]} />
      <Text title="Settings" text={now.texts["config"]} before={before?.texts["config"]} />
      {same > 0 && (
        <details>
          <summary>The {same} contents that were sent before, too</summary>
          <Raw value={now.contents.slice(0, same) as unknown as Json} />
        </details>
      )}
      {fresh.length > same && (
        <section>
          <h3>New contents</h3>
          <Raw value={now.contents.slice(same) as unknown as Json} />
        </section>
      )}
      <Text title="Response" text={now.texts["response"]} />
    </>
  );
}

const pretty = (text: string): string => {
  try {
    const value: Json = JSON.parse(text);
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
};

/** A text; with another one before it, how it differs. */
function Text(props: { title: string; text: string | undefined; before?: string | undefined }) {
  if (props.text === undefined) return null;
  const changed = props.before !== undefined && props.before !== props.text;
  const note = props.before === undefined ? "" : changed ? "changed" : "as before";
  return (
    <details open={changed || props.before === undefined}>
      <summary>
        {props.title} <span class="quiet">{note}</span>
      </summary>
      <pre class="code">
        {changed
          ? lines(pretty(props.before!), pretty(props.text)).map((line, index) => (
              <div key={index} class={line.kind}>
                {line.kind === "added" ? "+ " : line.kind === "removed" ? "- " : "  "}
                {line.text}
              </div>
            ))
          : pretty(props.text)}
      </pre>
    </details>
  );
}

function StateTab({ one }: { one: Numbered }) {
  const delta = one.event.actions?.stateDelta ?? {};
  const before = stateBefore(one, Object.keys(delta));
  if (!Object.keys(delta).length) return <p class="quiet">This event changes no state.</p>;
  return (
    <table class="state" aria-label="State before and after">
      <thead>
        <tr>
          <th>key</th>
          <th>before</th>
          <th>after</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(delta).map(([key, value]) => (
          <tr key={key}>
            <th>{key}</th>
            <td class="removed">{before[key] === undefined ? "" : JSON.stringify(before[key])}</td>
            <td class="added">{value === null ? "(removed)" : JSON.stringify(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The values that earlier events, as far as they are loaded, gave to some keys. */
function stateBefore(one: Numbered, keys: string[]): JsonObject {
  const found: JsonObject = {};
  const open = new Set(keys);
  for (let at = s.events.value.indexOf(one) - 1; at >= 0 && open.size; at -= 1) {
    const delta = s.events.value[at]!.event.actions?.stateDelta ?? {};
    for (const key of [...open]) {
      if (key in delta) {
        if (delta[key] !== null) found[key] = delta[key]!;
        open.delete(key);
      }
    }
  }
  return found;
}

function CostTab({ one }: { one: Numbered }) {
  const sums = (events: Numbered[]) =>
    events.reduce(
      (sum, { event }) => ({
        prompt: sum.prompt + (event.usageMetadata?.promptTokenCount ?? 0),
        cached: sum.cached + (event.usageMetadata?.cachedContentTokenCount ?? 0),
        thoughts: sum.thoughts + (event.usageMetadata?.thoughtsTokenCount ?? 0),
        output: sum.output + (event.usageMetadata?.candidatesTokenCount ?? 0),
      }),
      { prompt: 0, cached: 0, thoughts: 0, output: 0 },
    );
  const turn = s.events.value.filter((x) => x.event.invocationId === one.event.invocationId);
  const parts = [[one], turn, s.events.value];
  const columns = (["event", "turn", "loaded"] as const).map(
    (name, index) => [name, sums(parts[index]!)] as const,
  );
  const span = spanOf(one.event, s.spans.value);
  const first = span?.attributes["gen_ai.response.time_to_first_chunk"];
  return (
    <>
      <table class="state numbers" aria-label="Tokens and cost">
        <thead>
          <tr>
            <th>tokens</th>
            {columns.map(([name]) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(["prompt", "cached", "thoughts", "output"] as const).map((kind) => (
            <tr key={kind}>
              <th>{kind}</th>
              {columns.map(([name, sum]) => (
                <td key={name}>{count(sum[kind])}</td>
              ))}
            </tr>
          ))}
          <Cost model={modelOf(one)} columns={parts} />
        </tbody>
      </table>
      {span && (
        <dl class="args">
          <div>
            <dt>{span.name}</dt>
            <dd>{span.end ? duration(span.end - span.start) : "runs"}</dd>
          </div>
          {typeof first === "number" && (
            <div>
              <dt>first chunk after</dt>
              <dd>{duration(first)}</dd>
            </div>
          )}
          {one.event.modelVersion && (
            <div>
              <dt>model</dt>
              <dd>{one.event.modelVersion}</dd>
            </div>
          )}
        </dl>
      )}
    </>
  );
}

const PRICES = "ostinato-prices";

/** What a person gave as prices, by model: "in, cached, out" in dollars for a million tokens. */
type Prices = Record<string, string>;

function keptPrices(): Prices {
  try {
    const kept = JSON.parse(localStorage.getItem(PRICES) ?? "{}");
    return kept !== null && typeof kept === "object" && !Array.isArray(kept) ? kept : {};
  } catch {
    return {};
  }
}

/** The model of an event: as it calls itself, else as it was asked for. */
function modelOf({ event }: Numbered): string {
  const asked = spanOf(event, s.spans.value)?.attributes["gen_ai.request.model"];
  return event.modelVersion ?? (typeof asked === "string" ? asked : "");
}

/** What events cost; null where the prices of one of their models are not known. */
function costOf(events: Numbered[], prices: Prices): number | null {
  let sum = 0;
  for (const one of events) {
    const usage = one.event.usageMetadata;
    if (!usage) continue;
    const given = (prices[modelOf(one)] ?? "").split(/[\s,/]+/).filter(Boolean).map(Number);
    const [input, cached, output] = given as [number, number, number];
    if (given.length !== 3 || !given.every(Number.isFinite)) return null;
    const fromCache = usage.cachedContentTokenCount ?? 0;
    const made = (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0);
    sum += ((usage.promptTokenCount ?? 0) - fromCache) * input + fromCache * cached + made * output;
  }
  return sum / 1e6;
}

/** Cost by the prices of each event's model, and a field for those of one. */
function Cost({ model, columns }: { model: string; columns: Numbered[][] }) {
  const [prices, setPrices] = useState(keptPrices);
  const keep = (text: string) => {
    const all = { ...prices, [model]: text };
    localStorage.setItem(PRICES, JSON.stringify(all));
    setPrices(all);
  };
  const name = `Prices of ${model || "this model"}: dollars for a million tokens in, cached, out`;
  return (
    <tr>
      <th>
        cost
        <input
          class="prices"
          value={prices[model] ?? ""}
          placeholder="in, cached, out"
          aria-label={name}
          title={name}
          onInput={(event) => keep(event.currentTarget.value)}
        />
      </th>
      {columns.map((events, index) => (
        <td key={index}>{costOf(events, prices)?.toFixed(5) ?? "–"}</td>
      ))}
    </tr>
  );
}

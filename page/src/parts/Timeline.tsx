// The events as a list, joined to the waterfall of their invocation: one selection for both.

import { useEffect, useMemo, useState } from "preact/hooks";
import * as act from "../actions";
import { args, clock, duration, oneLine } from "../format";
import { exactScope } from "../nesting";
import type { Row } from "../nesting";
import { eventOf, spanOf, waterfall } from "../spans";
import type { Bar } from "../spans";
import * as s from "../state";
import type { Event } from "../types";
import { VirtualList } from "../virtual";

const ROW = 1.6; // rem, about a row of the waterfall

/** Arrows go from event to event. */
function onKey(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const rows = s.rows.value.filter((row) => !row.open);
  if (!step || !rows.length) return;
  event.preventDefault();
  const at = rows.findIndex((row) => row.one.event.id === s.selected.value);
  const to = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
  s.selected.value = rows[Math.max(0, Math.min(rows.length - 1, to))]!.one.event.id;
}

export function Timeline() {
  return (
    <div class="timeline" onKeyDown={onKey}>
      <VirtualList
        key={s.session.value?.id}
        items={s.rows.value}
        keyOf={(row) => row.key}
        guess={28}
        label="Events"
        stick
        show={s.selected.value}
        onTop={() => void act.loadOlder()}
        kind="list"
        before={s.unloaded.value}
        render={(row) => <Line row={row} />}
      />
      <Bars />
    </div>
  );
}

function Line({ row }: { row: Row }) {
  const { event, number } = row.one;
  const chosen = s.selected.value === event.id;
  return (
    <button
      class={`event ${chosen ? "chosen" : ""} ${event.errorCode ? "failed" : ""}`}
      style={{ "--depth": row.depth }}
      data-depth={row.depth}
      aria-pressed={chosen}
      disabled={row.open}
      onClick={() => (s.selected.value = event.id)}
    >
      <span class="quiet number">{number || (row.open ? "…" : "live")}</span>
      <span class="author">{event.author}</span>
      {row.scope && (
        <span class="chip scope" title={exactScope(event)}>
          {row.scope}
        </span>
      )}
      <span class="what">{summary(event)}</span>
      <span class="quiet">{clock(event.timestamp)}</span>
    </button>
  );
}

export function summary(event: Event): string {
  const said = (event.content?.parts ?? []).map((part) => {
    if (part.functionCall) return `→ ${part.functionCall.name}(${args(part.functionCall.args, 30)})`;
    if (part.functionResponse) {
      return `← ${part.functionResponse.name}: ${oneLine(part.functionResponse.response, 60)}`;
    }
    if (part.inlineData) return `[${part.inlineData.mimeType}]`;
    if (part.thought) return `(${oneLine(part.text, 60)})`;
    return oneLine(part.text ?? part.executableCode?.code ?? part.codeExecutionResult?.output, 120);
  });
  if (event.errorCode) said.push(`${event.errorCode}: ${oneLine(event.errorMessage, 100)}`);
  if (said.length) return said.join("  ");
  if (event.output !== undefined) return `= ${oneLine(event.output, 120)}`;
  const keys = Object.keys(event.actions?.stateDelta ?? {});
  return keys.length ? `state ${keys.join(", ")}` : "no content";
}

function Bars() {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    if (!s.running.value) return;
    const timer = setInterval(() => setNow(Date.now() / 1000), 250);
    return () => clearInterval(timer);
  }, [s.running.value]);
  useEffect(() => {
    void act.loadLatestSpans();
    if (!s.running.value) return;
    const timer = setInterval(act.loadLatestSpans, 1000);
    return () => clearInterval(timer);
  }, [s.running.value, s.total.value]);
  const event = s.chosen.value?.event;
  const last = s.spans.value[s.spans.value.length - 1];
  const invocation = event?.invocationId ?? last?.invocationId;
  const mine = useMemo(
    () => s.spans.value.filter((span) => span.invocationId === invocation),
    [s.spans.value, invocation],
  );
  const fall = useMemo(() => waterfall(mine, now), [mine, now]);
  if (!mine.length) {
    return <p class="quiet bars">No spans are kept of this invocation.</p>;
  }
  const current = event && spanOf(event, mine);
  const choose = (bar: Bar) => {
    const found = eventOf(
      bar.span,
      [...s.byId.value.values()].map((one) => one.event).filter((e) => e.invocationId === invocation),
      mine,
    );
    if (found) s.selected.value = found.id;
  };
  return (
    <div class="bars" style={{ height: `${fall.bars.length * ROW + 0.8}rem` }}>
      <VirtualList
        key={invocation}
        items={fall.bars}
        keyOf={(bar) => bar.span.id}
        guess={24}
        kind="list"
        label="Waterfall of the invocation"
        show={current?.id}
        render={(bar) => (
          <BarLine bar={bar} whole={fall.length} chosen={current?.id === bar.span.id} choose={choose} />
        )}
      />
    </div>
  );
}

interface BarProps {
  bar: Bar;
  whole: number;
  chosen: boolean;
  choose: (bar: Bar) => void;
}

function BarLine({ bar, whole, chosen, choose }: BarProps) {
  const { span } = bar;
  return (
    <button
      class={`bar-row ${chosen ? "chosen" : ""}`}
      data-depth={bar.depth}
      aria-pressed={chosen}
      onClick={() => choose(bar)}
    >
      <span class="bar-name" style={{ paddingLeft: `${bar.depth * 0.9}rem` }}>
        {span.name}
      </span>
      <svg class="bar" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
        <rect
          class={`${span.operation} ${span.error ? "failed" : ""} ${span.end ? "" : "open"}`}
          x={(bar.from / whole) * 1000}
          width={Math.max(2, ((bar.to - bar.from) / whole) * 1000)}
          y="2"
          height="10"
          rx="2"
        />
      </svg>
      <span class="quiet took">{duration(bar.to - bar.from)}</span>
    </button>
  );
}

// The events as a list, joined to the waterfall of their invocation: one selection for both.

import { useEffect, useMemo, useState } from "preact/hooks";
import * as act from "../actions";
import { args, clock, duration, oneLine } from "../format";
import { eventOf, spanOf, waterfall } from "../spans";
import type { Bar } from "../spans";
import * as s from "../state";
import type { Event, Numbered } from "../types";
import { VirtualList } from "../virtual";

/** Arrows go from event to event. */
function onKey(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const events = s.events.value;
  if (!step || !events.length) return;
  event.preventDefault();
  const at = events.findIndex((one) => one.event.id === s.selected.value);
  const to = at < 0 ? (step > 0 ? 0 : events.length - 1) : at + step;
  s.selected.value = events[Math.max(0, Math.min(events.length - 1, to))]!.event.id;
}

export function Timeline() {
  return (
    <div class="timeline" onKeyDown={onKey}>
      <VirtualList
        key={s.session.value?.id}
        items={s.rows.value}
        keyOf={(one: Numbered) => (one.number ? one.event.id : `open-${one.event.author} ${one.event.branch}`)}
        guess={28}
        label="Events"
        stick
        show={s.selected.value}
        onTop={() => void act.loadOlder()}
        render={(one) => <Row one={one} />}
      />
      <Bars />
    </div>
  );
}

function Row({ one }: { one: Numbered }) {
  const { event, number } = one;
  const chosen = s.selected.value === event.id;
  return (
    <button
      class={`event ${chosen ? "chosen" : ""} ${event.errorCode ? "failed" : ""}`}
      aria-pressed={chosen}
      disabled={!number}
      onClick={() => (s.selected.value = event.id)}
    >
      <span class="quiet number">{number || "…"}</span>
      <span class="author">{event.author}</span>
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
    void act.loadRunningSpans();
    if (!s.running.value) return;
    const timer = setInterval(act.loadRunningSpans, 1000);
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
      s.events.value.map((one) => one.event).filter((e) => e.invocationId === invocation),
      mine,
    );
    if (found) s.selected.value = found.id;
  };
  return (
    <div class="bars" role="group" aria-label="Waterfall of the invocation">
      {fall.bars.map((bar) => (
        <button
          key={bar.span.id}
          class={`bar-row ${current?.id === bar.span.id ? "chosen" : ""}`}
          onClick={() => choose(bar)}
        >
          <span class="bar-name" style={{ paddingLeft: `${bar.depth * 0.9}rem` }}>
            {bar.span.name}
          </span>
          <svg class="bar" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
            <rect
              class={`${bar.span.operation} ${bar.span.error ? "failed" : ""} ${bar.span.end ? "" : "open"}`}
              x={(bar.from / fall.length) * 1000}
              width={Math.max(2, ((bar.to - bar.from) / fall.length) * 1000)}
              y="2"
              height="10"
              rx="2"
            />
          </svg>
          <span class="quiet took">{duration(bar.to - bar.from)}</span>
        </button>
      ))}
    </div>
  );
}

// The events as a list, joined to the waterfall of all turns: one selection for both.

import { computed } from "@preact/signals";
import * as act from "../actions";
import { args, clock, oneLine } from "../format";
import { straight } from "../hidden";
import { exactScope, isCancelled } from "../nesting";
import type { Row } from "../nesting";
import * as s from "../state";
import { rewoundNumbers } from "../steps";
import type { Event } from "../types";
import { VirtualList } from "../virtual";
import { Waterfall } from "./Waterfall";

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

/** Numbers of the events that rewinds took back. */
const rewound = computed(() => rewoundNumbers(s.events.value));

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
      <Waterfall />
    </div>
  );
}

function Line({ row }: { row: Row }) {
  const { event, number } = row.one;
  const chosen = s.selected.value === event.id;
  const gone = rewound.value.has(number);
  return (
    <button
      class={`event ${chosen ? "chosen" : ""} ${event.errorCode && !isCancelled(event) ? "failed" : ""} ${gone ? "rewound" : ""}`}
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
      {gone && <span class="chip">rewound</span>}
      <span class="what">{straight(summary(event))}</span>
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
  if (isCancelled(event)) said.push("stopped");
  else if (event.errorCode) said.push(`${event.errorCode}: ${oneLine(event.errorMessage, 100)}`);
  if (said.length) return said.join("  ");
  if (event.output !== undefined) return `= ${oneLine(event.output, 120)}`;
  const keys = Object.keys(event.actions?.stateDelta ?? {});
  if (keys.length) return `state ${keys.join(", ")}`;
  return event.actions?.endOfAgent ? `${event.author} has ended` : event.actions?.agentState ? "checkpoint" : "no content";
}

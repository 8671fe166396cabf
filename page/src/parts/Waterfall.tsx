// All turns of the session with what happened in each: time, tokens, cost. Turns fold.

import { useEffect, useMemo, useState } from "preact/hooks";
import * as act from "../actions";
import { count, duration } from "../format";
import { straight } from "../hidden";
import { countTokens, given, listed, money } from "../prices";
import { eventOf, spanOf } from "../spans";
import * as s from "../state";
import type { Event } from "../types";
import { VirtualList } from "../virtual";
import { turnsOf } from "../waterfall";
import type { Bar, Turn } from "../waterfall";

const TICK = 400; // milliseconds between two drawings of what runs

/** Return the seconds since 1970, again and again while something runs. */
function useNow(): number {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    if (!s.running.value) return;
    const timer = setInterval(() => setNow(Date.now() / 1000), TICK);
    return () => clearInterval(timer);
  }, [s.running.value]);
  return now;
}

/** Keep the spans of what ran last up to date. */
export function useLatestSpans(): void {
  useEffect(() => {
    void act.loadLatestSpans();
    if (!s.running.value) return;
    const timer = setInterval(act.loadLatestSpans, 1000);
    return () => clearInterval(timer);
  }, [s.running.value, s.total.value]);
}

export function Waterfall() {
  const now = useNow();
  useLatestSpans();
  /** Turns that the person opened or closed; the others follow the selection. */
  const [folds, setFolds] = useState<{ [invocation: string]: boolean }>({});
  const turns = useMemo(
    () => turnsOf(s.events.value, s.spans.value, now),
    [s.events.value, s.spans.value, s.running.value ? now : 0, listed.value, given.value],
  );
  const event = s.chosen.value?.event;
  const current = event?.invocationId ?? turns[turns.length - 1]?.invocation;
  const isOpen = (turn: Turn) => folds[turn.invocation] ?? turn.invocation === current;
  const rows = turns.flatMap((turn) =>
    (isOpen(turn) ? turn.bars : turn.bars.slice(0, 1)).map((bar) => ({ bar, turn })),
  );
  const span = useMemo(() => event && spanOf(event, s.spans.value), [event, s.spans.value]);
  const chosenKey = span?.id ?? rows.find(({ bar }) => event && bar.event === event && bar.depth)?.bar.key;
  if (!rows.length) {
    return <p class="quiet bars">No spans are kept of this session.</p>;
  }
  const choose = (bar: Bar, turn: Turn) => {
    if (bar.kind === "turn") {
      setFolds({ ...folds, [turn.invocation]: !isOpen(turn) });
      return;
    }
    const found = bar.event ?? (bar.span && eventOf(bar.span, eventsOf(turn.invocation), s.spans.value));
    if (found) s.selected.value = found.id;
  };
  return (
    <div class="bars">
      <div class="bar-row bar-head" aria-hidden="true">
        <span class="bar-name">Turns and what they took</span>
        <span class="grow" />
        <span class="took">tokens</span>
        <span class="took">cost</span>
        <span class="took">time</span>
      </div>
      <VirtualList
        key={s.session.value?.id}
        items={rows}
        keyOf={({ bar }) => bar.key}
        guess={26}
        kind="list"
        label="Waterfall of the session"
        show={chosenKey}
        stick
        render={({ bar, turn }) => (
          <BarRow
            bar={bar}
            turn={turn}
            open={isOpen(turn)}
            chosen={bar.key === chosenKey}
            choose={() => choose(bar, turn)}
          />
        )}
      />
    </div>
  );
}

const eventsOf = (invocation: string): Event[] =>
  [...s.byId.value.values()].map((one) => one.event).filter((one) => one.invocationId === invocation);

interface RowProps {
  bar: Bar;
  turn: Turn;
  open: boolean;
  chosen: boolean;
  choose: () => void;
}

const WORDS: { [kind in Bar["kind"]]: string } = {
  turn: "",
  queue: "wait",
  agent: "agent",
  model: "model",
  tool: "tool",
  node: "node",
  other: "",
};

function BarRow({ bar, turn, open, chosen, choose }: RowProps) {
  const isTurn = bar.kind === "turn";
  const spent = countTokens(bar.tokens);
  const took = `${bar.guessed ? "≤ " : ""}${duration(bar.to - bar.from)}`;
  return (
    <button
      class={`bar-row ${isTurn ? "turn" : ""} ${chosen ? "chosen" : ""}`}
      data-depth={bar.depth}
      title={straight(titleOf(bar))}
      {...(isTurn ? { "aria-expanded": open } : { "aria-pressed": chosen })}
      onClick={choose}
    >
      <span class="bar-name" style={{ paddingLeft: `${bar.depth * 0.9}rem` }}>
        {isTurn && <span aria-hidden="true">{open ? "▾ " : "▸ "}</span>}
        {!isTurn && <span class={`kind ${bar.kind}`}>{WORDS[bar.kind]}</span>} {straight(bar.name)}
        {bar.tries > 0 && <span class="chip">retry {bar.tries}</span>}
        {bar.error && <span class="chip failed">failed</span>}
      </span>
      <svg class="bar" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
        <rect
          class={`${bar.kind} ${bar.error ? "failed" : ""} ${bar.open || bar.guessed ? "open" : ""}`}
          x={(bar.from / turn.length) * 1000}
          width={Math.max(2, ((bar.to - bar.from) / turn.length) * 1000)}
          y="2"
          height="10"
          rx="2"
        />
      </svg>
      <span class="quiet took">
        {spent > 0 && (
          <>
            {count(spent)}
            <span class="unseen"> tokens</span>
          </>
        )}
      </span>
      <span class="quiet took">{spent > 0 ? (bar.cost === undefined ? "–" : money(bar.cost)) : ""}</span>
      <span class="quiet took">{took}</span>
    </button>
  );
}

function titleOf(bar: Bar): string {
  const { tokens } = bar;
  const lines = [bar.span?.name ?? bar.name];
  if (bar.error) lines.push(bar.error);
  if (bar.guessed) lines.push("The beginning of a node is not recorded: at most this long.");
  if (countTokens(tokens)) {
    lines.push(`${count(tokens.input)} tokens in, ${count(tokens.cached)} of them cached`);
    lines.push(`${count(tokens.output + tokens.thoughts)} tokens out`);
    if (bar.cost === undefined) lines.push("The price of the model is not known: set it in Tokens.");
  }
  return lines.join("\n");
}

// Two runs side by side, aligned step by step: what was inserted, removed or changed, and their sums.

import { useEffect, useMemo, useState } from "preact/hooks";
import * as act from "../actions";
import { api } from "../api";
import { age, count, duration, oneLine } from "../format";
import { money } from "../prices";
import { forkedFrom, sharedEvents } from "../runs";
import { flag } from "../settings";
import * as s from "../state";
import { align, compareSteps, stepsOf, sumsOf } from "../steps";
import type { Pair, Step, StepKind } from "../steps";
import type { Numbered, Summary } from "../types";
import { VirtualList } from "../virtual";
import { sumUsage } from "../waterfall";
import { Changes } from "./Changes";
import { Check } from "./Check";
import { ForkTree, useForks } from "./ForkTree";

const LONGEST = 60; // characters of a title among the choices
const MOST = 1000; // events of the other session
const differences = flag("differences", s.sees("compare"));

export function Compare() {
  const chosen = s.beside.value;
  const choices = s.sessions.value.filter((one) => one.id !== s.session.value?.id);
  const choose = (id: string) => (s.beside.value = id);
  const events = useEvents(chosen);
  const [forks, wrong] = useForks();
  const nameOf = (one: Summary): string => {
    const shared = forks && s.session.value && sharedEvents(forks, s.session.value.id, one.id);
    const kin = one.id === forkedFrom.value ? "forked from it" : shared ? `same until event ${shared}` : "";
    return [oneLine(s.title(one), LONGEST), s.tailOf(one.id), age(one.lastUpdateTime), kin].filter(Boolean).join(" · ");
  };
  const listed = choices.find((one) => one.id === chosen);
  return (
    <div class="compare">
      <ForkTree tree={forks} wrong={wrong} compare={choose} />
      <label>
        Compare with
        <select value={chosen} onChange={(e) => choose(e.currentTarget.value)}>
          <option value="">choose a session</option>
          {chosen && !listed && <option value={chosen}>{chosen}</option>}
          {choices.map((one) => (
            <option key={one.id} value={one.id}>
              {nameOf(one)}
            </option>
          ))}
        </select>
      </label>
      {events && (
        <TwoRuns key={chosen} name={listed ? s.label(listed) : (s.firstWords(events[0]) ?? chosen)} events={events} />
      )}
    </div>
  );
}

/** The newest events of another session of the same user. */
function useEvents(session: string): Numbered[] | undefined {
  const [found, setFound] = useState<{ session: string; events: Numbered[] } | undefined>(undefined);
  useEffect(() => {
    let current = true;
    const where = act.place();
    if (where && session) {
      void act
        .tried(() => api.eventsBefore({ ...where, session }, undefined, MOST))
        .then((page) => current && page && setFound({ session, events: page.events }));
    }
    return () => {
      current = false;
    };
  }, [session, s.session.value?.id]);
  return found?.session === session ? found.events : undefined;
}

function TwoRuns({ name, events }: { name: string; events: Numbered[] }) {
  const whole = !differences.value;
  const mine = s.events.value;
  const [left, right] = useMemo(() => [stepsOf(mine), stepsOf(events)], [mine, events]);
  const pairs = useMemo(() => align(left, right), [left, right]);
  const differing = pairs.filter((one) => one.kind !== "same");
  const cut = s.unloaded.value > 0 || (events[0]?.number ?? 1) > 1;
  return (
    <>
      <Sums left={left} right={right} name={name} events={events} />
      <p class="compare-note">
        {differing.length === 0 ? "The runs are the same in every step." : summaryOf(differing)}{" "}
        <Check flag={differences}>only differences</Check>
      </p>
      {cut && <p class="note">Only the newest events are compared; load the older ones in the chat.</p>}
      <VirtualList
        items={whole ? pairs : differing}
        keyOf={(pair) => `${keyOf(pair.left)}|${keyOf(pair.right)}`}
        guess={48}
        kind="list"
        label="Two sessions side by side"
        render={(pair) => <PairRow pair={pair} />}
      />
    </>
  );
}

const keyOf = (step: Step | undefined): string => (step ? `${step.one.event.id} ${step.at}` : "");

function summaryOf(pairs: Pair[]): string {
  const of = (kind: Pair["kind"]) => pairs.filter((one) => one.kind === kind).length;
  const parts = [
    [of("changed"), "changed"],
    [of("removed"), "only in this session"],
    [of("added"), "only in the other"],
  ] as const;
  return `Steps: ${parts.filter(([many]) => many).map(([many, word]) => `${many} ${word}`).join(", ")}.`;
}

function Sums(props: { left: Step[]; right: Step[]; name: string; events: Numbered[] }) {
  const [one, two] = [sumsOf(props.left), sumsOf(props.right)];
  const [paid, otherPaid] = [sumUsage(s.events.value).cost, sumUsage(props.events).cost];
  const rows: [string, string, string, boolean][] = [
    ["steps", count(one.steps), count(two.steps), one.steps === two.steps],
    ["tool calls", count(one.calls), count(two.calls), one.calls === two.calls],
    ["tokens", count(one.tokens), count(two.tokens), one.tokens === two.tokens],
    ["time", duration(one.seconds), duration(two.seconds), true],
  ];
  if (paid && otherPaid) rows.push(["cost", money(paid), money(otherPaid), paid === otherPaid]);
  return (
    <table class="state sums" aria-label="Sums of both sessions">
      <thead>
        <tr>
          <th />
          <th>{s.titleOf(s.session.value!.userId, s.session.value!.id)}</th>
          <th>{props.name}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, mine, theirs, same]) => (
          <tr key={name} class={same ? "" : "differs"}>
            <th>{name}</th>
            <td>{mine}</td>
            <td>{theirs}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const NAMES: { [kind in StepKind]: string } = {
  message: "says",
  thought: "thinks",
  answer: "says",
  call: "calls",
  result: "result of",
  output: "output",
  state: "state",
  artifacts: "artifacts",
  transfer: "transfers to",
  error: "failed:",
};

const WORDS = { same: "", changed: "changed", added: "only in the other", removed: "only here" };

function PairRow({ pair }: { pair: Pair }) {
  const [open, setOpen] = useState(false);
  const change = pair.kind === "changed" ? compareSteps(pair) : undefined;
  return (
    <div class={`pair ${pair.kind} ${pair.kind === "same" ? "" : "differs"}`}>
      <StepCell step={pair.left} />
      <StepCell step={pair.right} />
      {pair.kind !== "same" && (
        <p class="pair-kind">
          <span class="chip">{WORDS[pair.kind]}</span>{" "}
          {change && (
            <button class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "Hide the differences" : "Show the differences"}
            </button>
          )}
        </p>
      )}
      {open && change && (
        <div class="pair-changes">
          <Changes label="Differences of the step" change={change} />
        </div>
      )}
    </div>
  );
}

function StepCell({ step }: { step: Step | undefined }) {
  if (!step) return <div class="step missing" />;
  const mine = s.byId.value.has(step.one.event.id);
  const text = typeof step.value === "string" ? step.value : oneLine(step.value, 240);
  return (
    <div class={`step ${step.rewound ? "rewound" : ""}`}>
      <p class="quiet">
        {mine ? (
          <button class="link" onClick={() => (s.selected.value = step.one.event.id)}>
            #{step.one.number}
          </button>
        ) : (
          `#${step.one.number}`
        )}{" "}
        <strong>{step.author}</strong> {NAMES[step.kind]} {step.name}
        {step.scope && <span class="chip scope">{oneLine(step.scope, 40)}</span>}
        {step.rewound && <span class="chip">rewound</span>}
      </p>
      {step.value !== null && <p class="step-text">{text.length > 400 ? `${text.slice(0, 400)}…` : text}</p>}
    </div>
  );
}

// Two results row by row: which cases got better or worse, and what the agent did in each.

import * as evals from "../evaluation";
import type { Row } from "../evaluation";
import type { EvalCaseResult, EvalMetricResult } from "../wire";
import { Check } from "./Check";
import { ResultChoice } from "./EvalResults";
import { Beside, Verdict } from "./EvalTurns";
import { Exact } from "./Exact";
import { textOf } from "../format";
import { Tag } from "./Tag";

export function EvalCompare() {
  const all = evals.results.value;
  const only = evals.changed.value === "yes";
  const now = all.find((one) => one.evalSetResultId === evals.result.value) ?? all[0];
  const others = all.filter((one) => one !== now && one.evalSetId === now?.evalSetId);
  const before = others.find((one) => one.evalSetResultId === evals.baseline.value) ?? others[0];
  if (!now) return <p class="quiet">{evals.loading.value ? "Loading…" : "Nothing has been run yet. Run a set under Cases."}</p>;
  const rows = before ? evals.compareResults(before, now) : [];
  const shown = only ? rows.filter((row) => row.change !== "same") : rows;
  return (
    <>
      <div class="row wraps">
        {before && (
          <ResultChoice label="Before" chosen={before.evalSetResultId} choose={(id) => (evals.baseline.value = id)} of={others} />
        )}
        <ResultChoice label="Now" chosen={now.evalSetResultId} choose={(id) => (evals.result.value = id)} />
      </div>
      {!before ? (
        <p class="quiet">The set {now.evalSetId} has one result only; run it again to compare.</p>
      ) : (
        <>
          <p class="compare-note">
            {summaryOf(rows)}{" "}
            <Check flag={evals.changed}>only what changed</Check>
          </p>
          <ul class="rows" aria-label="Cases of both results">
            {shown.map((row) => (
              <Compared key={row.id} row={row} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

const WORDS = { better: "better", worse: "worse", same: "as before", new: "new", gone: "not run now" } as const;

function summaryOf(rows: Row[]): string {
  const of = (change: Row["change"]) => rows.filter((row) => row.change === change).length;
  const parts = (["worse", "better", "new", "gone"] as const).filter((change) => of(change) > 0);
  if (!parts.length) return "No verdict changed.";
  return `${parts.map((change) => `${of(change)} ${WORDS[change]}`).join(", ")}.`;
}

function Compared({ row }: { row: Row }) {
  const { before, after, change } = row;
  const kind = change === "worse" ? "failed" : change === "better" ? "done" : "";
  const icon = change === "worse" ? "close" : change === "better" ? "check" : "rows";
  const turns = Math.max(turnsOf(before).length, turnsOf(after).length);
  return (
    <li class={change}>
      <details>
        <summary>
          <Tag kind={kind} icon={icon}>
            {WORDS[change]}
          </Tag>{" "}
          <strong>
            <Exact text={row.id} />
          </strong>
          <span class="grow" />
          <span class="quiet">
            {before ? <Verdict status={before.finalEvalStatus} /> : "not run"} → {after ? <Verdict status={after.finalEvalStatus} /> : "not run"}
          </span>
        </summary>
        <Scores before={before?.overallEvalMetricResults ?? []} after={after?.overallEvalMetricResults ?? []} />
        <div class="inner">
          {Array.from({ length: turns }, (_, at) => {
            const [one, other] = [turnsOf(before)[at]?.actualInvocation, turnsOf(after)[at]?.actualInvocation];
            return (
              <section key={at} class="eval-turn" aria-label={`Turn ${at + 1}`}>
                <p>
                  <Tag icon="user">says</Tag> <Exact text={textOf((other ?? one)?.userContent.parts)} />
                </p>
                <Beside left={one} right={other} names={["Before", "Now"]} />
              </section>
            );
          })}
        </div>
      </details>
    </li>
  );
}

const turnsOf = (one: EvalCaseResult | undefined) => one?.evalMetricResultPerInvocation ?? [];

function Scores({ before, after }: { before: EvalMetricResult[]; after: EvalMetricResult[] }) {
  const names = [...new Set([...before, ...after].map((one) => one.metricName))];
  const score = (all: EvalMetricResult[], name: string) => {
    const found = all.find((one) => one.metricName === name);
    return found ? evals.scoreOf(found) : "—";
  };
  return (
    <ul class="metrics" aria-label="Metrics of both">
      {names.map((name) => (
        <li key={name} class="quiet">
          {name}: {score(before, name)} → {score(after, name)}
        </li>
      ))}
    </ul>
  );
}

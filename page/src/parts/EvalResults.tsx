// Stored results of evaluations: which cases failed, and each beside its expectation.

import * as evals from "../evaluation";
import { clock, day } from "../format";
import type { EvalCaseResult, EvalSetResult } from "../wire";
import { EvalTurns, Metrics, Verdict } from "./EvalTurns";
import { Exact } from "./Exact";

/** What a list calls a result. */
export const nameOf = (one: EvalSetResult): string => {
  const all = evals.casesOf(one);
  const passed = all.filter((each) => each.finalEvalStatus === evals.PASSED).length;
  const date = day(one.creationTimestamp);
  const when = date.includes(":") ? clock(one.creationTimestamp) : `${date} ${clock(one.creationTimestamp)}`;
  return `${one.evalSetId}, ${when}: ${passed} of ${all.length} passed`;
};

interface ChoiceProps {
  label: string;
  chosen: string;
  choose: (id: string) => void;
  of?: EvalSetResult[];
}

export function ResultChoice({ label, chosen, choose, of = evals.results.value }: ChoiceProps) {
  return (
    <label>
      {label}{" "}
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {of.map((one) => (
          <option key={one.evalSetResultId} value={one.evalSetResultId}>
            {nameOf(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

export function EvalResults() {
  const all = evals.results.value;
  const chosen = all.find((one) => one.evalSetResultId === evals.result.value) ?? all[0];
  if (!chosen) return <p class="quiet">{evals.loading.value ? "Loading…" : "Nothing has been run yet. Run a set under Cases."}</p>;
  const failedFirst = evals.casesOf(chosen).toSorted((a, b) => rank(a) - rank(b));
  return (
    <>
      <div class="row wraps">
        <ResultChoice label="Result" chosen={chosen.evalSetResultId} choose={(id) => (evals.result.value = id)} />
      </div>
      <ul class="rows" aria-label="Cases of the result">
        {failedFirst.map((one, at) => (
          <Outcome key={`${chosen.evalSetResultId} ${one.evalId} ${at}`} one={one} open={at === 0 && rank(one) === 0} />
        ))}
      </ul>
    </>
  );
}

const rank = (one: EvalCaseResult): number => (one.finalEvalStatus === evals.FAILED ? 0 : 1);

function Outcome({ one, open }: { one: EvalCaseResult; open: boolean }) {
  return (
    <li>
      <details open={open}>
        <summary>
          <Verdict status={one.finalEvalStatus} />{" "}
          <strong>
            <Exact text={one.evalId} />
          </strong>
        </summary>
        <Metrics metrics={one.overallEvalMetricResults} />
        <EvalTurns one={one} />
      </details>
    </li>
  );
}

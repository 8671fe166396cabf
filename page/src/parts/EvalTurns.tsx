// One evaluated case, turn by turn: what was expected beside what the agent did.

import { words } from "../diff";
import { answerOf, callsOf, pairCalls, PASSED, scoreOf, VERDICTS } from "../evaluation";
import type { CallPair } from "../evaluation";
import { args, oneLine, textOf } from "../format";
import { compare } from "../jsondiff";
import type { FunctionCall } from "../types";
import type { EvalCaseResult, EvalMetricResult, EvalStatus, Invocation } from "../wire";
import { Changes } from "./Changes";
import { Exact } from "./Exact";
import { Tag } from "./Tag";

const COMPARED = 20_000; // characters of answers that are compared word by word

export function Verdict({ status }: { status: EvalStatus }) {
  const passed = status === PASSED;
  return (
    <Tag kind={passed ? "done" : status === 2 ? "failed" : ""} icon={passed ? "check" : status === 2 ? "close" : "wait"}>
      {VERDICTS[status]}
    </Tag>
  );
}

export function Metrics({ metrics }: { metrics: EvalMetricResult[] | undefined }) {
  if (!metrics?.length) return null;
  return (
    <ul class="metrics" aria-label="Metrics">
      {metrics.map((one) => (
        <li key={one.metricName} class={one.evalStatus === 2 ? "error" : "quiet"}>
          {one.metricName}: {scoreOf(one)}
          {one.details?.error && <> — {one.details.error}</>}
        </li>
      ))}
    </ul>
  );
}

export function EvalTurns({ one }: { one: EvalCaseResult }) {
  const turns = one.evalMetricResultPerInvocation;
  return (
    <div class="inner">
      {one.errorMessage && <p class="error"><Exact text={one.errorMessage} turns /></p>}
      {!turns.length && !one.errorMessage && <p class="error">The case did not run to its end.</p>}
      {turns.map((turn, at) => (
        <section key={at} class="eval-turn" aria-label={`Turn ${at + 1}`}>
          <p>
            <Tag icon="user">says</Tag> <Exact text={textOf(turn.actualInvocation.userContent.parts)} />
          </p>
          <Beside left={turn.expectedInvocation} right={turn.actualInvocation} names={["Expected", "This run"]} />
          {turns.length > 1 && <Metrics metrics={turn.evalMetricResults} />}
        </section>
      ))}
    </div>
  );
}

interface BesideProps {
  left: Invocation | undefined;
  right: Invocation | undefined;
  names: readonly [string, string];
}

/** Two turns beside each other: their calls in pairs, and their answers with the words that differ. */
export function Beside({ left, right, names }: BesideProps) {
  const pairs = pairCalls(callsOf(left), callsOf(right));
  const [said, answered] = [answerOf(left), answerOf(right)];
  return (
    <table class="beside">
      <thead>
        <tr>
          <th scope="col">{names[0]}</th>
          <th scope="col">{names[1]}</th>
        </tr>
      </thead>
      <tbody>
        {pairs.map((pair, at) => (
          <PairRow key={at} pair={pair} plain={!left} />
        ))}
        {pairs.length === 0 && (
          <tr>
            <td class="quiet">no calls</td>
            <td class="quiet">no calls</td>
          </tr>
        )}
        <tr>
          <td>{said ? <Side text={said} other={answered} kind="removed" /> : <span class="quiet">{left ? "no answer" : "nothing is expected"}</span>}</td>
          <td>{answered ? <Side text={answered} other={said} kind="added" /> : <span class="quiet">no answer</span>}</td>
        </tr>
      </tbody>
    </table>
  );
}

function PairRow({ pair, plain }: { pair: CallPair; plain: boolean }) {
  return (
    <>
      <tr class={plain ? "" : pair.kind}>
        <td>{pair.expected ? <OneCall call={pair.expected} /> : <span class="quiet">not expected</span>}</td>
        <td>{pair.actual ? <OneCall call={pair.actual} /> : <span class="quiet">not called</span>}</td>
      </tr>
      {pair.kind === "changed" && (
        <tr>
          <td colSpan={2}>
            <Changes label={`Arguments of ${pair.expected!.name}`} change={compare(pair.expected!.args ?? {}, pair.actual!.args ?? {})} />
          </td>
        </tr>
      )}
    </>
  );
}

export function OneCall({ call }: { call: FunctionCall }) {
  return (
    <code>
      <Exact text={`${call.name}(${args(call.args)})`} />
    </code>
  );
}

/** An answer, with the words marked that the other one does not have. */
function Side({ text, other, kind }: { text: string; other: string; kind: "added" | "removed" }) {
  if (!other || text.length + other.length > COMPARED) return <Exact text={oneLine(text, 4000)} />;
  const all = kind === "removed" ? words(text, other) : words(other, text);
  return (
    <span class="side-words">
      {all
        .filter((one) => one.kind === "same" || one.kind === kind)
        .map((one, at) => (one.kind === "same" ? <Exact key={at} text={one.text} /> : kind === "removed" ? <del key={at}>{one.text}</del> : <ins key={at}>{one.text}</ins>))}
    </span>
  );
}

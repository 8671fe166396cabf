// The end of a turn: how long it took, and what it used.

import { costOf, dollars } from "../cost";
import * as evals from "../evaluation";
import { count, duration } from "../format";
import { tokensOf } from "../turns";
import * as s from "../state";
import type { Turn } from "../turns";

export function TurnFoot({ turn }: { turn: Turn }) {
  const cost = costOf(turn.usage);
  const [input, output] = [
    turn.usage.reduce((sum, one) => sum + one.prompt, 0),
    turn.usage.reduce((sum, one) => sum + one.output, 0),
  ];
  return (
    <footer class="turn quiet">
      <span>{turn.failed ? "failed after" : "turn of"} {duration(turn.seconds)}</span>
      {turn.waited >= 1 && <span>waited {duration(turn.waited)} for a person</span>}
      {tokensOf(turn.usage) > 0 && (
        <span title={`${count(input)} in, ${count(output)} out`}>{count(input + output)} tokens</span>
      )}
      {cost !== undefined && <span>{dollars(cost)}</span>}
      {turn.message && !turn.failed && <AsCase turn={turn} />}
    </footer>
  );
}

/** Makes an evaluation case of the turn; once it is one, leads to it. */
function AsCase({ turn }: { turn: Turn }) {
  const look = () => {
    s.screen.value = "evaluation";
    evals.tab.value = "cases";
  };
  return evals.added.value[turn.invocation] ? (
    <button class="link" onClick={look}>
      is a case
    </button>
  ) : (
    <button class="link" title="Add this turn as an evaluation case" onClick={() => void evals.addTurn(turn)}>
      add as a case
    </button>
  );
}

// The end of a turn: how long it took, and what it used.

import { costOf, dollars } from "../cost";
import { count, duration } from "../format";
import { tokensOf } from "../turns";
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
      {tokensOf(turn.usage) > 0 && (
        <span title={`${count(input)} in, ${count(output)} out`}>{count(input + output)} tokens</span>
      )}
      {cost !== undefined && <span>{dollars(cost)}</span>}
    </footer>
  );
}

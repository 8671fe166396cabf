// Evaluation sets and their cases: look at what a case expects, run it, delete it.

import { useState } from "preact/hooks";
import * as evals from "../evaluation";
import { args, oneLine, textOf } from "../format";
import type { EvalCase, Invocation } from "../wire";
import { Exact } from "./Exact";
import { Tag } from "./Tag";

export function EvalCases({ seeResult }: { seeResult: () => void }) {
  const busy = evals.running.value !== undefined;
  const run = (ids: string[]) => void evals.run(ids).then((done) => done && seeResult());
  const many = evals.cases.value.length;
  return (
    <>
      <div class="row wraps">
        {evals.sets.value.length > 0 && (
          <label>
            Set{" "}
            <select value={evals.set.value} onChange={(e) => (evals.set.value = e.currentTarget.value)}>
              {evals.sets.value.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        {many > 0 && (
          <button class="primary" disabled={busy} onClick={() => run([])}>
            {busy ? "Running…" : `Run all ${many}`}
          </button>
        )}
        <NewSet />
      </div>
      <p class="quiet" role="status">
        {evals.told.value}
      </p>
      {!evals.loading.value && evals.sets.value.length === 0 && (
        <p>
          No evaluation sets yet. In the menu of a session that went well, choose <em>Add as evaluation case</em>.
        </p>
      )}
      {evals.set.value && many === 0 && !evals.loading.value && <p class="quiet">This set has no cases.</p>}
      <ul class="rows" aria-label="Cases">
        {evals.cases.value.map((one) => (
          <Case key={one.evalId} one={one} busy={busy} run={() => run([one.evalId])} />
        ))}
      </ul>
      {many > 0 && (
        <p class="quiet">
          Tools run for real unless <code>test_config.json</code> beside the set mocks them; its criteria count.
        </p>
      )}
    </>
  );
}

function Case({ one, busy, run }: { one: EvalCase; busy: boolean; run: () => void }) {
  const turns = one.conversation ?? [];
  const first = textOf(turns[0]?.userContent.parts) || one.conversationScenario?.startingPrompt || "";
  const runs = busy && (!evals.running.value!.length || evals.running.value!.includes(one.evalId));
  return (
    <li>
      <details>
        <summary>
          <strong>
            <Exact text={one.evalId} />
          </strong>{" "}
          <span class="quiet clip">
            <Exact text={oneLine(first, 120)} />
          </span>
          <span class="grow" />
          <span class="quiet">{one.conversation ? `${turns.length} ${turns.length === 1 ? "turn" : "turns"}` : "simulated user"}</span>
        </summary>
        <div class="inner">
          {one.conversationScenario && (
            <p>
              <Exact text={one.conversationScenario.conversationPlan} />
            </p>
          )}
          {turns.map((turn, at) => (
            <Expected key={at} turn={turn} />
          ))}
          <p class="buttons">
            <button disabled={busy} onClick={run}>
              {runs ? "Running…" : "Run this case"}
            </button>
            <Remove id={one.evalId} busy={busy} />
          </p>
        </div>
      </details>
    </li>
  );
}

/** What a turn expects of the agent. */
function Expected({ turn }: { turn: Invocation }) {
  const answer = evals.answerOf(turn);
  return (
    <div class="expected">
      <p>
        <Tag icon="user">says</Tag> <Exact text={textOf(turn.userContent.parts)} />
      </p>
      {evals.callsOf(turn).map((call, at) => (
        <p key={at}>
          <Tag icon="call">calls</Tag>{" "}
          <code>
            <Exact text={`${call.name}(${args(call.args)})`} />
          </code>
        </p>
      ))}
      {answer && (
        <p>
          <Tag icon="answer">answers</Tag> <Exact text={oneLine(answer, 600)} />
        </p>
      )}
    </div>
  );
}

function Remove({ id, busy }: { id: string; busy: boolean }) {
  const [gone, setGone] = useState(false);
  const remove = () => {
    if (!confirm(`Delete the case ${id}?`)) return;
    setGone(true);
    void evals.removeCase(id).finally(() => setGone(false));
  };
  return (
    <button class="danger" disabled={busy || gone} onClick={remove}>
      Delete
    </button>
  );
}

function NewSet() {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
    if (!name || busy) return;
    setBusy(true);
    void evals.createSet(name).then((made) => {
      setBusy(false);
      setOpen(!made);
    });
  };
  if (!open) return <button onClick={() => setOpen(true)}>New set</button>;
  return (
    <form class="row" onSubmit={submit}>
      <input name="name" aria-label="Name of the set" placeholder="letters, digits, _" required autocomplete="off" />
      <button disabled={busy}>Create</button>
      <button type="button" onClick={() => setOpen(false)}>
        Cancel
      </button>
    </form>
  );
}

// Run from here in a fork: with another message, tool result, instruction or model.

import { useState } from "preact/hooks";
import { graph } from "../appfacts";
import * as evals from "../evaluation";
import { textOf } from "../format";
import { exactJson } from "../hidden";
import * as runs from "../runs";
import { isObject } from "../schema";
import * as s from "../state";
import type { FunctionResponse, GraphNode, Json, Numbered } from "../types";

export function TryAgain({ one }: { one: Numbered }) {
  const response = one.event.content?.parts?.find(
    (part) => part.functionResponse && !part.functionResponse.name.startsWith("adk_request_"),
  )?.functionResponse;
  if (!one.number) return <p class="quiet">This event is in no log; nothing can be forked from it.</p>;
  return (
    <>
      <p class="quiet">
        A trial runs in a fork: this session stays as it is, and you can compare both in <em>Compare</em>.
      </p>
      <Rerun one={one} />
      {response?.id && <OtherResult one={one} given={response} />}
      <EvalCase invocation={one.event.invocationId} />
    </>
  );
}

/** The agents whose instruction and model can be changed: those outside of workflows. */
function agentsToTry(): GraphNode[] {
  const found = graph.value;
  if (!found) return [];
  const groups = new Map(found.nodes.map((node) => [node.id, node]));
  const inWorkflow = (node: GraphNode): boolean =>
    node.kind === "workflow" ||
    (node.group !== undefined && groups.has(node.group) && inWorkflow(groups.get(node.group)!));
  return found.nodes.filter((node) => node.kind === "agent" && !inWorkflow(node));
}

function Rerun({ one }: { one: Numbered }) {
  const asked = runs.messageOf(one.event.invocationId);
  const agents = agentsToTry();
  const author = agents.find((node) => node.name === one.event.author) ?? agents[0];
  const [agent, setAgent] = useState(author?.name ?? "");
  const known = s.tree.value?.agents[agent] as { instruction?: string } | undefined;
  const [instruction, setInstruction] = useState<string | undefined>(undefined);
  const [model, setModel] = useState("");
  const [text, setText] = useState(textOf(asked?.event.content?.parts));
  if (!asked) return <p class="quiet">This turn began without a message in words.</p>;
  const chosen = agents.find((node) => node.name === agent);
  const before = runs.eventBefore(asked);
  const missing = !before && asked.number > 1;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!text.trim() || missing) return;
    const changed = instruction !== undefined && instruction !== known?.instruction;
    void runs.tryAgain(before, {
      message: text,
      ...(changed || model.trim() ? { agent } : {}),
      ...(changed ? { instruction: instruction! } : {}),
      ...(model.trim() ? { model: model.trim() } : {}),
    });
  };
  return (
    <form class="decision plain" aria-label="Run this turn again" onSubmit={submit}>
      <h2>Run this turn again</h2>
      <fieldset class="fields" disabled={runs.starting.value}>
        <label class="field">
          <span>Message</span>
          <textarea rows={3} value={text} onInput={(e) => setText(e.currentTarget.value)} />
        </label>
        {agents.length > 0 && (
          <details>
            <summary>Another instruction or model</summary>
            <label class="field">
              <span>Agent</span>
              <select value={agent} onChange={(e) => setAgent(e.currentTarget.value)}>
                {agents.map((node) => (
                  <option key={node.id} value={node.name}>
                    {node.name}
                  </option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>Instruction</span>
              <textarea
                rows={6}
                value={instruction ?? known?.instruction ?? ""}
                onInput={(e) => setInstruction(e.currentTarget.value)}
              />
            </label>
            <label class="field">
              <span>Model</span>
              <input
                value={model}
                placeholder={chosen?.model ?? ""}
                onInput={(e) => setModel(e.currentTarget.value)}
              />
            </label>
          </details>
        )}
        {missing && <p class="note">Load the events before this turn first: scroll up in the chat.</p>}
        <p class="buttons">
          <button class="primary" disabled={runs.starting.value || missing}>
            Run in a fork
          </button>
        </p>
      </fieldset>
    </form>
  );
}

function OtherResult({ one, given }: { one: Numbered; given: FunctionResponse }) {
  const [text, setText] = useState(exactJson((given.response ?? {}) as Json));
  const [message, setMessage] = useState("Continue with this result.");
  const [wrong, setWrong] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    try {
      const response = JSON.parse(text) as Json;
      if (!isObject(response)) throw new Error("A result is a JSON object.");
      setWrong("");
      void runs.tryAgain(one, { message, result: { callId: given.id!, response } });
    } catch (error) {
      setWrong((error as Error).message);
    }
  };
  return (
    <form class="decision plain" aria-label={`Another result of ${given.name}`} onSubmit={submit}>
      <h2>Another result of {given.name}</h2>
      <fieldset class="fields" disabled={runs.starting.value}>
        <label class="field">
          <span>Result, a JSON object</span>
          <textarea rows={6} spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Message that lets the agent continue</span>
          <input value={message} onInput={(e) => setMessage(e.currentTarget.value)} />
        </label>
        {wrong && (
          <p class="error" role="alert">
            {wrong}
          </p>
        )}
        <p class="buttons">
          <button class="primary" disabled={!message.trim() || runs.starting.value}>
            Run with this result
          </button>
        </p>
      </fieldset>
    </form>
  );
}

/** Makes an evaluation case of the turn, if it can run by itself. */
function EvalCase({ invocation }: { invocation: string }) {
  const turn = [...s.turns.value.ends.values()].find((one) => one.invocation === invocation && one.message);
  if (!turn) return null;
  const id = evals.added.value[invocation];
  return (
    <section class="decision plain">
      <h2>Keep this turn as an evaluation case</h2>
      <p class="buttons">
        {id === undefined ? (
          <button onClick={() => void evals.addTurn(turn)}>Add as an evaluation case</button>
        ) : (
          <button class="link" onClick={evals.showCases}>
            It is the case {id}
          </button>
        )}
      </p>
    </section>
  );
}

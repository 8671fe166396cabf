// A call that waits for a person: its arguments, and Approve, Edit arguments, Reject.

import { useState } from "preact/hooks";
import * as act from "../actions";
import type { Approval, JsonObject } from "../types";

export function Decision({ approval, done }: { approval: Approval; done?: boolean }) {
  const [edits, setEdits] = useState(false);
  const [wrong, setWrong] = useState("");
  const approve = (args?: JsonObject) =>
    void act.answer(approval, args ? { action: "edit", args } : { action: "approve" });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.target as HTMLFormElement).get("args") ?? "");
    try {
      const args = JSON.parse(text);
      if (typeof args !== "object" || args === null || Array.isArray(args)) {
        throw new Error("Arguments are a JSON object.");
      }
      approve(args);
    } catch (error) {
      setWrong((error as Error).message);
    }
  };
  return (
    <div class={`decision ${done ? "done" : ""}`} role="group" aria-label={`Approve ${approval.tool}`}>
      <p>
        <strong>{approval.tool}</strong> {done ? "asked for approval" : "asks for approval"}
        {approval.hint && <span class="quiet"> {approval.hint}</span>}
      </p>
      <dl class="args">
        {Object.entries(approval.args).map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
      {!done && !edits && (
        <p class="buttons">
          <button class="primary" onClick={() => approve()}>
            Approve
          </button>
          <button onClick={() => setEdits(true)}>Edit arguments</button>
          <button class="danger" onClick={() => void act.answer(approval, { action: "reject" })}>
            Reject
          </button>
        </p>
      )}
      {edits && !done && (
        <form onSubmit={submit}>
          <textarea name="args" rows={6} aria-label="Arguments as JSON" spellcheck={false}>
            {JSON.stringify(approval.args, null, 2)}
          </textarea>
          {wrong && <p class="error">{wrong}</p>}
          <p class="buttons">
            <button class="primary">Approve with these</button>
            <button type="button" onClick={() => setEdits(false)}>
              Back
            </button>
          </p>
        </form>
      )}
    </div>
  );
}

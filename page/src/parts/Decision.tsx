// A call that waits for a person: its arguments, and Approve, Edit arguments, Reject.

import { useState } from "preact/hooks";
import * as act from "../actions";
import { exactJson, revealed } from "../hidden";
import * as s from "../state";
import type { Approval, Json, JsonObject } from "../types";
import { Exact } from "./Exact";

const LONG = 400; // characters of a value whose length is said

export function Decision({ approval, done }: { approval: Approval; done?: boolean }) {
  const [edits, setEdits] = useState(false);
  const [wrong, setWrong] = useState("");
  const outcome = s.outcomes.value[act.keyOf(approval)];
  const busy = s.answering.value.has(act.keyOf(approval));
  const over = done || outcome !== undefined;
  const decide = async (decision: JsonObject) => setWrong((await act.answer(approval, decision)) ?? "");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.target as HTMLFormElement).get("args") ?? "");
    try {
      const args = JSON.parse(text);
      if (typeof args !== "object" || args === null || Array.isArray(args)) {
        throw new Error("Arguments are a JSON object.");
      }
      void decide({ action: "edit", args });
    } catch (error) {
      setWrong((error as Error).message);
    }
  };
  return (
    <div
      class={`decision ${over ? "done" : ""}`}
      role="group"
      aria-label={`Approve ${revealed(approval.tool)}`}
      aria-busy={busy}
    >
      <p>
        <strong>
          <Exact text={approval.tool} />
        </strong>{" "}
        {over ? "asked for approval" : "asks for approval"}
      </p>
      {approval.hint && (
        <p class="quiet hint">
          <Exact text={approval.hint} />
        </p>
      )}
      <dl class="args">
        {Object.entries(approval.args).map(([key, value]) => (
          <div key={key}>
            <dt>
              <Exact text={key} />
            </dt>
            <dd>
              <Value value={value} />
            </dd>
          </div>
        ))}
      </dl>
      {outcome && <p class="note">{outcome}</p>}
      {!over && !edits && (
        <p class="buttons">
          <button class="primary" disabled={busy} onClick={() => void decide({ action: "approve" })}>
            Approve
          </button>
          <button disabled={busy} onClick={() => setEdits(true)}>
            Edit arguments
          </button>
          <button class="danger" disabled={busy} onClick={() => void decide({ action: "reject" })}>
            Reject
          </button>
        </p>
      )}
      {wrong && !over && <p class="error">{wrong}</p>}
      {edits && !over && (
        <form onSubmit={submit}>
          <textarea
            name="args"
            rows={6}
            aria-label="Arguments as JSON"
            spellcheck={false}
            disabled={busy}
          >
            {exactJson(approval.args)}
          </textarea>
          <p class="buttons">
            <button class="primary" disabled={busy}>
              Approve with these
            </button>
            <button type="button" disabled={busy} onClick={() => setEdits(false)}>
              Back
            </button>
          </p>
        </form>
      )}
    </div>
  );
}

function Value({ value }: { value: Json }) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return (
    <>
      <Exact text={text} />
      {text.length > LONG && (
        <span class="quiet"> ({text.length.toLocaleString("en")} characters; scroll to see all)</span>
      )}
    </>
  );
}

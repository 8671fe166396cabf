// A question to a person: its words, and a form made from the schema of its answer.

import { Fragment } from "preact";
import { useMemo, useRef } from "preact/hooks";
import * as act from "../actions";
import { answer, outcomeOf } from "../answers";
import { problemsOf, valueOf } from "../filled";
import { compare } from "../jsondiff";
import { fieldOf } from "../schema";
import type { Problems } from "../schema";
import * as s from "../state";
import type { Approval, Json } from "../types";
import { Changes } from "./Changes";
import { Exact } from "./Exact";
import { focusProblem, OneField, ProblemOf, useInputs, Words } from "./Fields";

export function Question({ approval, done }: { approval: Approval; done?: boolean }) {
  const schema = approval.responseSchema;
  const field = useMemo(() => (schema ? fieldOf(schema) : undefined), [JSON.stringify(schema)]);
  const key = act.keyOf(approval);
  const inputs = useInputs(field, key);
  const { filled, problems, setProblems } = inputs;
  const outcome = outcomeOf(approval);
  const busy = s.answering.value.has(key);
  const over = done || outcome !== undefined;
  const form = useRef<HTMLFormElement>(null);
  const give = async (decision: { text: string } | { value: Json }) => {
    const { wrong: told } = await answer(
      approval,
      "text" in decision
        ? { action: "respond", text: decision.text }
        : { action: "result", result: { result: decision.value } },
    );
    if (told) setProblems(field ? problemsOf(told, field, filled) : { answer: told });
    if (told && form.current) focusProblem(form.current);
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const found: Problems = {};
    if (!field) {
      const text = filled["answer"] ?? "";
      if (!text.trim()) found["answer"] = "This is needed.";
      else void give({ text });
    } else {
      const value = valueOf(field, filled, found);
      if (!Object.keys(found).length) void give({ value: value ?? null });
    }
    setProblems(found);
    if (Object.keys(found).length) focusProblem(form.current!);
  };
  const asker = approval.asker || approval.tool;
  return (
    <div class={`decision ${over ? "done" : ""}`} role="group" aria-label={`Question of ${asker}`}>
      <p>
        <strong>
          <Exact text={asker} />
        </strong>{" "}
        {over ? "asked" : "asks"}
      </p>
      <p class="text question">
        {(approval.message || "What is the answer?").split("\n").map((line, index) => (
          <Fragment key={index}>
            {index > 0 && "\n"}
            <Exact text={line} />
          </Fragment>
        ))}
      </p>
      {approval.payload !== undefined && approval.payload !== null && (
        <Changes
          label={`What ${asker} asks about`}
          change={compare(approval.payload, approval.payload)}
          whole
        />
      )}
      {outcome && <p class="note">{outcome}</p>}
      {!over && field?.kind === "boolean" && (
        <>
          <ProblemOf path="answer" problems={problems} />
          <p class="buttons">
            <button class="primary" disabled={busy} onClick={() => void give({ value: true })}>
              Yes
            </button>
            <button disabled={busy} onClick={() => void give({ value: false })}>
              No
            </button>
          </p>
        </>
      )}
      {!over && field?.kind !== "boolean" && (
        <form ref={form} onSubmit={submit} noValidate aria-label={`Answer to ${asker}`}>
          <fieldset class="fields" disabled={busy}>
            {field ? <OneField field={field} above="" inputs={inputs} /> : <Words inputs={inputs} />}
          </fieldset>
          <p class="buttons">
            <button class="primary" disabled={busy}>
              Answer
            </button>
          </p>
        </form>
      )}
    </div>
  );
}

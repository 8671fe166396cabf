// A question to a person: its words, and a form made from the schema of its answer.

import { useMemo, useState } from "preact/hooks";
import * as act from "../actions";
import { fieldOf, initialOf, pathOf, problemAt, valueOf } from "../schema";
import type { Field, Filled, Problems } from "../schema";
import * as s from "../state";
import type { Approval, Json } from "../types";
import { Exact } from "./Exact";

interface Inputs {
  filled: Filled;
  problems: Problems;
  set: (path: string, text: string) => void;
}

export function Question({ approval, done }: { approval: Approval; done?: boolean }) {
  const schema = approval.responseSchema;
  const field = useMemo(() => (schema ? fieldOf(schema) : undefined), [JSON.stringify(schema)]);
  const [filled, setFilled] = useState<Filled>(() => (field ? initialOf(field) : { answer: "" }));
  const [problems, setProblems] = useState<Problems>({});
  const outcome = s.outcomes.value[act.keyOf(approval)];
  const busy = s.answering.value.has(act.keyOf(approval));
  const over = done || outcome !== undefined;
  const give = async (decision: { text: string } | { value: Json }) => {
    const told = await act.answer(
      approval,
      "text" in decision
        ? { action: "respond", text: decision.text }
        : { action: "result", result: { result: decision.value } },
    );
    if (told) setProblems({ [field ? problemAt(told, field) : "answer"]: told });
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
    const first = Object.keys(found)[0];
    const form = event.target as HTMLFormElement;
    if (first) form.querySelector<HTMLElement>(`[data-path="${CSS.escape(first)}"]`)?.focus();
  };
  const inputs: Inputs = {
    filled,
    problems,
    set: (path, text) => {
      setFilled((before) => ({ ...before, [path]: text }));
      setProblems(({ [path]: _, ...others }) => others);
    },
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
        <bdi>{approval.message || "What is the answer?"}</bdi>
      </p>
      {approval.payload !== undefined && approval.payload !== null && (
        <pre class="code">
          <Exact text={JSON.stringify(approval.payload)} />
        </pre>
      )}
      {outcome && <p class="note">{outcome}</p>}
      {!over && field?.kind === "boolean" && (
        <>
          <Problem path="answer" problems={problems} />
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
        <form onSubmit={submit} noValidate aria-label={`Answer to ${asker}`}>
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

function Words({ inputs }: { inputs: Inputs }) {
  return (
    <>
      <textarea
        rows={2}
        aria-label="Answer"
        data-path="answer"
        aria-invalid={"answer" in inputs.problems}
        value={inputs.filled["answer"]}
        onInput={(event) => inputs.set("answer", event.currentTarget.value)}
      />
      <Problem path="answer" problems={inputs.problems} />
    </>
  );
}

function OneField({ field, above, inputs }: { field: Field; above: string; inputs: Inputs }) {
  const path = pathOf(above, field);
  if (field.kind === "object") {
    return (
      <fieldset class={above ? "nested" : "fields"}>
        {above && <legend>{field.label}</legend>}
        {field.help && <p class="quiet">{field.help}</p>}
        {field.fields.map((one) => (
          <OneField key={one.name} field={one} above={path} inputs={inputs} />
        ))}
        <Problem path={path} problems={inputs.problems} />
      </fieldset>
    );
  }
  return (
    <div class="field">
      <label>
        <span>
          {field.label}
          {!field.required && <span class="quiet"> (optional)</span>}
          {field.kind === "list" && <span class="quiet"> one on each line</span>}
          {field.kind === "json" && <span class="quiet"> JSON</span>}
        </span>
        <Entry field={field} path={path} inputs={inputs} />
      </label>
      {field.help && <p class="quiet">{field.help}</p>}
      <Problem path={path} problems={inputs.problems} />
    </div>
  );
}

function Entry({ field, path, inputs }: { field: Field; path: string; inputs: Inputs }) {
  const shared = {
    value: inputs.filled[path] ?? "",
    "data-path": path,
    "aria-invalid": path in inputs.problems,
    onInput: (event: Event) => inputs.set(path, (event.currentTarget as HTMLInputElement).value),
  };
  if (field.kind === "boolean" || field.kind === "choice") {
    const choices: [string, string][] =
      field.kind === "boolean"
        ? [["true", "yes"], ["false", "no"]]
        : field.choices.map((one) => [
            JSON.stringify(one),
            typeof one === "string" ? one : JSON.stringify(one),
          ]);
    return (
      <select {...shared}>
        <option value=""></option>
        {choices.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    );
  }
  if (field.kind === "list" || field.kind === "json") {
    return <textarea rows={3} spellcheck={false} {...shared} />;
  }
  const mode = field.kind === "integer" ? "numeric" : field.kind === "number" ? "decimal" : "text";
  return <input inputMode={mode} autocomplete="off" {...shared} />;
}

function Problem({ path, problems }: { path: string; problems: Problems }) {
  return path in problems ? (
    <p class="error" role="alert">
      {problems[path]}
    </p>
  ) : null;
}

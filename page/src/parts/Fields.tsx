// The fields of a form that a JSON schema describes.

import { useState } from "preact/hooks";
import { initialOf, pathOf } from "../schema";
import type { Field, Filled, Problems } from "../schema";
import type { Json } from "../types";

interface Inputs {
  filled: Filled;
  problems: Problems;
  set: (path: string, text: string) => void;
  setProblems: (problems: Problems) => void;
}

/** What is filled into a form; it begins with the initial values, or with given ones. */
export function useInputs(field: Field | undefined, given?: Json): Inputs {
  const [filled, setFilled] = useState<Filled>(() =>
    field ? initialOf(field, "", given ?? field.initial) : { answer: "" },
  );
  const [problems, setProblems] = useState<Problems>({});
  return {
    filled,
    problems,
    setProblems,
    set: (path, text) => {
      setFilled((before) => ({ ...before, [path]: text }));
      setProblems(({ [path]: _, ...others }: Problems) => others);
    },
  };
}

/** Move the focus to the first field that has a problem. */
export function focusProblem(form: HTMLFormElement, problems: Problems): void {
  const first = Object.keys(problems)[0];
  if (first) form.querySelector<HTMLElement>(`[data-path="${CSS.escape(first)}"]`)?.focus();
}

/** A field for any words. */
export function Words({ inputs }: { inputs: Inputs }) {
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
      <ProblemOf path="answer" problems={inputs.problems} />
    </>
  );
}

export function OneField({ field, above, inputs }: { field: Field; above: string; inputs: Inputs }) {
  const path = pathOf(above, field);
  if (field.kind === "object") {
    return (
      <fieldset class={above ? "nested" : "fields"}>
        {above && <legend>{field.label}</legend>}
        {field.help && <p class="quiet">{field.help}</p>}
        {field.fields.map((one) => (
          <OneField key={one.name} field={one} above={path} inputs={inputs} />
        ))}
        <ProblemOf path={path} problems={inputs.problems} />
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
      <ProblemOf path={path} problems={inputs.problems} />
    </div>
  );
}

function Entry({ field, path, inputs }: { field: Field; path: string; inputs: Inputs }) {
  const text = inputs.filled[path] ?? "";
  const shared = {
    value: text,
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
  const isLong = field.kind === "string" && (text.length > 60 || text.includes("\n"));
  if (field.kind === "list" || field.kind === "json" || isLong) {
    const rows = Math.min(10, Math.max(3, text.split("\n").length));
    return <textarea rows={rows} spellcheck={false} {...shared} />;
  }
  const mode = field.kind === "integer" ? "numeric" : field.kind === "number" ? "decimal" : "text";
  return <input inputMode={mode} autocomplete="off" {...shared} />;
}

export function ProblemOf({ path, problems }: { path: string; problems: Problems }) {
  return path in problems ? (
    <p class="error" role="alert">
      {problems[path]}
    </p>
  ) : null;
}

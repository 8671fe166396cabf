// The fields of a form that a JSON schema describes.

import { useMemo, useState } from "preact/hooks";
import { fill, fillingOf } from "../drafts";
import { initialOf } from "../filled";
import { FORMATS } from "../limits";
import { chosenOf, entriesOf, entryOf, isFixed, namePath, pathOf } from "../schema";
import type { Field, Filled, Problems } from "../schema";
import type { Json } from "../types";

interface Inputs {
  filled: Filled;
  problems: Problems;
  set: (path: string, text: string, more?: Filled) => void;
  setProblems: (problems: Problems) => void;
}

/** What is filled into the form of a call; it begins with the initial values, or with given ones. */
export function useInputs(field: Field | undefined, call: string, given?: Json): Inputs {
  const initial = useMemo<Filled>(
    () => (field ? initialOf(field, "", given ?? field.initial) : { answer: "" }),
    [field],
  );
  const filled = fillingOf(call).filled ?? initial;
  const [problems, setProblems] = useState<Problems>({});
  return {
    filled,
    problems,
    setProblems,
    set: (path, text, more) => {
      fill(call, { filled: { ...(fillingOf(call).filled ?? initial), ...more, [path]: text } });
      setProblems(({ [path]: _, ...others }: Problems) => others);
    },
  };
}

/** Move the focus to the first field of a form that has a problem, once the problems are drawn. */
export function focusProblem(form: HTMLFormElement): void {
  requestAnimationFrame(() => {
    const first = form.querySelector<HTMLElement>("[aria-invalid=true], .error");
    first?.focus({ preventScroll: true });
    // The list around the form measures its rows anew meanwhile, and keeps its place.
    requestAnimationFrame(() => first?.scrollIntoView({ block: "center" }));
  });
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

interface FieldProps {
  field: Field;
  above: string;
  inputs: Inputs;
}

export function OneField({ field, above, inputs }: FieldProps) {
  const path = pathOf(above, field);
  if (isFixed(field)) return <ProblemOf path={path} problems={inputs.problems} />;
  const optional = !field.required && <span class="quiet"> (optional)</span>;
  if (["object", "rows", "map", "union"].includes(field.kind)) {
    return (
      <fieldset class={above ? "nested" : "fields"}>
        {above && (
          <legend>
            {field.label}
            {optional}
          </legend>
        )}
        {field.help && <p class="quiet">{field.help}</p>}
        {field.kind === "object" ? (
          field.fields.map((one) => <OneField key={one.name} field={one} above={path} inputs={inputs} />)
        ) : field.kind === "union" ? (
          <Kinds field={field} path={path} inputs={inputs} />
        ) : (
          <Entries field={field} path={path} inputs={inputs} />
        )}
        <ProblemOf path={path} problems={inputs.problems} />
      </fieldset>
    );
  }
  const format = FORMATS[String(field.rules["format"])];
  return (
    <div class="field">
      <label>
        <span>
          {field.label}
          {optional}
          {field.kind === "list" && <span class="quiet"> one on each line</span>}
          {field.kind === "json" && <span class="quiet"> JSON</span>}
          {format && <span class="quiet"> {format}</span>}
        </span>
        <Entry field={field} path={path} inputs={inputs} />
      </label>
      {field.help && <p class="quiet">{field.help}</p>}
      <ProblemOf path={path} problems={inputs.problems} />
    </div>
  );
}

interface PartProps {
  field: Field;
  path: string;
  inputs: Inputs;
}

/** A choice among kinds of values, and the field of the one that is chosen. */
function Kinds({ field, path, inputs }: PartProps) {
  const text = inputs.filled[path] ?? "";
  const chosen = chosenOf(field, text);
  const choose = (next: string) => {
    const option = chosenOf(field, next);
    const known = option && pathOf(path, option) in inputs.filled;
    inputs.set(path, next, option && !known ? initialOf(option, path) : {});
  };
  return (
    <>
      <select
        aria-label={`Kind of ${field.label}`}
        aria-invalid={path in inputs.problems}
        value={text}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        <option value="">{field.required && !field.nullable ? "" : "none"}</option>
        {field.fields.map((one) => (
          <option key={one.name} value={one.name}>
            {one.label}
          </option>
        ))}
      </select>
      {chosen?.kind === "object" ? (
        chosen.fields.map((one) => (
          <OneField key={`${text} ${one.name}`} field={one} above={pathOf(path, chosen)} inputs={inputs} />
        ))
      ) : (
        chosen && <OneField key={text} field={{ ...chosen, required: true }} above={path} inputs={inputs} />
      )}
    </>
  );
}

/** The entries of a list, or the names and values of a map: each can be removed, and others added. */
function Entries({ field, path, inputs }: PartProps) {
  const ids = entriesOf(inputs.filled[path]);
  const one = field.kind === "map" ? "entry" : field.label.replace(/s$/, "");
  const add = () => {
    const id = Object.keys(inputs.filled).length; // never that of an entry which was removed
    const fresh = { ...initialOf(entryOf(field, id), path), [namePath(`${path}.${id}`)]: "" };
    inputs.set(path, JSON.stringify([...ids, id]), fresh);
  };
  return (
    <>
      {ids.map((id, at) => {
        const name = namePath(`${path}.${id}`);
        const entry = { ...entryOf(field, id), label: field.kind === "map" ? "Value" : `${one} ${at + 1}` };
        return (
          <div class="entry-row" key={id}>
            {field.kind === "map" && (
              <div class="field">
                <label>
                  <span>Name</span>
                  <Entry field={{ ...entry, kind: "string" }} path={name} inputs={inputs} />
                </label>
                <ProblemOf path={name} problems={inputs.problems} />
              </div>
            )}
            <OneField field={entry} above={path} inputs={inputs} />
            <button
              type="button"
              class="link"
              aria-label={`Remove ${one} ${at + 1}`}
              onClick={() => inputs.set(path, JSON.stringify(ids.filter((other) => other !== id)))}
            >
              Remove
            </button>
          </div>
        );
      })}
      <button type="button" onClick={add}>
        Add {one}
      </button>
    </>
  );
}

function Entry({ field, path, inputs }: PartProps) {
  const text = inputs.filled[path] ?? "";
  const [isLong] = useState(field.kind === "string" && (text.length > 60 || text.includes("\n")));
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
  const isJson = field.kind === "json";
  if (field.kind === "list" || isJson || isLong) {
    const rows = Math.min(10, Math.max(isJson ? 1 : 2, text.split("\n").length));
    return <textarea class={isJson ? "json" : ""} rows={rows} spellcheck={false} {...shared} />;
  }
  const mode = field.kind === "integer" ? "numeric" : field.kind === "number" ? "decimal" : "text";
  return <input inputMode={mode} autocomplete="off" {...shared} />;
}

export function ProblemOf({ path, problems }: { path: string; problems: Problems }) {
  return path in problems ? (
    <p class="error" role="alert" tabIndex={-1}>
      {problems[path]}
    </p>
  ) : null;
}

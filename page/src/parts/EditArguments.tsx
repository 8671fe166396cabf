// The arguments of a call that waits, to be edited before they are approved.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { keyOf } from "../actions";
import { tools } from "../appfacts";
import { fill, fillingOf } from "../drafts";
import { keeps, problemsOf, valueOf } from "../filled";
import { exactJson, pieces } from "../hidden";
import { readJson } from "../numbers";
import { fieldOf, isObject } from "../schema";
import type { Problems } from "../schema";
import type { Approval, Json, JsonObject } from "../types";
import { focusProblem, OneField, useInputs } from "./Fields";

interface Props {
  approval: Approval;
  busy: boolean;
  /** Whether a click has just opened it; it then takes the focus. */
  isFresh: boolean;
  decide: (decision: JsonObject) => Promise<string>;
}

/** The arguments as a form by the tool's schema; as JSON if there is none, or letters hide in them. */
export function EditArguments({ approval, busy, isFresh, decide }: Props) {
  const call = keyOf(approval);
  const schema = tools.value.get(approval.tool)?.parameters;
  const field = useMemo(() => (schema ? { ...fieldOf(schema), label: "Arguments" } : undefined), [schema]);
  const fits = useMemo(() => field?.kind === "object" && keeps(field, approval.args) && !hides(approval.args), [field]);
  const { json = exactJson(approval.args), asJson: chosen } = fillingOf(call);
  const asJson = !fits || chosen === true;
  const inputs = useInputs(fits ? field : undefined, call, approval.args);
  const [wrong, setWrong] = useState("");
  const form = useRef<HTMLFormElement>(null);
  // Before the next key: focus that moves later would take a key meant for another field.
  useLayoutEffect(() => {
    if (isFresh) form.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  }, []);
  const tell = (problems: Problems) => {
    const { answer = "", ...others } = problems;
    setWrong(answer);
    inputs.setProblems(others);
    if (Object.keys(problems).length) focusProblem(form.current!);
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const problems: Problems = {};
    const shown = asJson ? undefined : field;
    const args = shown
      ? (valueOf(shown, inputs.filled, problems) ?? {})
      : argsOf(json, problems);
    tell(problems);
    if (Object.keys(problems).length) return;
    const told = await decide({ action: "edit", args: args as JsonObject });
    if (told && form.current) tell(shown ? problemsOf(told, shown, inputs.filled) : { answer: told });
  };
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      {asJson || !field ? (
        <textarea
          class="json"
          rows={8}
          aria-label="Arguments as JSON"
          spellcheck={false}
          disabled={busy}
          value={json}
          onInput={(event) => fill(call, { json: event.currentTarget.value })}
        />
      ) : (
        <fieldset class="fields" disabled={busy}>
          <OneField field={field} above="" inputs={inputs} />
        </fieldset>
      )}
      {wrong && (
        <p class="error" role="alert" tabIndex={-1}>
          {wrong}
        </p>
      )}
      <p class="buttons">
        <button class="primary" disabled={busy}>
          Approve with these
        </button>
        <button type="button" disabled={busy} onClick={() => fill(call, { doing: "", filled: undefined, json: undefined, asJson: undefined })}>
          Back
        </button>
        {fits && (
          <button type="button" class="link" disabled={busy} onClick={() => fill(call, { asJson: !asJson })}>
            {asJson ? "Edit as a form" : "Edit as JSON"}
          </button>
        )}
      </p>
    </form>
  );
}

function argsOf(text: string, problems: Problems): Json {
  try {
    const args = readJson(text);
    if (isObject(args)) return args;
    problems["answer"] = "Arguments are a JSON object.";
  } catch (error) {
    problems["answer"] = (error as Error).message;
  }
  return null;
}

/** Whether arguments hold characters that a field of a form would not show; breaks of lines are no secret. */
const hides = (args: JsonObject): boolean =>
  pieces(JSON.stringify(args)).some((piece) => piece.hidden);

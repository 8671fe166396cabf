// A call that waits for a person: its arguments, and Approve, Edit arguments, Reject.

import { useMemo, useState } from "preact/hooks";
import * as act from "../actions";
import { tools } from "../appfacts";
import { exactJson, pieces, revealed } from "../hidden";
import { fieldOf, isObject, valueOf } from "../schema";
import type { Problems } from "../schema";
import * as s from "../state";
import type { Approval, Json, JsonObject } from "../types";
import { Exact } from "./Exact";
import { focusProblem, OneField, useInputs } from "./Fields";

const LONG = 400; // characters of a value whose length is said

type Doing = "" | "edit" | "reject";
type Decide = (decision: JsonObject) => void;

export function Decision({ approval, done }: { approval: Approval; done?: boolean }) {
  const [doing, setDoing] = useState<Doing>("");
  const [wrong, setWrong] = useState("");
  const outcome = s.outcomes.value[act.keyOf(approval)];
  const busy = s.answering.value.has(act.keyOf(approval));
  const over = done || outcome !== undefined;
  const decide: Decide = (decision) =>
    void act.answer(approval, decision).then((told) => setWrong(told ?? ""));
  const back = () => {
    setDoing("");
    setWrong("");
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
      {!over && !doing && (
        <p class="buttons">
          <button class="primary" disabled={busy} onClick={() => decide({ action: "approve" })}>
            Approve
          </button>
          <button disabled={busy} onClick={() => setDoing("edit")}>
            Edit arguments
          </button>
          <button class="danger" disabled={busy} onClick={() => decide({ action: "reject" })}>
            Reject
          </button>
          <button class="link" disabled={busy} onClick={() => setDoing("reject")}>
            Reject with a reason
          </button>
        </p>
      )}
      {wrong && !over && (
        <p class="error" role="alert">
          {wrong}
        </p>
      )}
      {doing === "edit" && !over && <Edit approval={approval} busy={busy} decide={decide} back={back} />}
      {doing === "reject" && !over && <Reason busy={busy} decide={decide} back={back} />}
    </div>
  );
}

interface FormProps {
  busy: boolean;
  decide: Decide;
  back: () => void;
}

function Reason({ busy, decide, back }: FormProps) {
  const [reason, setReason] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    decide({ action: "reject", ...(reason.trim() ? { reason } : {}) });
  };
  return (
    <form onSubmit={submit}>
      <label class="field">
        <span>Why? The model reads it.</span>
        <textarea
          rows={2}
          ref={focus}
          disabled={busy}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      <p class="buttons">
        <button class="danger" disabled={busy}>
          Reject with this reason
        </button>
        <button type="button" disabled={busy} onClick={back}>
          Back
        </button>
      </p>
    </form>
  );
}

const focus = (field: HTMLTextAreaElement | null) => field?.focus();

/** The arguments as a form by the tool's schema; as JSON if there is none, or letters hide in them. */
function Edit({ approval, busy, decide, back }: FormProps & { approval: Approval }) {
  const schema = tools.value.get(approval.tool)?.parameters;
  const field = useMemo(() => (schema ? { ...fieldOf(schema), label: "Arguments" } : undefined), [schema]);
  const fits = field?.kind === "object" && isWhole(approval.args, field.fields.map((one) => one.name));
  const [asJson, setAsJson] = useState(!fits || hides(approval.args));
  const inputs = useInputs(field, approval.args);
  const [wrong, setWrong] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    if (!asJson && field) {
      const problems: Problems = {};
      const value = valueOf({ ...field, required: true }, inputs.filled, problems);
      inputs.setProblems(problems);
      if (Object.keys(problems).length) focusProblem(form, problems);
      else decide({ action: "edit", args: (value ?? {}) as JsonObject });
      return;
    }
    try {
      const args = JSON.parse(String(new FormData(form).get("args") ?? "")) as Json;
      if (!isObject(args)) throw new Error("Arguments are a JSON object.");
      setWrong("");
      decide({ action: "edit", args });
    } catch (error) {
      setWrong((error as Error).message);
    }
  };
  return (
    <form onSubmit={submit} noValidate>
      {asJson || !field ? (
        <textarea name="args" rows={6} aria-label="Arguments as JSON" spellcheck={false} disabled={busy}>
          {exactJson(approval.args)}
        </textarea>
      ) : (
        <fieldset class="fields" disabled={busy}>
          <OneField field={field} above="" inputs={inputs} />
        </fieldset>
      )}
      {wrong && (
        <p class="error" role="alert">
          {wrong}
        </p>
      )}
      <p class="buttons">
        <button class="primary" disabled={busy}>
          Approve with these
        </button>
        <button type="button" disabled={busy} onClick={back}>
          Back
        </button>
        {fits && !hides(approval.args) && (
          <button type="button" class="link" disabled={busy} onClick={() => setAsJson(!asJson)}>
            {asJson ? "Edit as a form" : "Edit as JSON"}
          </button>
        )}
      </p>
    </form>
  );
}

/** Whether a form would keep all arguments: those that the schema does not know would be lost. */
const isWhole = (args: JsonObject, known: string[]): boolean =>
  Object.keys(args).every((key) => known.includes(key));

/** Whether arguments hold characters that a field of a form would not show; breaks of lines are no secret. */
const hides = (args: JsonObject): boolean =>
  pieces(JSON.stringify(args)).some((piece) => piece.hidden);

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

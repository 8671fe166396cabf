// A call that waits for a person: its arguments, and Approve, Edit arguments, Reject.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as act from "../actions";
import { tools } from "../appfacts";
import { fill, fillingOf } from "../drafts";
import { keeps, problemsOf, valueOf } from "../filled";
import { count } from "../format";
import { exactJson, pieces, revealed } from "../hidden";
import { isExact, readJson } from "../numbers";
import { fieldOf, isObject } from "../schema";
import type { Problems } from "../schema";
import * as s from "../state";
import type { Approval, Json, JsonObject } from "../types";
import { Exact } from "./Exact";
import { focusProblem, OneField, useInputs } from "./Fields";

const LONG = 700; // characters of a value whose middle is folded
const SHOWN = 250; // of them that are shown at its beginning, and at its end

type Decide = (decision: JsonObject) => Promise<string | undefined>;

export function Decision({ approval, done }: { approval: Approval; done?: boolean }) {
  const key = act.keyOf(approval);
  const { doing } = fillingOf(key);
  const [isFresh, setFresh] = useState(false); // only what a click opened takes the focus
  const [wrong, setWrong] = useState("");
  const outcome = act.outcomeOf(approval);
  const busy = s.answering.value.has(key);
  const over = done || outcome !== undefined;
  const [whole, setWhole] = useState(false);
  const values = Object.entries(approval.args).map(([key, value]) => [key, textOf(value)] as const);
  const rounded = rounds(approval.args);
  const long = values.filter(([, text]) => text.length > LONG);
  const decide: Decide = (decision) => {
    setWrong("");
    return act.answer(approval, decision);
  };
  const settle = (decision: JsonObject) => void decide(decision).then((told) => setWrong(told ?? ""));
  const begin = (doing: "edit" | "reject") => {
    setFresh(true);
    fill(key, { doing });
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
        {values.map(([key, text]) => (
          <div key={key}>
            <dt>
              <Exact text={key} />
            </dt>
            <dd>
              <Value text={text} whole={whole} />
            </dd>
          </div>
        ))}
      </dl>
      {long.length > 0 && (
        <p class="folded">
          {!whole && (
            <span>
              {long.map(([key, text]) => `The middle of ${revealed(key)} is hidden: ${count(text.length - 2 * SHOWN)} of ${count(text.length)} characters.`).join(" ")}{" "}
            </span>
          )}
          <button class="link" aria-expanded={whole} onClick={() => setWhole(!whole)}>
            {whole ? "Show less" : "Show everything"}
          </button>
        </p>
      )}
      {rounded && (
        <p class="folded">A number here is larger than this page can show exactly, so the arguments cannot be edited.</p>
      )}
      {outcome && <p class="note">{outcome}</p>}
      {!over && !doing && (
        <p class="buttons">
          <button class="primary" disabled={busy} onClick={() => settle({ action: "approve" })}>
            Approve
          </button>
          {!rounded && (
            <button disabled={busy} onClick={() => begin("edit")}>
              Edit arguments
            </button>
          )}
          <button class="danger" disabled={busy} onClick={() => settle({ action: "reject" })}>
            Reject
          </button>
          <button class="link" disabled={busy} onClick={() => begin("reject")}>
            Reject with a reason
          </button>
        </p>
      )}
      {wrong && !over && (
        <p class="error" role="alert">
          {wrong}
        </p>
      )}
      {doing === "edit" && !over && <Edit approval={approval} call={key} busy={busy} isFresh={isFresh} decide={decide} />}
      {doing === "reject" && !over && <Reason call={key} busy={busy} isFresh={isFresh} decide={settle} />}
    </div>
  );
}

interface FormProps {
  call: string;
  busy: boolean;
  isFresh: boolean;
}

function Reason({ call, busy, isFresh, decide }: FormProps & { decide: (decision: JsonObject) => void }) {
  const { reason = "" } = fillingOf(call);
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
          ref={isFresh ? focus : null}
          disabled={busy}
          value={reason}
          onInput={(event) => fill(call, { reason: event.currentTarget.value })}
        />
      </label>
      <p class="buttons">
        <button class="danger" disabled={busy}>
          Reject with this reason
        </button>
        <button type="button" disabled={busy} onClick={() => fill(call, { doing: "" })}>
          Back
        </button>
      </p>
    </form>
  );
}

const focus = (field: HTMLTextAreaElement | null) => field?.focus();

/** The arguments as a form by the tool's schema; as JSON if there is none, or letters hide in them. */
function Edit({ approval, call, busy, isFresh, decide }: FormProps & { approval: Approval; decide: Decide }) {
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

/** Whether a browser has rounded a number of a value when it was read. */
const rounds = (value: Json): boolean =>
  typeof value === "number"
    ? !isExact && Number.isInteger(value) && !Number.isSafeInteger(value)
    : typeof value === "object" && value !== null && Object.values(value).some(rounds);

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

/** A value, or its beginning and its end with the size of what is between. */
function Value({ text, whole }: { text: string; whole: boolean }) {
  if (whole || text.length <= LONG) return <Exact text={text} />;
  return (
    <>
      <Exact text={text.slice(0, SHOWN)} />
      <span class="gap">… {count(text.length - 2 * SHOWN)} characters hidden …</span>
      <Exact text={text.slice(-SHOWN)} />
    </>
  );
}

// A call that waits for a person: its arguments, and Approve, Edit arguments, Reject.

import { useState } from "preact/hooks";
import * as act from "../actions";
import { answer, outcomeOf } from "../answers";
import { fill, fillingOf } from "../drafts";
import { count } from "../format";
import { revealed } from "../hidden";
import { isExact } from "../numbers";
import * as s from "../state";
import type { Approval, Json, JsonObject } from "../types";
import { EditArguments } from "./EditArguments";
import { Exact } from "./Exact";

const LONG = 700; // characters of a value whose middle is folded
const SHOWN = 250; // of them that are shown at its beginning, and at its end

export function Decision({ approval, done }: { approval: Approval; done?: boolean }) {
  const key = act.keyOf(approval);
  const { doing } = fillingOf(key);
  const [isFresh, setFresh] = useState(false); // only what a click opened takes the focus
  const [wrong, setWrong] = useState("");
  const outcome = outcomeOf(approval);
  const busy = s.answering.value.has(key);
  const over = done || outcome !== undefined;
  const [whole, setWhole] = useState(false);
  const values = Object.entries(approval.args).map(([key, value]) => [key, textOf(value)] as const);
  const rounded = rounds(approval.args);
  const long = values.filter(([, text]) => text.length > LONG);
  const decide = async (decision: JsonObject): Promise<string> => {
    setWrong("");
    return (await answer(approval, decision)).wrong;
  };
  const settle = (decision: JsonObject) => void decide(decision).then(setWrong);
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
      {doing === "edit" && !over && <EditArguments approval={approval} busy={busy} isFresh={isFresh} decide={decide} />}
      {doing === "reject" && !over && <Reason call={key} busy={busy} isFresh={isFresh} decide={settle} />}
    </div>
  );
}

interface ReasonProps {
  call: string;
  busy: boolean;
  isFresh: boolean;
  decide: (decision: JsonObject) => void;
}

function Reason({ call, busy, isFresh, decide }: ReasonProps) {
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

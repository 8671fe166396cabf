// Everything that waits for a person, over all sessions.

import { useEffect, useState } from "preact/hooks";
import * as act from "../actions";
import { answer } from "../answers";
import { fill, fillingOf } from "../drafts";
import { day } from "../format";
import { enableNotices, noticesAllowed } from "../notices";
import * as s from "../state";
import type { Approval, JsonObject } from "../types";
import { Credential } from "./Credential";
import { Decision } from "./Decision";
import { Dialog } from "./Dialog";
import { Exact } from "./Exact";
import { Icon } from "./Icon";
import { Past, PastElsewhere } from "./Past";
import { Question } from "./Question";

export function Inbox() {
  useEffect(() => {
    s.settled.value = [];
    void act.refreshApprovals();
  }, []);
  const close = () => (s.dialog.value = "");
  return (
    <Dialog label="Waiting for you" close={close}>
      <header class="bar">
        <h2>Waiting for you</h2>
        <span class="quiet">{counts()}</span>
        <button class="icon" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {s.settled.value.map(({ one, text }) => (
        <p class="note" role="status" key={act.keyOf(one)}>
          <strong>
            <Exact text={one.kind === "input" ? one.asker || one.tool : one.tool} />
          </strong>{" "}
          {text}
        </p>
      ))}
      {s.approvals.value.length === 0 && <p class="quiet">Nothing waits.</p>}
      {s.approvals.value.map((one) => (
        <Waiting key={act.keyOf(one)} one={one} />
      ))}
      {!noticesAllowed.value && (
        <p>
          <button class="link" onClick={() => void enableNotices()}>
            Notify me when something waits and this page is in the background
          </button>
        </p>
      )}
      <Past />
      <PastElsewhere />
    </Dialog>
  );
}

const KINDS: [Approval["kind"], string, string][] = [
  ["approval", "approval", "approvals"],
  ["input", "question", "questions"],
  ["credential", "credential", "credentials"],
  ["result", "result", "results"],
];

/** How many calls of each kind wait, in words. */
function counts(): string {
  const many = (kind: Approval["kind"]) => s.approvals.value.filter((one) => one.kind === kind).length;
  return KINDS.map(([kind, one, more]) => [many(kind), many(kind) === 1 ? one : more] as const)
    .filter(([number]) => number > 0)
    .map(([number, word]) => `${number} ${word}`)
    .join(", ");
}

function Waiting({ one }: { one: Approval }) {
  const go = () => {
    s.dialog.value = "";
    void act.open({ app: s.app.value, user: one.userId, session: one.sessionId });
  };
  return (
    <div class="waiting">
      <p class="quiet where">
        <Exact text={one.userId} />
        <button class="link" title={one.sessionId} onClick={go}>
          <bdi>{s.titleOf(one.userId, one.sessionId)}</bdi>
        </button>
        {one.asker && one.kind !== "input" && <span>asked by {one.asker}</span>}
        {one.since && <span>since {day(one.since)}</span>}
      </p>
      {one.kind === "approval" ? (
        <Decision approval={one} />
      ) : one.kind === "input" ? (
        <Question approval={one} />
      ) : one.kind === "credential" ? (
        <Credential approval={one} />
      ) : (
        <Result one={one} />
      )}
    </div>
  );
}

function Result({ one }: { one: Approval }) {
  const [wrong, setWrong] = useState("");
  const key = act.keyOf(one);
  const busy = s.answering.value.has(key);
  const { result: text = "" } = fillingOf(key);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    let result: unknown = text;
    try {
      result = JSON.parse(text);
    } catch {
      // words are a result, too
    }
    const isObject = typeof result === "object" && result !== null && !Array.isArray(result);
    const given = (isObject ? result : { result }) as JsonObject;
    void answer(one, { action: "result", result: given }).then(({ wrong }) => setWrong(wrong));
  };
  return (
    <form class="decision" onSubmit={submit}>
      <p>
        <strong>
          <Exact text={one.tool} />
        </strong>{" "}
        waits for its result
      </p>
      <textarea
        rows={3}
        disabled={busy}
        aria-label="Result, words or JSON"
        value={text}
        onInput={(event) => fill(key, { result: event.currentTarget.value })}
      />
      {wrong && <p class="error">{wrong}</p>}
      <button class="primary" disabled={busy}>
        Answer
      </button>
    </form>
  );
}

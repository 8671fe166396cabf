// Everything that waits for a person, over all sessions.

import { useEffect } from "preact/hooks";
import * as act from "../actions";
import * as s from "../state";
import type { Approval, JsonObject } from "../types";
import { Decision } from "./Decision";
import { Dialog } from "./Dialog";

export function Inbox() {
  useEffect(() => void act.refreshApprovals(), []);
  const close = () => (s.showInbox.value = false);
  return (
    <Dialog label="Waiting for you" close={close}>
      <header class="bar">
        <h2>Waiting for you</h2>
        <button aria-label="Close" onClick={close}>
          ×
        </button>
      </header>
      {s.approvals.value.length === 0 && <p class="quiet">Nothing waits.</p>}
      {s.approvals.value.map((one) => (
        <Waiting key={`${one.sessionId} ${one.callId}`} one={one} />
      ))}
    </Dialog>
  );
}

function Waiting({ one }: { one: Approval }) {
  const go = () => {
    s.showInbox.value = false;
    void act.open({ app: s.app.value, user: one.userId, session: one.sessionId });
  };
  return (
    <div class="waiting">
      <p class="quiet">
        {one.userId} ·{" "}
        <button class="link" onClick={go}>
          {one.sessionId}
        </button>
      </p>
      {one.kind === "approval" ? <Decision approval={one} /> : <Result one={one} />}
    </div>
  );
}

function Result({ one }: { one: Approval }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.target as HTMLFormElement).get("result") ?? "");
    let result: unknown = text;
    try {
      result = JSON.parse(text);
    } catch {
      // words are a result, too
    }
    const isObject = typeof result === "object" && result !== null && !Array.isArray(result);
    const given = (isObject ? result : { result }) as JsonObject;
    void act.answer(one, { action: "result", result: given });
  };
  return (
    <form class="decision" onSubmit={submit}>
      <p>
        <strong>{one.tool}</strong> waits for {one.kind === "result" ? "its result" : "a credential"}
      </p>
      <textarea name="result" rows={3} aria-label="Result, words or JSON" />
      <button class="primary">Answer</button>
    </form>
  );
}

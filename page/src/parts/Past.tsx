// What was decided: in the open session, and what was approved in all sessions.

import { useMemo, useState } from "preact/hooks";
import { decisionsOf } from "../decisions";
import { openEffect, readApproved } from "../effects";
import { revealed } from "../hidden";
import * as s from "../state";
import type { EffectRecord } from "../wire";
import { Exact } from "./Exact";
import { when } from "./WhoDecided";

/** What was decided in the open session, by whom and when. */
export function Past() {
  const found = useMemo(() => decisionsOf(s.events.value), [s.events.value]);
  if (!found.length) return null;
  const user = s.session.value?.userId ?? "";
  return (
    <details class="decided">
      <summary>Decided in this session: {found.length}</summary>
      <ul>
        {found.map(({ one, about, outcome, approved }, index) => (
          <li key={index}>
            <button
              class="link"
              onClick={() => {
                s.dialog.value = "";
                s.screen.value = "session";
                s.selected.value = one.event.id;
              }}
            >
              #{one.number}
            </button>{" "}
            <Exact text={about.endsWith("?") ? about : `${about}:`} />{" "}
            <span class={approved ? "good" : "error inline"}>{revealed(outcome)}</span>{" "}
            <span class="quiet">
              by <Exact text={user} />, {when(one.event.timestamp)}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** What the ledger tells of approvals in all sessions; it is read when the list is opened. */
export function PastElsewhere() {
  const [found, setFound] = useState<EffectRecord[] | undefined>(undefined);
  const [asked, setAsked] = useState(false);
  const look = (open: boolean) => {
    if (!open || asked) return;
    setAsked(true);
    void readApproved().then(setFound);
  };
  return (
    <details class="decided" onToggle={(event) => look(event.currentTarget.open)}>
      <summary>Approved calls that ran, in all sessions</summary>
      {found?.length === 0 && <p class="quiet">None among the last 100 effects.</p>}
      <ul>
        {found?.map((one) => (
          <li key={`${one.sessionId} ${one.number}`}>
            <button
              class="link"
              onClick={() => {
                s.dialog.value = "";
                void openEffect(one);
              }}
            >
              <Exact text={one.tool} />
            </button>
            : <span class={one.outcome === "done" ? "good" : "error inline"}>{one.outcome}</span>{" "}
            <span class="quiet">
              approved by <Exact text={one.approvedBy} />, {when(one.finished)}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

// Where policies, guardrails and limits acted in the open session.

import { useMemo } from "preact/hooks";
import { clock } from "../format";
import { actsOf } from "../rules";
import type { Act } from "../rules";
import * as s from "../state";
import { Exact } from "./Exact";
import { Tag } from "./Tag";

export function RuleActs() {
  const found = useMemo(() => actsOf(s.events.value), [s.events.value]);
  return (
    <>
      <h2>Policies, guardrails and limits</h2>
      {found.length === 0 ? (
        <p class="quiet">None acted in the events that are loaded.</p>
      ) : (
        <ul class="rule-acts" aria-label="Where rules acted">
          {found.map((one, at) => (
            <li key={at}>
              <OneAct one={one} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function OneAct({ one }: { one: Act }) {
  const bad = one.did === "denied" || one.did === "stopped";
  const kind = bad ? "failed" : one.did === "asked" ? "waits" : "done";
  const choose = () => {
    if (s.view.value !== "timeline") s.view.value = "chat";
    s.selected.value = one.one.event.id;
  };
  return (
    <>
      <Tag kind={kind} icon={bad ? "stop" : one.did === "asked" ? "wait" : "check"}>
        {one.did}
      </Tag>{" "}
      <Exact text={one.about} /> <span class="quiet">by {one.kind}</span> <Exact text={one.rule} />
      {one.detail && (
        <>
          : <Exact text={one.detail} />
        </>
      )}{" "}
      <button class="link" onClick={choose}>
        #{one.one.number}
      </button>{" "}
      <span class="quiet">{clock(one.one.event.timestamp)}</span>
    </>
  );
}

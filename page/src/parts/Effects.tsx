// What tools did, from the effects ledger: of the open session, or of all sessions, with filters.

import { useEffect, useState } from "preact/hooks";
import { place } from "../actions";
import { filters, filtersNow, openEffect, readEffects, RESOLVED } from "../effects";
import type { Filters } from "../effects";
import { clock, day, duration } from "../format";
import { nodeName } from "../nesting";
import * as s from "../state";
import type { EffectRecord } from "../wire";
import { Check } from "./Check";
import { Exact } from "./Exact";
import { RuleActs } from "./RuleActs";
import { ScreenBar } from "./ScreenBar";
import { Tag } from "./Tag";
import type { TagKind } from "./Tag";
import type { IconName } from "./Icon";

export function AllEffects() {
  return (
    <>
      <ScreenBar title={`What the tools of ${s.app.value} did`} />
      <section class="view evaluation" aria-label="Effects of all sessions" tabIndex={0}>
        <div class="sheet">
          <Effects everywhere />
        </div>
      </section>
    </>
  );
}

export function SessionEffects() {
  return (
    <div class="evaluation effects-view">
      <div class="sheet">
        <Effects />
        <RuleActs />
      </div>
    </div>
  );
}

interface Found {
  effects: EffectRecord[];
  next: string | undefined;
  busy: boolean;
  failed: string;
}

const NONE: Found = { effects: [], next: undefined, busy: true, failed: "" };

function useEffects(everywhere: boolean, asked: Filters): [Found, () => void] {
  const [found, setFound] = useState<Found>(NONE);
  const where = everywhere ? undefined : place();
  const load = (token: string | undefined, before: EffectRecord[], current: () => boolean) => {
    setFound((old) => ({ ...old, busy: true, failed: "" }));
    readEffects(where, asked, token).then(
      (page) =>
        current() &&
        setFound({ effects: [...before, ...page.effects], next: page.nextPageToken, busy: false, failed: "" }),
      (error: unknown) => current() && setFound({ ...NONE, busy: false, failed: (error as Error).message }),
    );
  };
  const stamp = everywhere ? s.app.value : `${where?.session} ${s.running.value}`;
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => load(undefined, [], () => current), 100); // a person may still type
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [stamp, JSON.stringify(asked)]);
  return [found, () => !found.busy && load(found.next, found.effects, () => true)];
}

function Effects({ everywhere = false }: { everywhere?: boolean }) {
  const now = filtersNow();
  const [found, more] = useEffects(everywhere, now);
  const filtered = Object.values(now).some(Boolean);
  return (
    <>
      <FilterRow />
      {found.failed && (
        <p class="error" role="alert">
          {found.failed}
        </p>
      )}
      {!found.busy && !found.failed && found.effects.length === 0 && (
        <p class="quiet">{filtered ? "No effect fits the filters." : "No tool has run yet, or the store keeps no ledger."}</p>
      )}
      {found.effects.length > 0 && (
        <div class="wide">
          <table class="ledger" aria-label="Effects">
            <thead>
              <tr>
                <th scope="col">Tool</th>
                <th scope="col">Outcome</th>
                <th scope="col">Who</th>
                <th scope="col">Finished</th>
                <th scope="col">Took</th>
                {everywhere && <th scope="col">Session</th>}
              </tr>
            </thead>
            <tbody>
              {found.effects.map((one) => (
                <Row key={`${one.userId} ${one.sessionId} ${one.number}`} one={one} everywhere={everywhere} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found.next && (
        <button disabled={found.busy} onClick={more}>
          More
        </button>
      )}
    </>
  );
}

function FilterRow() {
  return (
    <div class="row wraps" role="group" aria-label="Filters">
      <label>
        Tool{" "}
        <input value={filters.tool.value} autocomplete="off" onInput={(e) => (filters.tool.value = e.currentTarget.value)} />
      </label>
      <label>
        Since{" "}
        <select value={filters.hours.value} onChange={(e) => (filters.hours.value = e.currentTarget.value)}>
          <option value="">the beginning</option>
          <option value="1">an hour ago</option>
          <option value="24">a day ago</option>
          <option value="168">a week ago</option>
        </select>
      </label>
      <Check flag={filters.inDoubt}>in doubt</Check>
    </div>
  );
}

const OUTCOMES: { [outcome: string]: [TagKind, IconName] } = {
  done: ["done", "check"],
  asked: ["waits", "wait"],
  failed: ["failed", "alert"],
  unknown: ["waits", "wait"],
  "not run": ["", "stop"],
};

function Row({ one, everywhere }: { one: EffectRecord; everywhere: boolean }) {
  const [kind, icon] = OUTCOMES[one.outcome] ?? ["", "call"];
  const date = day(one.finished);
  if (one.damaged) {
    return (
      <tr>
        <td colSpan={everywhere ? 6 : 5} class="error">
          Row {one.number} of session {one.sessionId} is damaged: {one.damaged}
        </td>
      </tr>
    );
  }
  return (
    <tr>
      <th scope="row">
        <button class="link" title={`Call ${one.callId}, key ${one.key}`} onClick={() => void openEffect(one)}>
          <Exact text={one.tool} />
        </button>
        <div class="quiet">
          {one.source} of {one.agent.split("/").map(nodeName).join(" / ")}
        </div>
      </th>
      <td>
        <Tag kind={kind} icon={icon}>
          {one.outcome}
        </Tag>
        {one.attempts > 1 && <div class="quiet">{one.attempts} attempts</div>}
        {one.inDoubt && <div class="doubt">in doubt{one.resolution ? `: ${RESOLVED[one.resolution] ?? one.resolution}` : ""}</div>}
      </td>
      <td>
        {one.approvedBy ? (
          <>
            approved by <Exact text={one.approvedBy} />
          </>
        ) : (
          <span class="quiet">no approval needed</span>
        )}
        <div class="quiet">
          asked by <Exact text={one.askedBy} />
        </div>
      </td>
      <td>{date.includes(":") ? clock(one.finished) : `${date} ${clock(one.finished)}`}</td>
      <td>{one.begun ? duration(Math.max(0, one.finished - one.begun)) : "–"}</td>
      {everywhere && <td title={one.sessionId}>{s.titleOf(one.userId, one.sessionId)}</td>}
    </tr>
  );
}

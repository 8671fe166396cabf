// The session's state as a tree: as it is now, and what changed since it began.

import { useEffect, useState } from "preact/hooks";
import { place } from "../actions";
import { api } from "../api";
import { compare } from "../jsondiff";
import { flag } from "../settings";
import * as s from "../state";
import type { JsonObject, StateAt } from "../types";
import { Changes } from "./Changes";
import { Check } from "./Check";

const SCOPES: [string, string][] = [
  ["", "This session"],
  ["user:", "All sessions of this user"],
  ["app:", "All sessions of this app"],
];

const sinceBegin = flag("since-begin", s.sees("state"));

export function StateView() {
  const since = sinceBegin.value === "yes";
  const state = s.session.value?.state ?? {};
  const now = without(state);
  const around = useStateAt(undefined, since ? JSON.stringify(now) : "");
  return (
    <div class="state-view">
      <div class="sheet">
        <p>
          <Check flag={sinceBegin}>Show what changed since the session began</Check>
        </p>
        {since && !around && <p class="quiet">Loading the state at the beginning…</p>}
        {since && around && !around.initialKnown && (
          <p class="note">
            This store does not keep the state at creation: keys that events wrote count as missing then.
          </p>
        )}
        {!Object.keys(now).length && !since && (
          <p class="quiet">The state is empty. Tools and callbacks write to it, and <code>output_key</code> does.</p>
        )}
        {SCOPES.map(([prefix, title]) => {
          const mine = scoped(now, prefix);
          const before = since && around ? scoped(without(around.initial), prefix) : mine;
          if (!Object.keys(mine).length && !Object.keys(before).length) return null;
          const isShared = prefix !== "";
          return (
            <section key={prefix}>
              <h2>{title}</h2>
              {since && isShared ? (
                <p class="quiet">Shared state has no beginning in this session; it is shown as it is now.</p>
              ) : null}
              <Changes
                label={`State, ${title.toLowerCase()}`}
                change={compare(isShared ? mine : before, mine)}
                whole
              />
            </section>
          );
        })}
      </div>
    </div>
  );
}

/** The state without what the page itself keeps there. */
const without = ({ __session_metadata__: _, ...state }: JsonObject): JsonObject => state;

const scoped = (state: JsonObject, prefix: string): JsonObject =>
  Object.fromEntries(
    Object.entries(state)
      .filter(([key]) =>
        prefix ? key.startsWith(prefix) : !SCOPES.some(([one]) => one && key.startsWith(one)),
      )
      .sort(([a], [b]) => a.localeCompare(b)),
  );

/** Load the state around an event, or around the last one; again when `version` changes. */
export function useStateAt(event: string | undefined, version: string): StateAt | undefined {
  const [found, setFound] = useState<StateAt | undefined>(undefined);
  useEffect(() => {
    let current = true;
    setFound(undefined);
    const where = place();
    if (where && version) {
      api.stateAt(where, event).then(
        (state) => current && setFound(state),
        () => undefined, // what the page knows itself is shown
      );
    }
    return () => {
      current = false;
    };
  }, [s.session.value?.id, event, version]);
  return found;
}

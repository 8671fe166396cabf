// The sessions that begin as this one did, as a tree: where they part, and how long each one is.

import { useEffect, useState } from "preact/hooks";
import * as act from "../actions";
import { api } from "../api";
import { age, oneLine } from "../format";
import * as s from "../state";
import type { ForkBranch } from "../types";

const LONGEST = 60; // characters of a title

/** Load the sessions that begin as the open one does, or why they cannot be listed. */
export function useForks(): [ForkBranch | undefined, string] {
  const [tree, setTree] = useState<ForkBranch | undefined>(undefined);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    let current = true;
    const where = act.place();
    setWrong("");
    if (where) {
      api.forks(where).then(
        (found) => current && setTree(found),
        (error: Error) => current && setWrong(error.message),
      );
    }
    return () => {
      current = false;
    };
  }, [s.session.value?.id, JSON.stringify(s.sessions.value), s.running.value]);
  return [tree, wrong];
}

interface Props {
  tree: ForkBranch | undefined;
  wrong: string;
  compare: (session: string) => void;
}

export function ForkTree({ tree, wrong, compare }: Props) {
  if (wrong) return <p class="quiet">The forks cannot be listed: {wrong}</p>;
  if (!tree || countSessions(tree) < 2) {
    return (
      <p class="quiet compare-note">
        No fork of this session yet: fork it from an event's menu, or use <em>Retry</em> beside an event.
      </p>
    );
  }
  return (
    <details class="forks" open>
      <summary>Forks: {countSessions(tree)} sessions that begin alike</summary>
      <Branch branch={tree} compare={compare} />
    </details>
  );
}

/** The title of a session as the list shows it, or as far as the server told. */
function titleOf(one: { id: string; title?: string }): string {
  const listed = s.sessions.value.find((session) => session.id === one.id);
  return oneLine(listed ? s.title(listed) : one.title || one.id, LONGEST);
}

const countSessions = (branch: ForkBranch): number =>
  branch.sessions.length + branch.branches.reduce((sum, one) => sum + countSessions(one), 0);

function Branch({ branch, compare }: { branch: ForkBranch; compare: (session: string) => void }) {
  return (
    <ul>
      <li>
        <span class="quiet">
          {branch.last === 0
            ? "no events"
            : branch.first === branch.last
              ? `event ${branch.first}`
              : `events ${branch.first} to ${branch.last}`}
        </span>{" "}
        {branch.sessions.map((one) => (
          <span key={one.id} class="fork">
            {one.id === s.session.value?.id ? (
              <strong aria-current="true">{titleOf(one)}</strong>
            ) : (
              <>
                <button
                  class="link"
                  onClick={() => void act.open({ app: s.app.value, user: one.userId, session: one.id })}
                >
                  {titleOf(one)}
                </button>{" "}
                <button
                  class="link"
                  aria-label={`Compare to ${titleOf(one)} ${s.tailOf(one.id)}`}
                  onClick={() => compare(one.id)}
                >
                  compare
                </button>
              </>
            )}{" "}
            <span class="quiet" title={one.id}>
              {s.tailOf(one.id)} {age(one.lastUpdateTime)}
            </span>
          </span>
        ))}
        {branch.branches.map((one, index) => (
          <Branch key={index} branch={one} compare={compare} />
        ))}
      </li>
    </ul>
  );
}

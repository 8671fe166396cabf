// The finder (Ctrl+K): one field for actions, agents, sessions and everything that was said.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { age } from "../format";
import { clearFinder, filtersNow, findHere, findSessions, query } from "../finding";
import type { Filters, Found } from "../finding";
import { straight } from "../hidden";
import * as s from "../state";
import { Dialog } from "./Dialog";
import { FinderFilters } from "./FinderFilters";
import { Icon } from "./Icon";
import type { IconName } from "./Icon";
import { StateMark } from "./StateMark";

const PAUSE = 120; // milliseconds after the last key until the server is asked
const ICONS: { [kind in Found["kind"]]: IconName } = {
  action: "call",
  agent: "bot",
  session: "answer",
  event: "result",
};

export function Finder() {
  const text = query.value;
  const stamp = JSON.stringify(filtersNow());
  const filters = useMemo(filtersNow, [stamp]);
  const [at, setAt] = useState(0);
  const { found, busy, unindexed, failed } = useSessions(text, filters);
  const here = useMemo(() => findHere(text), [text, s.apps.value, s.app.value]);
  const filtered = Object.values(filters).some(Boolean);
  const all = filtered ? found : [...here, ...found];
  const list = useRef<HTMLDivElement>(null);
  const close = () => (s.dialog.value = "");
  const chosen = Math.min(at, all.length - 1);
  useEffect(() => setAt(0), [text, filters]);
  useEffect(() => clearFinder, []);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const take = (one: Found | undefined) => {
    if (!one) return;
    close();
    one.go();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && all.length) {
      event.preventDefault();
      setAt((chosen + step + all.length) % all.length);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      take(all[chosen]);
    }
  };
  return (
    <Dialog label="Find" close={close}>
      <div class="finder">
        <div class="finder-field">
          <Icon name="search" />
          <input
            type="text"
            role="combobox"
            aria-expanded="true"
            aria-controls="found"
            aria-activedescendant={all[chosen] ? `found-${chosen}` : undefined}
            aria-label="Find sessions, events, agents and actions"
            placeholder={`Search everything said to ${s.app.value || "an agent"}, or type an action`}
            value={text}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => (query.value = event.currentTarget.value)}
            onKeyDown={onKey}
          />
          <kbd>Esc</kbd>
        </div>
        <FinderFilters />
        <div class="found" id="found" role="listbox" aria-label="Found" ref={list} tabIndex={-1}>
          {all.map((one, index) => (
            <div
              key={one.key}
              id={`found-${index}`}
              role="option"
              aria-selected={index === chosen}
              class={`hit ${one.kind}`}
              onMouseMove={() => index !== chosen && setAt(index)}
              onClick={() => take(one)}
            >
              <Icon name={ICONS[one.kind]} />
              <span class="grow hit-text">{one.hit ? <Snippet hit={one.hit} /> : straight(one.text)}</span>
              {one.session && <StateMark state={one.session.state} />}
              <span class="quiet">{one.session ? age(one.session.lastUpdateTime) : one.note}</span>
            </div>
          ))}
        </div>
        <p class="quiet finder-end" role="status">
          {failed || (busy ? "Searching…" : all.length ? "" : "Nothing was found.")}
          {unindexed > 0 && ` ${unindexed}${unindexed >= 1000 ? " or more" : ""} sessions are being indexed; search again soon.`}
        </p>
      </div>
    </Dialog>
  );
}

function Snippet({ hit }: { hit: NonNullable<Found["hit"]> }) {
  const letters = Array.from(hit.snippet, straight); // the server counts characters, not UTF-16 units
  return (
    <>
      {letters.slice(0, hit.start).join("")}
      <mark>{letters.slice(hit.start, hit.end).join("")}</mark>
      {letters.slice(hit.end).join("")}
    </>
  );
}

interface Answer {
  found: Found[];
  unindexed: number;
  busy: boolean;
  failed: string;
}

/** Ask the server while a person types; an answer that comes late is left out. */
function useSessions(text: string, filters: Filters): Answer {
  const [answer, setAnswer] = useState<Answer>({ found: [], unindexed: 0, busy: true, failed: "" });
  useEffect(() => {
    const stop = new AbortController();
    setAnswer((before) => ({ ...before, busy: true }));
    const timer = setTimeout(
      () =>
        findSessions(text, filters, stop.signal).then(
          (found) => setAnswer({ ...found, busy: false, failed: "" }),
          (error: unknown) => {
            if (stop.signal.aborted) return;
            const failed = error instanceof Error ? error.message : String(error);
            setAnswer({ found: [], unindexed: 0, busy: false, failed });
          },
        ),
      PAUSE,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, filters]);
  return answer;
}

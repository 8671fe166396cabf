// Apps, users and sessions: choose, search, rename, import, export, delete.

import { useRef, useState } from "preact/hooks";
import * as act from "../actions";
import { day } from "../format";
import * as s from "../state";
import type { Summary } from "../types";
import { Menu } from "./Menu";

const THEMES = { auto: "dark", dark: "light", light: "auto" } as const;

export function Sidebar() {
  const file = useRef<HTMLInputElement>(null);
  const timer = useRef<number | undefined>(undefined);
  const look = (text: string) => {
    s.search.value = text;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void act.listSessions(), 200);
  };
  const take = (event: Event) => {
    const chosen = (event.target as HTMLInputElement).files?.[0];
    if (chosen) void act.importSession(chosen);
  };
  return (
    <aside class="side" aria-label="Sessions">
      <div class="row">
        <select
          aria-label="Agent"
          value={s.app.value}
          onChange={(event) => void act.chooseApp(event.currentTarget.value)}
        >
          {s.apps.value.map((one) => (
            <option key={one.name} value={one.name}>
              {one.error ? `${one.name} (cannot be loaded)` : one.name}
            </option>
          ))}
        </select>
        <button
          class="icon"
          aria-label={`Colours: ${s.theme.value}`}
          title={`Colours: ${s.theme.value}`}
          onClick={() => (s.theme.value = THEMES[s.theme.value])}
        >
          ◐
        </button>
      </div>
      <div class="row">
        <label class="grow">
          <span class="quiet">user</span>
          <input
            value={s.user.value}
            onChange={(event) => void act.chooseUser(event.currentTarget.value || "user")}
          />
        </label>
        <button class="badge" onClick={() => (s.showInbox.value = true)}>
          Waiting {s.approvals.value.length}
        </button>
      </div>
      <div class="row">
        <button class="primary grow" onClick={() => void act.newSession()}>
          New session
        </button>
        <button onClick={() => file.current?.click()}>Import</button>
        <input ref={file} type="file" accept="application/json" hidden onChange={take} />
      </div>
      <input
        type="search"
        placeholder="Search sessions"
        aria-label="Search sessions"
        value={s.search.value}
        onInput={(event) => look(event.currentTarget.value)}
      />
      <ul class="sessions">
        {s.sessions.value.map((one) => (
          <Entry key={one.id} session={one} />
        ))}
      </ul>
      {s.sessions.value.length === 0 && <p class="quiet">No sessions.</p>}
      {s.moreSessions.value && (
        <button onClick={() => void act.listSessions(true)}>More sessions</button>
      )}
    </aside>
  );
}

function Entry({ session }: { session: Summary }) {
  const [renames, setRenames] = useState(false);
  const current = s.session.value?.id === session.id;
  const rename = (event: SubmitEvent) => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
    setRenames(false);
    if (name) void act.rename(session, name);
  };
  const where = { app: s.app.value, user: session.userId, session: session.id };
  return (
    <li class={current ? "current" : ""}>
      {renames ? (
        <form onSubmit={rename}>
          <input
            name="name"
            defaultValue={s.title(session)}
            aria-label="New name"
            ref={focus}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault();
              setRenames(false);
            }}
          />
        </form>
      ) : (
        <button
          class="entry"
          aria-current={current ? "true" : undefined}
          onClick={() => void act.open(where)}
        >
          <span class="name">{s.title(session)}</span>
          <span class="quiet">{day(session.lastUpdateTime)}</span>
        </button>
      )}
      <Menu label={`More for ${s.title(session)}`}>
        <button onClick={() => setRenames(true)}>Rename</button>
        <button onClick={() => void act.exportSession(session)}>Export</button>
        {s.session.value && !current && (
          <button
            onClick={() => {
              s.view.value = "compare";
              void act.compareWith(session);
            }}
          >
            Compare
          </button>
        )}
        <button
          class="danger"
          onClick={() => confirm(`Delete ${s.title(session)}?`) && void act.remove(session)}
        >
          Delete
        </button>
      </Menu>
    </li>
  );
}

const focus = (field: HTMLInputElement | null) => field?.focus();

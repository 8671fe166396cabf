// Apps, users and sessions: choose, search, rename, import, export, delete.

import { useRef } from "preact/hooks";
import * as act from "../actions";
import { importSession } from "../files";
import { unseen } from "../problems";
import * as s from "../state";
import { Icon } from "./Icon";
import type { IconName } from "./Icon";
import { SessionEntry } from "./SessionEntry";

const THEMES = { auto: "dark", dark: "light", light: "auto" } as const;
const ONLY = [
  ["", "All"],
  ["running", "Running"],
  ["waiting", "Waiting"],
  ["failed", "Failed"],
] as const;

const SCREENS: [s.Screen, string, IconName][] = [
  ["evaluation", "Evaluation", "checks"],
  ["effects", "Effects", "call"],
];

/** Show a screen, or the session again. */
function go(screen: s.Screen): void {
  s.screen.value = s.screen.value === screen ? "session" : screen;
  if (s.narrow.matches) s.folded.value = true;
}

const sum = (counts: { [app: string]: number }): number => Object.values(counts).reduce((all, one) => all + one, 0);

/** What waits in other agents, in words. */
function waitingElsewhere(): string | undefined {
  const found = Object.entries(s.elsewhere.value).filter(([name]) => name !== s.app.value);
  return found.length ? `Also waiting: ${found.map(([name, count]) => `${count} in ${name}`).join(", ")}` : undefined;
}

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
    if (chosen) void importSession(chosen);
  };
  const choose = (only: typeof s.only.value) => {
    s.only.value = only;
    void act.listSessions();
  };
  if (s.folded.value) return <Folded />;
  return (
    <aside class="side" aria-label="Sessions">
      <div class="row">
        {!s.app.value && <span class="grow quiet">No agent yet</span>}
        <select
          class="grow"
          hidden={!s.apps.value.length}
          aria-label="Agent"
          value={s.app.value}
          onChange={(event) => void act.chooseApp(event.currentTarget.value)}
        >
          {s.apps.value.map((one) => (
            <option key={one.name} value={one.name}>
              {one.error ? `${one.name} (cannot be loaded)` : one.name}
              {s.elsewhere.value[one.name] && one.name !== s.app.value ? ` (${s.elsewhere.value[one.name]} waiting)` : ""}
            </option>
          ))}
        </select>
        <button
          class="icon"
          aria-label="Fold the sidebar"
          title="Fold the sidebar ([)"
          onClick={() => (s.folded.value = true)}
        >
          <Icon name="fold" />
        </button>
      </div>
      <button class="find" onClick={() => (s.dialog.value = "find")}>
        <Icon name="search" />
        <span class="grow">Find anything</span>
        <kbd>Ctrl K</kbd>
      </button>
      <div class="row">
        <button class="primary grow" disabled={!s.app.value} onClick={() => void act.beginSession()}>
          New session
        </button>
        <button class="badge" title={waitingElsewhere()} onClick={() => (s.dialog.value = "inbox")}>
          Waiting {s.approvals.value.length}
          {waitingElsewhere() && <span aria-label={waitingElsewhere()}> +{sum(s.elsewhere.value)}</span>}
        </button>
      </div>
      <div class="row screens" hidden={!s.app.value}>
        {SCREENS.map(([screen, text]) => (
          <button key={screen} class="grow" aria-pressed={s.screen.value === screen} onClick={() => go(screen)}>
            {text}
          </button>
        ))}
      </div>
      <input
        type="search"
        placeholder="Search sessions"
        aria-label="Search sessions"
        value={s.search.value}
        onInput={(event) => look(event.currentTarget.value)}
      />
      <div class="only" role="group" aria-label="Sessions to list">
        {ONLY.map(([only, text]) => (
          <button
            key={only}
            aria-pressed={s.only.value === only}
            aria-label={`List: ${text}`}
            onClick={() => choose(only)}
          >
            {text}
          </button>
        ))}
      </div>
      <ul class="sessions">
        {s.sessions.value.map((one) => (
          <SessionEntry key={`${one.userId}/${one.id}`} session={one} />
        ))}
      </ul>
      {s.sessions.value.length === 0 && <p class="quiet">No sessions.</p>}
      {s.unindexed.value > 0 && <p class="quiet">More are being indexed; search again soon.</p>}
      {s.moreSessions.value && (
        <button onClick={() => void act.listSessions("more")}>More sessions</button>
      )}
      <div class="side-end">
        <label>
          <span class="quiet">user</span>
          <input
            value={s.user.value}
            onChange={(event) => void act.chooseUser(event.currentTarget.value || "user")}
          />
        </label>
        <div class="row tools">
          <button disabled={!s.app.value} onClick={() => file.current?.click()}>Import</button>
          <input ref={file} type="file" accept="application/json" hidden onChange={take} />
          <span class="grow" />
          <Looks />
        </div>
      </div>
    </aside>
  );
}

/** Colours, density, keys, and what went wrong. */
function Looks() {
  const dense = s.density.value === "compact";
  return (
    <>
      {unseen.value > 0 && (
        <button
          class="icon danger"
          aria-label={`What went wrong: ${unseen.value} new`}
          title="What went wrong"
          onClick={() => (s.dialog.value = "problems")}
        >
          <Icon name="alert" /> {unseen.value}
        </button>
      )}
      <button
        class="icon"
        aria-label="Compact rows"
        aria-pressed={dense}
        title={dense ? "Comfortable rows" : "Compact rows"}
        onClick={() => (s.density.value = dense ? "comfortable" : "compact")}
      >
        <Icon name="rows" />
      </button>
      <button
        class="icon"
        aria-label={`Colours: ${s.theme.value}`}
        title={`Colours: ${s.theme.value}`}
        onClick={() => (s.theme.value = THEMES[s.theme.value])}
      >
        <Icon name="moon" />
      </button>
      <button class="icon" aria-label="Keys" title="Keys (?)" onClick={() => (s.dialog.value = "keys")}>
        <Icon name="keys" />
      </button>
    </>
  );
}

/** What is left of the sidebar while it is folded. */
function Folded() {
  return (
    <aside class="side folded" aria-label="Sessions">
      <button
        class="icon"
        aria-label="Unfold the sidebar"
        title="Unfold the sidebar ([)"
        onClick={() => (s.folded.value = false)}
      >
        <Icon name="fold" />
      </button>
      <button class="icon" aria-label="Find anything" title="Find anything (Ctrl+K)" onClick={() => (s.dialog.value = "find")}>
        <Icon name="search" />
      </button>
      <button class="icon" aria-label="New session" title="New session (N)" disabled={!s.app.value} onClick={() => void act.beginSession()}>
        <Icon name="plus" />
      </button>
      <button
        class="icon"
        aria-label={`Waiting ${s.approvals.value.length}`}
        title="What waits for you (W)"
        onClick={() => (s.dialog.value = "inbox")}
      >
        <Icon name="wait" />
        {s.approvals.value.length > 0 && <span class="count">{s.approvals.value.length}</span>}
      </button>
      {SCREENS.map(([screen, text, icon]) => (
        <button
          key={screen}
          class="icon"
          aria-label={text}
          title={text}
          disabled={!s.app.value}
          aria-pressed={s.screen.value === screen}
          onClick={() => go(screen)}
        >
          <Icon name={icon} />
        </button>
      ))}
      <span class="grow" />
      <Looks />
    </aside>
  );
}

// One session in the list: its title, state, age, tokens and cost; rename, export, compare, delete.

import { useState } from "preact/hooks";
import * as act from "../actions";
import { costOf, dollars } from "../cost";
import { addSession } from "../evaluation";
import { exportSession } from "../files";
import { age, count, short } from "../format";
import * as s from "../state";
import { tokensOf } from "../turns";
import type { Summary } from "../types";
import { Menu } from "./Menu";
import { StateMark } from "./StateMark";

export function SessionEntry({ session }: { session: Summary }) {
  const [renames, setRenames] = useState(false);
  const current = s.session.value?.id === session.id;
  const title = s.title(session);
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
            defaultValue={title}
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
          title={`${title}\n${session.id}`}
          onClick={() => {
            if (s.narrow.matches) s.folded.value = true;
            if (current && s.screen.value !== "session") s.screen.value = "session";
            else void act.open(where);
          }}
        >
          <span class="name">{title}</span>
          <Facts session={session} />
        </button>
      )}
      <Menu label={`More for ${s.label(session)}`}>
        <button onClick={() => setRenames(true)}>Rename</button>
        <button onClick={() => void act.nameByModel(session)}>Let the model name it</button>
        <button onClick={() => void exportSession(session)}>Export</button>
        <button onClick={() => void addSession(session)}>Add as evaluation case</button>
        {s.session.value && !current && (
          <button
            onClick={() => {
              s.screen.value = "session";
              s.view.value = "compare";
              s.beside.value = session.id;
            }}
          >
            Compare
          </button>
        )}
        <button
          class="danger"
          onClick={() => confirm(`Delete ${s.label(session)}?`) && void act.remove(session)}
        >
          Delete
        </button>
      </Menu>
    </li>
  );
}

function Facts({ session }: { session: Summary }) {
  const tokens = tokensOf(session.usage);
  const cost = costOf(session.usage);
  const running = session.id === s.session.value?.id && s.running.value;
  return (
    <span class="facts quiet">
      <StateMark state={running ? "running" : session.state} />
      {s.tail(session) && <span>{s.tail(session)}</span>}
      <span>{age(session.lastUpdateTime)}</span>
      {tokens > 0 && <span title={`${count(tokens)} tokens`}>{short(tokens)} tok</span>}
      {cost !== undefined && <span title={dollars(cost)}>{dollars(cost, 4)}</span>}
    </span>
  );
}

const focus = (field: HTMLInputElement | null) => {
  field?.focus();
  field?.select();
};

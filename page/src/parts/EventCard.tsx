// One event as a person reads it: who, when, what; and what may be done from there.

import { useState } from "preact/hooks";
import * as act from "../actions";
import { clock, oneLine, textOf } from "../format";
import { straight } from "../hidden";
import { copyLink, copyText } from "../address";
import { exactScope } from "../nesting";
import type { Row } from "../nesting";
import * as s from "../state";
import { effectsOf } from "../turns";
import type { Numbered } from "../types";
import type { At } from "../virtual";
import { Icon } from "./Icon";
import { Menu } from "./Menu";
import { PartView } from "./PartView";
import { Tag } from "./Tag";
import { Traceback } from "./Traceback";
import { TurnFoot } from "./TurnFoot";

interface Props {
  row: Row;
  at: At;
  /** Whether it offers what may be done from here. */
  actions?: boolean;
}

export function EventCard({ row, at, actions }: Props) {
  const { one, depth, scope, open } = row;
  const { event, number } = one;
  const mine = event.author === "user" && depth === 0;
  const chosen = s.selected.value === event.id;
  const choose = () => !open && (s.selected.value = chosen ? undefined : event.id);
  const name = scope ? `${event.author} in ${scope}` : event.author;
  const [edits, setEdits] = useState(false);
  const turn = s.turns.value.ends.get(row.key);
  const begins = s.turns.value.starts.has(row.key);
  const look = [mine && "mine", chosen && "chosen", open && "open", begins && "begins", event.errorCode && !act.isCancelled(event) && "broke"];
  return (
    <article
      class={`card ${look.filter(Boolean).join(" ")}`}
      style={{ "--depth": depth }}
      data-depth={depth}
      aria-label={number ? `${name}, event ${number}` : name}
      aria-posinset={at[0]}
      aria-setsize={at[1]}
      aria-busy={open}
    >
      <header>
        <button class="author" aria-pressed={chosen} onClick={choose} disabled={open}>
          <Icon name={event.author === "user" ? "user" : "bot"} />
          <span class="clip">{event.author}</span>
        </button>
        {scope && (
          <span class="chip scope" title={exactScope(event)}>
            {scope}
          </span>
        )}
        {number > 0 && <span class="quiet">#{number}</span>}
        {!number && !open && <span class="quiet">{act.isStopped(event) ? "cut off; not in the log" : "seen live, in no log here"}</span>}
        <time class="quiet" dateTime={new Date(event.timestamp * 1000).toISOString()}>
          {clock(event.timestamp)}
        </time>
        {open && <span class={s.lost.value ? "quiet" : "quiet writing"}>{s.lost.value ? "cut off" : "writing"}</span>}
        {actions && number > 0 && <Choices one={one} edit={() => setEdits(true)} />}
      </header>
      {edits && <EditAgain one={one} close={() => setEdits(false)} />}
      <div class="parts">
        {(event.content?.parts ?? []).map((part, index) => (
          <PartView key={index} part={part} one={one} />
        ))}
        {event.output !== undefined && (
          <p class="call">
            <Tag kind="done" icon="result">
              output
            </Tag>
            <code>{oneLine(event.output, 300)}</code>
          </p>
        )}
        {event.errorCode && (
          <p class={act.isCancelled(event) ? "error quiet" : "error"}>
            <Icon name={act.isCancelled(event) ? "stop" : "alert"} />
            {act.isCancelled(event) ? (
              <strong>This turn was stopped.</strong>
            ) : (
              <span>
                <strong>{event.errorCode}</strong> {straight(event.errorMessage ?? "")}
              </span>
            )}
          </p>
        )}
        {event.errorCode && number > 0 && !act.isCancelled(event) && (
          <Traceback invocation={event.invocationId} type={event.errorCode} />
        )}
        <Effects one={one} />
      </div>
      {turn && <TurnFoot turn={turn} />}
    </article>
  );
}

function Effects({ one }: { one: Numbered }) {
  const found = effectsOf(one.event.actions);
  if (!found.length) return null;
  return (
    <p class="effects">
      {found.map(([icon, text]) => (
        <span class="chip" key={text}>
          <Icon name={icon} />
          {text}
        </span>
      ))}
    </p>
  );
}

function Choices({ one, edit }: { one: Numbered; edit: () => void }) {
  const words = textOf(one.event.content?.parts);
  const mine = one.event.author === "user" && words !== "";
  return (
    <Menu label={`More for event ${one.number}`}>
      <button onClick={() => void act.fork(one.event.id)}>Fork from here</button>
      {mine && <button onClick={edit}>Edit and run again</button>}
      {mine && (
        <button onClick={() => void act.rewind(one.event.invocationId)}>
          Rewind to before this
        </button>
      )}
      <button onClick={() => void copyLink(one)}>Copy a link to this</button>
      {words && <button onClick={() => void copyText(words)}>Copy the text</button>}
    </Menu>
  );
}

function EditAgain({ one, close }: { one: Numbered; close: () => void }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const text = String(new FormData(event.target as HTMLFormElement).get("text") ?? "");
    close();
    void act.rerun(one, text);
  };
  return (
    <form class="edit" onSubmit={submit}>
      <textarea name="text" aria-label="Message" ref={focus} rows={3}>
        {textOf(one.event.content?.parts)}
      </textarea>
      <p class="buttons">
        <button class="primary">Run in a fork</button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </p>
    </form>
  );
}

const focus = (field: HTMLTextAreaElement | null) => field?.focus();

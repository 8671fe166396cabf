// Where everything that goes wrong is told: the newest message for a while, all of them in a log.

import { useEffect, useState } from "preact/hooks";
import { clock } from "../format";
import { log, unseen } from "../problems";
import * as s from "../state";
import { Dialog } from "./Dialog";
import { Icon } from "./Icon";

const SHOWN = 20_000; // milliseconds; a message stays while it is pointed at

export function Problems() {
  const [held, setHeld] = useState(false);
  const text = s.problem.value;
  useEffect(() => {
    if (!text || held) return;
    const timer = setTimeout(() => (s.problem.value = undefined), SHOWN);
    return () => clearTimeout(timer);
  }, [text, held]);
  return (
    <div
      class="problems"
      role="alert"
      aria-live="assertive"
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocusIn={() => setHeld(true)}
      onFocusOut={() => setHeld(false)}
    >
      {text && (
        <div class="problem">
          <Icon name="alert" />
          <span>{text}</span>
          <button
            class="icon"
            onClick={() => {
              unseen.value = Math.max(0, unseen.value - 1);
              s.problem.value = undefined;
            }}
            aria-label="Close the message"
          >
            <Icon name="close" />
          </button>
        </div>
      )}
    </div>
  );
}

export function ProblemLog() {
  const close = () => (s.dialog.value = "");
  useEffect(() => {
    unseen.value = 0;
  }, []);
  return (
    <Dialog label="What went wrong" close={close}>
      <header class="bar">
        <h2>What went wrong</h2>
        <button class="icon" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {log.value.length === 0 && <p class="quiet">Nothing, since this page was opened.</p>}
      <ol class="log">
        {log.value.toReversed().map((one, index) => (
          <li key={index}>
            <time class="quiet">{clock(one.at)}</time> <span>{one.text}</span>
          </li>
        ))}
      </ol>
    </Dialog>
  );
}

// A button that copies a text, and says so.

import { useState } from "preact/hooks";
import * as s from "../state";
import { Icon } from "./Icon";

export function Copy({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      s.problem.value = "The browser did not allow copying. Select the text and press Ctrl+C.";
      return;
    }
    setDone(true);
    s.told.value = "Copied";
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button class="icon copy" onClick={() => void copy()} aria-label={`Copy ${what}`} title={`Copy ${what}`}>
      <Icon name={done ? "check" : "copy"} />
      {done && <span>Copied</span>}
    </button>
  );
}

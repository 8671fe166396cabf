// Keys that work everywhere on the page.

import * as act from "./actions";
import { inPlace } from "./settings";
import * as s from "./state";

export const KEYS: { keys: string[]; what: string }[] = [
  { keys: ["Ctrl", "K"], what: "Find sessions, events, agents and actions" },
  { keys: ["N"], what: "New session" },
  { keys: ["M"], what: "Write a message" },
  { keys: ["1", "…", String(s.VIEWS.length)], what: s.VIEWS.map(([, name]) => name).join(", ") },
  { keys: ["J", "K"], what: "Next and previous event" },
  { keys: ["W"], what: "What waits for you" },
  { keys: ["["], what: "Fold or unfold the sidebar" },
  { keys: ["?"], what: "This sheet" },
  { keys: ["Enter"], what: "Send; with Shift, a new line" },
  { keys: ["Esc"], what: "Close what is open" },
];

/** Whether an event belongs to a field that takes text, or to a dialog. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.target instanceof Element ? event.target : null;
  return target?.closest("input, textarea, select, [contenteditable], dialog") != null;
}

/** Do what a key stands for; return whether it stood for something. */
function press(key: string): boolean {
  const view = s.VIEWS[Number(key) - 1]?.[0];
  if (view && s.session.value) {
    s.screen.value = "session";
    s.view.value = view;
    return true;
  }
  switch (key) {
    case "n":
      if (s.app.value) void act.beginSession();
      return true;
    case "m":
      document.querySelector<HTMLElement>(".composer textarea")?.focus();
      return true;
    case "j":
      return step(1);
    case "k":
      return step(-1);
    case "w":
      s.dialog.value = "inbox";
      return true;
    case "[":
      s.folded.value = !s.folded.value;
      return true;
    case "?":
      s.dialog.value = "keys";
      return true;
    default:
      return false;
  }
}

/** Select the next or the previous event. */
function step(by: number): boolean {
  const rows = s.rows.value.filter((row) => !row.open);
  if (!rows.length) return true;
  const at = rows.findIndex((row) => row.one.event.id === s.selected.value);
  const to = at < 0 ? rows.length - 1 : Math.max(0, Math.min(rows.length - 1, at + by));
  inPlace(() => (s.selected.value = rows[to]!.one.event.id));
  return true;
}

export function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    s.dialog.value = s.dialog.value === "find" ? "" : "find";
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
  if (!s.letters.value) return;
  if (press(event.key.length === 1 ? event.key.toLowerCase() : event.key)) event.preventDefault();
}

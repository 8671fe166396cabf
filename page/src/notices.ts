// A notice of the system, and the number in the tab's title, when something begins to wait.

import { effect, signal } from "@preact/signals";
import { keyOf } from "./actions";
import { revealed } from "./hidden";
import * as s from "./state";

const isThere = typeof Notification !== "undefined";

/** Whether the person allowed notices, or cannot be asked. */
export const noticesAllowed = signal(!isThere || Notification.permission !== "default");

export async function enableNotices(): Promise<void> {
  if (isThere) noticesAllowed.value = (await Notification.requestPermission()) !== "default";
}

let known: Set<string> | undefined; // what waited before; undefined until the first answer

effect(() => {
  const waiting = s.approvals.value.length;
  const shown = [s.openTitle.value, s.app.value, "Ostinato"].filter(Boolean).join(" – ");
  document.title = `${waiting ? `(${waiting}) ` : ""}${revealed(shown)}`;
});

effect(() => {
  const waiting = s.approvals.value;
  const before = known;
  known = new Set([...(before ?? []), ...waiting.map(keyOf)]);
  const fresh = before && waiting.filter((one) => !before.has(keyOf(one)));
  const [first] = fresh ?? [];
  if (!first || !document.hidden || !isThere || Notification.permission !== "granted") return;
  const what = first.kind === "input" ? first.asker || first.tool : first.tool;
  const more = fresh!.length > 1 ? ` and ${fresh!.length - 1} more` : "";
  new Notification("Ostinato waits for you", { body: `${revealed(what)}${more}`, tag: "ostinato" });
});

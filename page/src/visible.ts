// Whether this tab is shown. A hidden one keeps no connection open: a browser has six for each server.

import { signal } from "@preact/signals";

const isSeen = () => document.visibilityState !== "hidden";

export const visible = signal(isSeen());

document.addEventListener("visibilitychange", () => (visible.value = isSeen()));
addEventListener("pagehide", () => (visible.value = false));
addEventListener("pageshow", () => (visible.value = isSeen()));

/** Do something whenever the tab is hidden, also if it is already; return what gives it up. */
export const whenHidden = (work: () => void): (() => void) => visible.subscribe((seen) => void (seen || work()));

/** Wait until the tab is shown. */
export async function untilVisible(): Promise<void> {
  let end = () => {};
  await new Promise<void>((done) => (end = visible.subscribe((seen) => void (seen && done()))));
  end();
}

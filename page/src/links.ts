// Addresses of sessions and events: what the page opens by its address, and what is copied.

import { chooseApp, chooseUser, loadOlder, open, openedTurn, start } from "./actions";
import * as s from "./state";
import type { Numbered } from "./types";

/** Open what the address names, at the beginning. */
export async function begin(): Promise<void> {
  await start();
  const number = Number(new URLSearchParams(asked).get("event"));
  if (number > 0 && s.session.value) await reveal(number);
}

const asked = location.hash.slice(1); // before the page writes its own

/** Open what the address names, after a person has changed it. */
export async function followAddress(): Promise<void> {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const [app, user, session] = [wanted.get("app"), wanted.get("user"), wanted.get("session")];
  const isOther = app !== null && app !== s.app.value && s.apps.value.some((one) => one.name === app);
  if (user && user !== s.user.value && !session) {
    if (isOther) s.user.value = user;
    else await chooseUser(user);
  }
  if (isOther) await chooseApp(app);
  if (!app || !user || !session) return;
  if (session !== s.session.value?.id) await open({ app, user, session });
  const number = Number(wanted.get("event"));
  if (number > 0) await reveal(number);
}

/** Load events back to a number, and select the one that has it. */
export async function reveal(number: number): Promise<void> {
  const turn = openedTurn();
  for (;;) {
    const first = s.events.value[0]?.number ?? 0;
    if (turn !== openedTurn() || first <= number) break;
    await loadOlder();
    if ((s.events.value[0]?.number ?? 0) >= first) break; // they could not be loaded
  }
  const found = s.events.value.find((one) => one.number === number);
  if (found && turn === openedTurn()) s.selected.value = found.event.id;
}

/** Copy the address of an event. */
export async function copyLink(one: Numbered): Promise<void> {
  const address = new URL(location.href);
  const named = new URLSearchParams(address.hash.slice(1));
  named.set("event", String(one.number));
  address.hash = named.toString();
  await copyText(address.href);
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    s.told.value = "Copied";
  } catch {
    s.problem.value = `The browser did not allow copying. This is the text:\n${text}`;
  }
}

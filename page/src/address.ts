// The address tells what is shown. The page writes it as a person goes, and reads it at the beginning,
// when the person goes back, and when they change it: a reload and a copied link show the same.

import { effect, signal, untracked } from "@preact/signals";
import { chooseApp, chooseUser, leave, listSessions, loadOlder, open, openedTurn, tried } from "./actions";
import { api } from "./api";
import { inPlace, quiet, settings, take } from "./settings";
import * as s from "./state";
import type { Numbered } from "./types";

const PAUSE = 300; // milliseconds after the last key until what was typed is in the address
const typed = new Set<string>();

/** How many addresses are being read; the page writes none meanwhile. */
const reading = signal(0);
let turn = 0;
let written = location.hash.slice(1); // what the address is, or is about to be
let isStep = false; // whether the browser is to lead back to what the address was
let timer: ReturnType<typeof setTimeout> | undefined;

/** What the address has to tell now. */
function named(): URLSearchParams {
  const where = s.wanted.value;
  const found = new URLSearchParams({ app: s.app.value, user: where?.user ?? s.user.value });
  if (where) found.set("session", where.session);
  for (const one of settings) {
    if (one.typed) typed.add(one.name);
    const value = one.value.value;
    if (value !== one.initial && (one.shown?.() ?? true)) found.set(one.name, value);
  }
  const number = s.screen.value === "session" && s.chosen.value?.number;
  if (number) found.set("event", String(number));
  return found;
}

effect(() => {
  const now = named().toString();
  if (reading.value || !s.app.value) return;
  untracked(() => note(now));
});

function note(now: string): void {
  if (now === written) return;
  const differ = differs(new URLSearchParams(written), new URLSearchParams(now));
  const steps = differ && !quiet;
  if (steps && timer !== undefined) write(); // what was typed belongs to the place that is left
  written = now;
  isStep ||= steps;
  if (differ) queueMicrotask(write); // several changes at once are one step
  else timer ??= setTimeout(write, PAUSE);
}

function write(): void {
  clearTimeout(timer);
  timer = undefined;
  if (location.hash.slice(1) !== written) {
    history[isStep ? "pushState" : "replaceState"](null, "", `#${written}`);
  }
  isStep = false;
}

/** Whether two addresses differ in more than what is typed. */
const differs = (one: URLSearchParams, other: URLSearchParams): boolean =>
  [...one.keys(), ...other.keys()].some((name) => !typed.has(name) && one.get(name) !== other.get(name));

/** Show what the address names. */
async function read(show: (wanted: URLSearchParams, isNewest: () => boolean) => Promise<void>): Promise<void> {
  const mine = ++turn;
  clearTimeout(timer); // what was due belongs to the address before
  [timer, isStep] = [undefined, false];
  reading.value += 1;
  try {
    await show(new URLSearchParams(location.hash.slice(1)), () => mine === turn);
  } finally {
    written = location.hash.slice(1);
    inPlace(() => (reading.value -= 1));
  }
}

/** Load the agents, and show what the address names. */
export async function begin(): Promise<void> {
  await read(async (wanted, isNewest) => {
    const found = await tried(api.apps);
    if (!found || !isNewest()) return;
    s.apps.value = found.apps;
    s.folder.value = found.folder ?? "";
    const name = wanted.get("app") ?? localStorage.getItem("ostinato-app");
    const first = found.apps.find((one) => one.name === name) ?? found.apps.find((one) => !one.error);
    if (!first) return;
    tellMissing(wanted, first.name);
    s.user.value = wanted.get("user") ?? s.user.value;
    take(wanted);
    void chooseApp(first.name);
    if (!first.error) await show(wanted, isNewest);
  });
}

/** Look for agents until there is one: somebody is making the first. */
export async function awaitAgents(): Promise<void> {
  const found = await api.apps().catch(() => undefined);
  if (found?.apps.length && !s.apps.value.length) await begin();
}

/** Say that the agent of an address is not there. */
function tellMissing(wanted: URLSearchParams, shown: string): void {
  const name = wanted.get("app");
  if (name && !s.apps.value.some((one) => one.name === name)) {
    s.problem.value = `There is no agent ${name} here; ${shown} is shown instead.`;
  }
}

/** Show what the address names, after the person went back or changed it. */
export const followAddress = (): Promise<void> =>
  read(async (wanted, isNewest) => {
    const [app, user] = [wanted.get("app") ?? s.app.value, wanted.get("user") ?? s.user.value];
    const listed = `${s.search.value} ${s.only.value}`;
    take(wanted);
    tellMissing(wanted, s.app.value);
    if (app !== s.app.value && s.apps.value.some((one) => one.name === app)) {
      s.user.value = user;
      void chooseApp(app);
    } else if (user !== s.user.value && !wanted.has("session")) await chooseUser(user);
    else if (listed !== `${s.search.value} ${s.only.value}`) void listSessions();
    if (isNewest()) await show(wanted, isNewest);
  });

/** Show the session, the settings and the event of an address. */
async function show(wanted: URLSearchParams, isNewest: () => boolean): Promise<void> {
  const [app, user] = [wanted.get("app") ?? s.app.value, wanted.get("user") ?? s.user.value];
  const [session, number] = [wanted.get("session"), Number(wanted.get("event"))];
  if (app !== s.app.value) return;
  let opening;
  const before = s.wanted.value;
  if (session && (session !== before?.session || user !== before.user)) opening = open({ app, user, session });
  else if (!session && before) leave();
  take(wanted);
  if (!(number > 0)) s.selected.value = undefined;
  await opening;
  if (number > 0 && isNewest()) await reveal(number);
}

/** Load events back to a number, and select the one that has it. */
export async function reveal(number: number): Promise<void> {
  const opened = openedTurn();
  for (;;) {
    const first = s.events.value[0]?.number ?? 0;
    if (opened !== openedTurn() || first <= number) break;
    await loadOlder();
    if ((s.events.value[0]?.number ?? 0) >= first) break; // they could not be loaded
  }
  const found = s.events.value.find((one) => one.number === number);
  if (opened !== openedTurn()) return;
  if (found) s.selected.value = found.event.id;
  else if (s.session.value) s.problem.value = `There is no event ${number} in this session.`;
}

/** Copy the address of an event. */
export async function copyLink(one: Numbered): Promise<void> {
  const address = new URL(location.href);
  const all = named();
  all.delete("dialog");
  all.set("event", String(one.number));
  address.hash = all.toString();
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

// What a person can do, and what it changes in the state.

import { batch } from "@preact/signals";
import { api, ApiError, hasToken } from "./api";
import type { Place } from "./api";
import { oneLine, textOf } from "./format";
import { callOf, isLiveOnly } from "./nesting";
import { rooted } from "./spans";
import * as s from "./state";
import type {
  Approval,
  Event,
  JsonObject,
  Message,
  Numbered,
  Part,
  Session,
  Summary,
} from "./types";

const PAGE = 200;
const MOST_LIVE = 500; // events of agents that run as tools
export const CONFIRMATION = "adk_request_confirmation";
let following: AbortController | undefined;
let opened = 0;

export const place = (): Place | undefined =>
  s.session.value && {
    app: s.session.value.appName,
    user: s.session.value.userId,
    session: s.session.value.id,
  };

const placeOf = (one: Summary): Place => ({
  app: s.app.value,
  user: one.userId,
  session: one.id,
});

/** Do something, and show what went wrong. */
export async function tried<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return undefined;
    if (error instanceof ApiError && error.status === 401) {
      s.needsToken.value = hasToken() ? "other" : "first";
    } else s.problem.value = error instanceof Error ? error.message : String(error);
    return undefined;
  }
}

export async function start(): Promise<void> {
  const found = await tried(api.apps);
  if (!found) return;
  s.apps.value = found;
  const wanted = new URLSearchParams(location.hash.slice(1));
  const name = wanted.get("app") ?? localStorage.getItem("ostinato-app");
  s.user.value = wanted.get("user") ?? s.user.value;
  const first = found.find((one) => one.name === name) ?? found.find((one) => !one.error);
  if (first) await chooseApp(first.name, wanted.get("session") ?? undefined);
}

/** Put what is open into the page's address, from where a reload and other tabs take it. */
function note(): void {
  const where = place();
  const named = { app: s.app.value, user: s.user.value };
  const all = where ? { ...named, session: where.session } : named;
  history.replaceState(null, "", `#${new URLSearchParams(all)}`);
}

export async function chooseApp(name: string, sessionId?: string): Promise<void> {
  leave();
  localStorage.setItem("ostinato-app", name);
  batch(() => {
    s.app.value = name;
    s.sessions.value = [];
    s.tree.value = undefined;
  });
  note();
  const info = s.apps.value.find((one) => one.name === name);
  if (info?.error) {
    s.problem.value = info.error;
    return;
  }
  await listSessions();
  if (sessionId) await open({ app: name, user: s.user.value, session: sessionId });
  s.tree.value = await tried(() => api.tree(name));
  void refreshApprovals();
}

export async function chooseUser(name: string): Promise<void> {
  localStorage.setItem("ostinato-user", name);
  leave();
  s.user.value = name;
  note();
  await listSessions();
}

export async function listSessions(more = false): Promise<void> {
  const token = more ? s.moreSessions.value : undefined;
  const found = await tried(() =>
    api.sessions(s.app.value, s.user.value, s.search.value, token),
  );
  if (!found) return;
  batch(() => {
    s.sessions.value = more ? [...s.sessions.value, ...found.sessions] : found.sessions;
    s.moreSessions.value = found.nextPageToken;
  });
}

function leave(): void {
  following?.abort();
  opened += 1;
  batch(() => {
    s.session.value = undefined;
    s.events.value = [];
    s.total.value = 0;
    s.spans.value = [];
    s.partials.value = [];
    s.live.value = [];
    s.told.value = "";
    s.sent.value = undefined;
    s.running.value = false;
    s.selected.value = undefined;
    s.other.value = undefined;
    s.lost.value = false;
  });
}

/** Open a session: its newest events at once, older ones when they are scrolled to. */
export async function open(where: Place): Promise<void> {
  leave();
  const turn = opened;
  const found = await tried(async () => {
    const [session, page] = await Promise.all([
      api.outline(where),
      api.eventsBefore(where, undefined, PAGE),
    ]);
    return { session, page };
  });
  if (!found || turn !== opened) return;
  batch(() => {
    s.session.value = found.session;
    s.events.value = found.page.events;
    s.total.value = found.page.newest;
  });
  const stranger = s.user.value !== where.user;
  s.user.value = where.user;
  note();
  if (stranger) void listSessions();
  void loadSpans();
  void follow(where, turn);
}

/** Load the events before the oldest one that is there. */
export async function loadOlder(): Promise<void> {
  const where = place();
  const first = s.events.value[0]?.number;
  if (!where || first === undefined || first <= 1) return;
  const turn = opened;
  const page = await tried(() => api.eventsBefore(where, first, PAGE * 5));
  if (!page || turn !== opened || s.events.value[0]?.number !== first) return;
  s.events.value = [...page.events, ...s.events.value];
}

/** Load the spans of the session, or anew those of one of its invocations. */
async function loadSpans(invocation?: string): Promise<void> {
  const where = place();
  if (!where) return;
  const turn = opened;
  try {
    const found = await api.spans(where, invocation);
    if (turn !== opened) return;
    const others = s.spans.value.filter((span) => invocation && span.invocationId !== invocation);
    s.spans.value = [...others, ...rooted(found)];
  } catch {
    // a server that keeps none, or is gone for now
  }
}

/** Load the spans of what ran last: the waterfall grows with it. */
export async function loadLatestSpans(): Promise<void> {
  const latest = s.partials.value[0] ?? s.events.value[s.events.value.length - 1]?.event;
  if (latest?.invocationId) await loadSpans(latest.invocationId);
}

/** Take what the session's stream brings until another session is opened; reconnect where it breaks. */
async function follow(where: Place, turn: number): Promise<void> {
  let pause = 500;
  while (turn === opened) {
    following = new AbortController();
    s.partials.value = []; // what runs is told from its beginning
    try {
      const after = s.events.value[s.events.value.length - 1]?.number ?? 0;
      for await (const frame of api.follow(where, after, following.signal)) {
        if (turn !== opened) return;
        pause = 500;
        s.lost.value = false;
        if (frame.event === "message") take(JSON.parse(frame.data), frame.id);
        else if (frame.event === "running") s.running.value = true;
        else if (frame.event === "idle") idle();
      }
    } catch (error) {
      if (turn !== opened) return;
      if (error instanceof ApiError && error.status < 500) {
        s.problem.value = error.message;
        return;
      }
      s.lost.value = true;
    }
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, 10_000);
  }
}

function take(found: Event & { error?: string }, id: string | undefined): void {
  if (found.error !== undefined && !found.id) {
    s.problem.value = found.error;
    return;
  }
  if (id === undefined) {
    if (isLiveOnly(found)) {
      batch(() => {
        const others = s.live.value.filter((one) => one.id !== found.id);
        s.live.value = [...others, found].slice(-MOST_LIVE);
        s.partials.value = s.partials.value.filter((one) => !sameSpeaker(one, found));
      });
      return;
    }
    // A piece may come after the whole that the store gave already.
    const whole = s.events.value.findLast((one) => sameSpeaker(one.event, found));
    if (whole && whole.event.timestamp > found.timestamp) return;
    s.partials.value = grown(s.partials.value, found);
    return;
  }
  const number = Number(id);
  const last = s.events.value[s.events.value.length - 1]?.number ?? 0;
  if (number <= last) return;
  batch(() => {
    s.events.value = [...s.events.value, { number, event: found }];
    s.total.value = Math.max(s.total.value, number);
    s.partials.value = s.partials.value.filter((one) => !sameSpeaker(one, found));
    if (found.author === "user") s.sent.value = undefined;
    tell(found);
    const delta = found.actions?.stateDelta;
    if (delta && s.session.value) {
      s.session.value = { ...s.session.value, state: merged(s.session.value.state, delta) };
    }
  });
}

/** Have an answer, or what waits for approval, read out. */
function tell(event: Event): void {
  const asked = event.content?.parts?.find((part) => part.functionCall?.name === CONFIRMATION);
  const original = asked?.functionCall?.args?.["originalFunctionCall"] as JsonObject | undefined;
  const text = textOf(event.content?.parts);
  if (original) s.told.value = `${String(original["name"])} asks for approval`;
  else if (event.errorCode) s.told.value = `${event.author} failed: ${event.errorMessage ?? ""}`;
  else if (text && event.author !== "user" && callOf(event) === undefined) {
    s.told.value = `${event.author}: ${oneLine(text, 500)}`;
  }
}

function merged(state: JsonObject, delta: JsonObject): JsonObject {
  const next = { ...state, ...delta };
  for (const [key, value] of Object.entries(delta)) if (value === null) delete next[key];
  return next;
}

const sameSpeaker = (one: Event, other: Event): boolean =>
  one.author === other.author &&
  one.branch === other.branch &&
  one.invocationId === other.invocationId;

/** Add a streamed piece to what its speaker said before; each piece has an id of its own. */
function grown(open: Event[], piece: Event): Event[] {
  const others = open.filter((one) => !sameSpeaker(one, piece));
  if (piece.customMetadata?.["restarted"]) return others; // what was streamed is taken back
  const before = open.find((one) => sameSpeaker(one, piece));
  const parts = [...(before?.content?.parts ?? [])];
  for (const part of piece.content?.parts ?? []) {
    const last = parts[parts.length - 1];
    if (part.text !== undefined && last?.text !== undefined && !!last.thought === !!part.thought) {
      parts[parts.length - 1] = { ...last, text: last.text + part.text };
    } else parts.push(part);
  }
  return [...others, { ...piece, content: { ...piece.content, parts } }];
}

function idle(): void {
  if (!s.running.value && !s.sent.value) return;
  batch(() => {
    s.running.value = false;
    s.partials.value = [];
    s.sent.value = undefined;
  });
  void loadSpans();
  void refreshApprovals();
  void listSessions();
}

export async function newSession(state: JsonObject = {}): Promise<void> {
  const made = await tried(() => api.create(s.app.value, s.user.value, { state }));
  if (!made) return;
  await listSessions();
  await open({ app: made.appName, user: made.userId, session: made.id });
}

export async function send(parts: Part[]): Promise<void> {
  if (!s.session.value) await newSession();
  const where = place();
  if (!where) return;
  const turn = opened;
  const message: Message = { role: "user", parts };
  batch(() => {
    s.sent.value = {
      id: "sent",
      invocationId: "",
      author: "user",
      timestamp: Date.now() / 1000,
      content: message,
    };
    s.running.value = true;
  });
  const done = await tried(async () => {
    // The session's own stream shows what happens; this one tells when the run could not begin.
    for await (const frame of api.run(where, message, new AbortController().signal)) {
      const body = frame.data ? JSON.parse(frame.data) : {};
      if (body.error !== undefined && !body.id) s.problem.value = body.error;
    }
    return true;
  });
  if (!done) idle();
  else if (turn === opened) await settle(where, turn);
}

/** Ask whether something runs: a run that was over at once may have had no mark in the stream. */
async function settle(where: Place, turn: number): Promise<void> {
  const found = await tried(() => api.status(where));
  if (!found || turn !== opened || ["running", "left"].includes(found.state)) return;
  idle();
  void loadLatestSpans(); // the mark of the run before may have come after this one began
}

export async function stop(): Promise<void> {
  const where = place();
  if (where) await tried(() => api.cancel(where));
}

/** Answer a call that waits: approve, edit, reject, or give its result. */
export async function answer(one: Approval, decision: JsonObject): Promise<void> {
  const app = s.app.value;
  s.showInbox.value = false;
  if (s.session.value?.id !== one.sessionId) {
    await open({ app, user: one.userId, session: one.sessionId });
  }
  const turn = opened;
  const where = { app, user: one.userId, session: one.sessionId };
  s.running.value = true;
  await tried(() => api.answer(app, one, decision));
  await settle(where, turn);
  void refreshApprovals();
}

export async function refreshApprovals(): Promise<void> {
  const name = s.app.value;
  if (!name || s.apps.value.find((one) => one.name === name)?.error) return;
  try {
    const found = await api.approvals(name);
    if (name === s.app.value) s.approvals.value = found;
  } catch {
    // asked again soon; what the person does meanwhile tells what is wrong
  }
}

export async function fork(atEvent?: string): Promise<void> {
  const where = place();
  if (!where) return;
  const made = await tried(() => api.fork(where, atEvent));
  if (!made) return;
  await listSessions();
  await open({ ...where, session: made.id });
}

/** Fork before a message of the user's and send another one in its place. */
export async function rerun(one: Numbered, text: string): Promise<void> {
  const where = place();
  if (!where) return;
  const before = s.events.value[s.events.value.indexOf(one) - 1];
  if (before) await fork(before.event.id);
  else await newSession();
  await send([{ text }]);
}

export async function rewind(invocationId: string): Promise<void> {
  const where = place();
  if (!where) return;
  await tried(() => api.rewind(where, invocationId));
  await open(where);
}

export async function rename(one: Summary, name: string): Promise<void> {
  const where = placeOf(one);
  await tried(() => api.patchState(where, { __session_metadata__: { displayName: name } }));
  await listSessions();
}

export async function remove(one: Summary): Promise<void> {
  const where = placeOf(one);
  if (s.session.value?.id === one.id) {
    leave();
    note();
  }
  await tried(() => api.remove(where));
  await listSessions();
}

export async function exportSession(one: Summary): Promise<void> {
  const where = placeOf(one);
  const whole = await tried(() => api.session(where));
  if (!whole) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(
    new Blob([JSON.stringify(whole, null, 2)], { type: "application/json" }),
  );
  link.download = `${one.id}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

export async function importSession(file: File): Promise<void> {
  const made = await tried(async () =>
    api.importSession(s.app.value, s.user.value, JSON.parse(await file.text()) as Session),
  );
  if (!made) return;
  await listSessions();
  await open({ app: made.appName, user: made.userId, session: made.id });
}

export async function compareWith(one: Summary): Promise<void> {
  const where = placeOf(one);
  const page = await tried(() => api.eventsBefore(where, undefined, 1000));
  if (page) s.other.value = { session: one, events: page.events };
}

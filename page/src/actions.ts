// What a person can do, and what it changes in the state.

import { batch } from "@preact/signals";
import { api, ApiError, hasToken } from "./api";
import type { Place } from "./api";
import * as box from "./box";
import { oneLine, textOf } from "./format";
import { revealed } from "./hidden";
import { callOf, isCancelled, isLiveOnly, isStopped, STOPPED } from "./nesting";
import { parseJson } from "./numbers";
import { inPlace } from "./settings";
import { rooted } from "./spans";
import * as s from "./state";
import { grown, merged, sameSpeaker } from "./streaming";
import { untilVisible, whenHidden } from "./visible";
import type {
  Approval,
  Event,
  JsonObject,
  Message,
  Numbered,
  Part,
  Summary,
} from "./types";

const PAGE = 200;
const MORE_DETAILS = 150; // milliseconds until details are asked for that took too long
const MOST_AGENTS = 20; // whose open calls are counted
const MOST_LIVE = 500; // events of agents that run as tools
export const NOT_FOUND = "SessionNotFoundError";
export const GONE = "This session is gone: it was deleted.";
export { isCancelled, isStopped };
export const CONFIRMATION = "adk_request_confirmation";
export const REQUEST_INPUT = "adk_request_input";
export const CREDENTIAL = "adk_request_credential";
let following: AbortController | undefined;
let opened = 0;
let listed = 0;
let listing = 0; // lists that are asked for
let stopping = false;
let creating: Promise<Place | undefined> | undefined;
let lastBefore = 0; // number of the newest event when the last message was sent
let stale: Event[] = []; // what was streamed before the connection broke
let failure: string | undefined; // what was said of the last run that failed

/** What changes whenever another session is opened. */
export const openedTurn = (): number => opened;

export const place = (): Place | undefined =>
  s.session.value && {
    app: s.session.value.appName,
    user: s.session.value.userId,
    session: s.session.value.id,
  };

export const placeOf = (one: Summary): Place => ({
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

export async function chooseApp(name: string): Promise<void> {
  localStorage.setItem("ostinato-app", name);
  batch(() => {
    leave();
    s.app.value = name;
    s.sessions.value = [];
    s.tree.value = undefined;
  });
  const info = s.apps.value.find((one) => one.name === name);
  if (info?.error) {
    s.problem.value = info.error;
    return;
  }
  void refreshWaiting();
  const [tree] = await Promise.all([tried(() => api.tree(name)), listSessions()]);
  if (s.app.value === name) s.tree.value = tree;
}

export async function chooseUser(name: string): Promise<void> {
  localStorage.setItem("ostinato-user", name);
  batch(() => {
    leave();
    s.user.value = name;
  });
  await listSessions();
}

/** List the sessions, those that follow, or again as many as are listed, without a word if that fails. */
export async function listSessions(kind: "first" | "more" | "again" = "first"): Promise<void> {
  const isBroken = s.apps.value.find((one) => one.name === s.app.value)?.error;
  if (kind === "again" && (listing || isBroken || !s.app.value)) return;
  listed += 1;
  const turn = listed;
  const more = kind === "more";
  const asked = {
    userId: s.user.value,
    search: s.search.value,
    state: s.only.value,
    pageToken: more ? s.moreSessions.value : undefined,
    pageSize: String(kind === "again" ? Math.min(500, Math.max(50, s.sessions.value.length)) : 50),
  };
  const work = () => api.sessions(s.app.value, asked);
  listing += 1;
  const found = await (kind === "again" ? work().catch(() => undefined) : tried(work));
  listing -= 1;
  if (!found || turn !== listed) return; // an answer that comes late is out of date
  batch(() => {
    s.sessions.value = more ? [...s.sessions.value, ...found.sessions] : found.sessions;
    s.moreSessions.value = found.nextPageToken;
    s.unindexed.value = found.complete ? 0 : found.unindexed;
  });
  if (found.undetailed && !more) {
    setTimeout(() => turn === listed && void listSessions("again"), MORE_DETAILS);
  }
}

/** Leave the open session. */
export function leave(): void {
  following?.abort();
  opened += 1;
  batch(() => {
    s.screen.value = "session";
    s.session.value = undefined;
    s.wanted.value = undefined;
    s.events.value = [];
    s.total.value = 0;
    s.spans.value = [];
    s.partials.value = [];
    s.live.value = [];
    stopping = false;
    s.told.value = "";
    s.sent.value = undefined;
    s.running.value = false;
    s.selected.value = undefined;
    s.beside.value = "";
    s.lost.value = false;
    s.gone.value = false;
  });
}

/** Open a session: its newest events at once, older ones when they are scrolled to. */
export async function open(where: Place): Promise<void> {
  batch(() => {
    leave();
    s.wanted.value = { user: where.user, session: where.session };
  });
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
    const fresh = new Set(found.map((span) => span.id)); // an agent that runs as a tool brings its caller's
    const others = s.spans.value.filter(
      (span) => invocation && span.invocationId !== invocation && !fresh.has(span.id),
    );
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

/**
 * Take what the session's stream brings until another session is opened; reconnect where it breaks.
 * A hidden tab has no stream; it gets what it missed when it is shown again.
 */
async function follow(where: Place, turn: number): Promise<void> {
  let pause = 500;
  while (turn === opened) {
    await untilVisible();
    if (turn !== opened) return;
    const stream = (following = new AbortController());
    const end = whenHidden(() => stream.abort());
    stale = s.partials.value; // what runs is told from its beginning
    try {
      const after = s.events.value[s.events.value.length - 1]?.number ?? 0;
      for await (const frame of api.follow(where, after, stream.signal)) {
        if (turn !== opened) return;
        pause = 500;
        s.lost.value = false;
        if (frame.event === "message") take(parseJson(frame.data), frame.id);
        else if (frame.event === "running") s.running.value = true;
        else if (frame.event === "idle" && (s.running.value || s.sent.value)) idle();
      }
    } catch (error) {
      if (turn !== opened) return;
      if (stream.signal.aborted) continue;
      if (error instanceof ApiError && error.kind === NOT_FOUND) return tellGone();
      if (error instanceof ApiError && error.status < 500) {
        s.problem.value = error.message;
        return;
      }
      s.lost.value = true;
    } finally {
      end();
    }
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, 10_000);
  }
}

/** Say that the open session was deleted. */
function tellGone(): void {
  idle();
  s.gone.value = true;
  s.told.value = GONE;
}

/** Say why a run failed, unless the log shows it already. */
function tellFailure(text: string): void {
  if (s.events.value.some((one) => one.number > lastBefore && one.event.errorCode)) return;
  s.problem.value = failure = text;
}

function take(found: Event & { error?: string }, id: string | undefined): void {
  if (found.error !== undefined && !found.id) {
    if (!found.error.startsWith(NOT_FOUND)) tellFailure(found.error); // else the next stream tells that it is gone
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
    const old = stale.filter((one) => sameSpeaker(one, found)); // told again from its beginning
    s.partials.value = grown(s.partials.value.filter((one) => !old.includes(one)), found);
    return;
  }
  const number = Number(id);
  const last = s.events.value[s.events.value.length - 1]?.number ?? 0;
  if (number <= last) return;
  batch(() => {
    s.events.value = [...s.events.value, { number, event: found }];
    s.total.value = Math.max(s.total.value, number);
    if (!found.errorCode) {
      s.live.value = s.live.value.filter((one) => !isStopped(one) || !sameSpeaker(one, found));
    }
    if (isCancelled(found) || (stopping && found.errorCode)) keepStopped(); // the mark of the cancelled run
    s.partials.value = s.partials.value.filter((one) => !sameSpeaker(one, found));
    if (found.author === "user") s.sent.value = undefined;
    if (found.errorCode && s.problem.value === failure) s.problem.value = undefined;
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
  const question = event.content?.parts?.find((part) => part.functionCall?.name === REQUEST_INPUT);
  const credential = event.content?.parts?.some((part) => part.functionCall?.name === CREDENTIAL);
  if (credential) s.told.value = `${event.author} asks for a credential`;
  else if (original) s.told.value = `${revealed(String(original["name"]))} asks for approval`;
  else if (question) {
    s.told.value = `${event.author} asks: ${String(question.functionCall?.args?.["message"] ?? "")}`;
  }
  else if (isCancelled(event)) s.told.value = "The turn was stopped.";
  else if (event.errorCode) s.told.value = `${event.author} failed: ${event.errorMessage ?? ""}`;
  else if (text && event.author !== "user" && callOf(event) === undefined) {
    s.told.value = `${event.author}: ${oneLine(text, 500)}`;
  }
}

function idle(): void {
  batch(() => {
    s.running.value = false;
    keepStopped();
    s.partials.value = [];
    s.sent.value = undefined;
  });
  void loadSpans();
  void refreshOpen();
  void listSessions();
}

/** Keep what was streamed until a person stopped the run or its server died; the log does not have it. */
function keepStopped(): void {
  stopping = false;
  const said = s.partials.value.filter((one) => one.content?.parts?.length);
  s.live.value = [
    ...s.live.value,
    ...said.map((one) => ({ ...one, customMetadata: { ...one.customMetadata, [STOPPED]: true } })),
  ].slice(-MOST_LIVE);
}

/** Ask what waits once nothing runs any more: what still does can be answered again. */
async function refreshOpen(): Promise<void> {
  const before = [...s.answering.value];
  if (!(await refreshApprovals()) || s.running.value) return;
  const waiting = new Set(s.approvals.value.map(keyOf));
  release(before.filter((key) => waiting.has(key)));
}

/** Go to a new session; one that is open and still empty is new already. */
export async function beginSession(): Promise<void> {
  const empty = s.session.value && !s.total.value && !s.sent.value && !s.running.value;
  if (empty) s.screen.value = "session";
  else await newSession();
}

/** Create a session, open it and return it; a second click meanwhile creates no other. */
export function newSession(state: JsonObject = {}): Promise<Place | undefined> {
  creating ??= createSession(state).finally(() => (creating = undefined));
  return creating;
}

async function createSession(state: JsonObject): Promise<Place | undefined> {
  const turn = opened;
  const made = await tried(() => api.create(s.app.value, s.user.value, { state }));
  if (!made) return undefined;
  await listSessions();
  if (turn !== opened) return undefined; // another session was opened meanwhile
  await open({ app: made.appName, user: made.userId, session: made.id });
  return s.session.value?.id === made.id ? place() : undefined;
}

/** Send a message, with the files of the box that are in it. What the server does not take is in the box again. */
export async function send(parts: Part[], added: File[] = []): Promise<void> {
  const one = box.dispatch(parts);
  const where = place() ?? (await newSession());
  if (!where) return box.settle(one, "refused", added);
  const turn = opened;
  lastBefore = s.events.value[s.events.value.length - 1]?.number ?? 0;
  const content: Message = { role: "user", parts };
  batch(() => {
    s.sent.value = { id: "sent", invocationId: "", author: "user", timestamp: Date.now() / 1000, content };
    s.running.value = true;
  });
  const done = await tried(async () => {
    // The session's own stream shows what happens; this one tells when the run could not begin.
    const control = new AbortController();
    const answer = await api.run(where, content, one.key, control.signal).catch((error: unknown) => {
      box.settle(one, error instanceof ApiError && error.status < 500 ? "refused" : "unknown", added);
      throw error;
    });
    box.settle(one, "taken");
    const end = whenHidden(() => control.abort()); // the run goes on
    try {
      for await (const frame of answer) {
        const body = frame.data ? JSON.parse(frame.data) : {};
        if (body.error !== undefined && !body.id) tellFailure(body.error);
      }
    } catch (error) {
      if (!control.signal.aborted) throw error;
    } finally {
      end();
    }
    return true;
  });
  if (turn !== opened) return;
  if (done) await settle(where, turn);
  else idle();
}

/** Ask whether something runs: a run that was over at once may have had no mark in the stream. */
export async function settle(where: Place, turn: number): Promise<void> {
  const found = await tried(() => api.status(where));
  if (!found || turn !== opened || ["running", "left"].includes(found.state)) return;
  if (s.running.value || s.sent.value) idle();
  else void listSessions(); // the mark that ended it may be older than the run
  void loadLatestSpans(); // the mark of the run before may have come after this one began
}

export async function stop(): Promise<void> {
  const where = place();
  if (!where) return;
  stopping = true;
  await tried(() => api.cancel(where));
}

/** What tells a call from all others; a node may ask twice by one id. */
export const keyOf = (one: Approval): string =>
  [one.userId, one.sessionId, one.eventId, one.callId].join(" ");

/** Let calls be answered again. */
export function release(keys: Iterable<string>): void {
  const left = new Set(s.answering.value);
  for (const key of keys) left.delete(key);
  s.answering.value = left;
}

/** Ask the server what waits; return whether it told. */
export async function refreshApprovals(): Promise<boolean> {
  const name = s.app.value;
  if (!name || s.apps.value.find((one) => one.name === name)?.error) return false;
  try {
    const found = await api.approvals(name);
    if (name === s.app.value) {
      s.approvals.value = found.filter((one) => !(keyOf(one) in s.outcomes.value));
    }
    return true;
  } catch {
    return false; // asked again soon; what the person does meanwhile tells what is wrong
  }
}

/** Ask what waits in the open agent, and count what waits in the others. */
export async function refreshWaiting(): Promise<void> {
  void refreshApprovals();
  const others = s.apps.value.filter((one) => !one.error && one.name !== s.app.value).slice(0, MOST_AGENTS);
  const found = await Promise.all(
    others.map(({ name }) => api.approvals(name).then((all) => [name, all.length] as const, () => [name, 0] as const)),
  );
  s.elsewhere.value = Object.fromEntries(found.filter(([, count]) => count));
}

/** Fork the session and open the fork; return it. */
export async function fork(atEvent?: string): Promise<Place | undefined> {
  const where = place();
  const made = where && (await tried(() => api.fork(where, atEvent)));
  if (!made) return undefined;
  await listSessions();
  await open({ ...where, session: made.id });
  return s.session.value?.id === made.id ? place() : undefined;
}

/** Fork before a message of the user's and send another one in its place. */
export async function rerun(one: Numbered, text: string): Promise<void> {
  const before = s.events.value[s.events.value.indexOf(one) - 1];
  if (await (before ? fork(before.event.id) : newSession())) await send([{ text }]);
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

/** Let the agent's model name a session. */
export async function nameByModel(one: Summary): Promise<void> {
  const where = placeOf(one);
  const found = await tried(() => api.nameByModel(where));
  if (found) s.told.value = `Named ${found.title}`;
  await listSessions();
}

export async function remove(one: Summary): Promise<void> {
  const where = placeOf(one);
  if (s.session.value?.id === one.id) inPlace(leave); // nobody can go back to it
  await tried(() => api.remove(where));
  void refreshApprovals();
  await listSessions();
}

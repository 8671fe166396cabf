// Every call of the server, and nothing else.

import { parseJson } from "./numbers";
import { isObject } from "./schema";
import { frames } from "./sse";
import type { Frame } from "./sse";
import type {
  AppGraph,
  AppInfo,
  Approval,
  AppTree,
  EventPage,
  JsonObject,
  ForkBranch,
  Message,
  Prices,
  Session,
  SessionPage,
  Span,
  SpanDetail,
  StateAt,
} from "./types";
import type { EffectList, EvalCase, EvalCaseResult, EvalSetResult, SessionTitle, TracebackList } from "./wire";

// The page lies at PREFIX/page/, or where `--ui-dir` serves it; the API at PREFIX.
const BASE = location.pathname.replace(/\/(page|dev-ui)(\/.*)?$/, "");
const TOKEN = "ostinato-token";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** The whole answer of the server. */
    readonly body: JsonObject = {},
  ) {
    super(message);
  }

  /** The name of the server's error. */
  get kind(): unknown {
    const told = this.body["error"];
    return isObject(told) ? told["type"] : undefined;
  }
}

export interface Place {
  app: string;
  user: string;
  session: string;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

/** The subprotocols of a WebSocket, which cannot send headers: they carry the token. */
export function socketProtocols(): string[] {
  const token = sessionStorage.getItem(TOKEN);
  if (!token) return ["ostinato-live"];
  const bytes = String.fromCharCode(...new TextEncoder().encode(token));
  const encoded = btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return ["ostinato-live", `ostinato-token.${encoded}`];
}

export const hasToken = (): boolean => sessionStorage.getItem(TOKEN) !== null;

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (init.body) headers.set("Content-Type", "application/json");
  const response = await fetch(BASE + path, { ...init, headers }).catch((error: unknown) => {
    if (!(error instanceof TypeError)) throw error; // such as one that was cancelled
    const next = init.method ? "Do this again when it is back." : "The page tries again.";
    throw new Error(`The server cannot be reached. Is it still running? ${next}`);
  });
  if (!response.ok) throw await problem(response);
  return response;
}

async function problem(response: Response): Promise<ApiError> {
  try {
    const body = parseJson<JsonObject>(await response.text());
    const { detail, error } = body;
    const told = typeof detail === "string" ? detail : isObject(error) ? error["message"] : undefined;
    return new ApiError(response.status, typeof told === "string" ? told : JSON.stringify(detail ?? body), body);
  } catch {
    return new ApiError(response.status, `The server answered ${response.status}.`);
  }
}

async function read<T>(path: string): Promise<T> {
  return parseJson<T>(await (await send(path)).text());
}

async function post<T>(path: string, body: unknown, method = "POST"): Promise<T> {
  return parseJson<T>(await (await send(path, { method, body: JSON.stringify(body) })).text());
}

/** Parameters of a list; those without a value are left out. */
type Asked = { [name: string]: string | undefined };

const MOST_EMPTY = 20; // pages without a session that are passed over
const enc = encodeURIComponent;
const sessionsOf = (app: string, user: string) => `/apps/${enc(app)}/users/${enc(user)}/sessions`;
const evalOf = (app: string) => `/dev/apps/${enc(app)}`;
const at = (place: Place) => `${sessionsOf(place.app, place.user)}/${enc(place.session)}`;

export const api = {
  /** The agents; if there are none, the folder in which they are looked for. */
  apps: () => read<{ apps: AppInfo[]; folder?: string }>("/list-apps?detailed=true"),
  tree: (app: string) => read<AppTree>(`/apps/${enc(app)}/app-info`),
  graph: (app: string) => read<AppGraph>(`/apps/${enc(app)}/graph`),
  prices: (app: string) => read<Prices>(`/apps/${enc(app)}/prices`),
  /**
   * A page of sessions with their details; `asked` are parameters of the list. A search and a filter
   * may give empty pages before the first session; these are passed over.
   */
  sessions: async (app: string, asked: Asked, signal?: AbortSignal): Promise<SessionPage> => {
    const query = new URLSearchParams({ pageSize: "50", details: "true" });
    for (const [name, value] of Object.entries(asked)) if (value) query.set(name, value);
    for (let tries = 1; ; tries += 1) {
      const response = await send(`/apps/${enc(app)}/sessions?${query}`, signal ? { signal } : {});
      const page = parseJson<SessionPage>(await response.text());
      if (page.sessions.length || !page.nextPageToken || tries >= MOST_EMPTY) return page;
      query.set("pageToken", page.nextPageToken);
    }
  },
  /** Let a model name a session. */
  nameByModel: (place: Place) => post<SessionTitle>(`${at(place)}/title`, {}),
  session: (place: Place) => read<Session>(at(place)),
  /** The session without its events. */
  outline: (place: Place) => read<Session>(`${at(place)}?numRecentEvents=0`),
  create: (app: string, user: string, body: JsonObject = {}) =>
    post<Session>(sessionsOf(app, user), body),
  importSession: (app: string, user: string, session: Session) =>
    post<Session>(sessionsOf(app, user), {
      state: session.state,
      events: session.events ?? [],
    }),
  remove: (place: Place) => send(at(place), { method: "DELETE" }),
  patchState: (place: Place, stateDelta: JsonObject) =>
    post<Session>(at(place), { stateDelta }, "PATCH"),
  /** The newest events before a number, or the newest of all. */
  eventsBefore: (place: Place, before: number | undefined, limit: number) =>
    read<EventPage>(`${at(place)}/events?before=${before ?? 2 ** 53}&limit=${limit}`),
  /** The spans of a session, or of one of its invocations. */
  spans: (place: Place, invocation?: string) => {
    const query = invocation ? `?${new URLSearchParams({ invocationId: invocation })}` : "";
    return read<{ spans: Span[] }>(`${at(place)}/spans${query}`).then((x) => x.spans);
  },
  /** Where the developer's code failed in a run. */
  tracebacks: (place: Place, invocation: string) =>
    read<TracebackList>(`${at(place)}/tracebacks?${new URLSearchParams({ invocationId: invocation })}`),
  /** The state around an event, or around the last one. */
  stateAt: (place: Place, event?: string) =>
    read<StateAt>(`${at(place)}/state${event ? `?${new URLSearchParams({ eventId: event })}` : ""}`),
  /** The sessions that begin with the same events, as a tree. */
  forks: (place: Place) => read<ForkBranch>(`${at(place)}/forks`),
  /** Fork a session and run a message there with another instruction or model. */
  tryAgain: (place: Place, body: JsonObject) => post<Session>(`${at(place)}/trials`, body),
  /** The address of a live conversation. */
  liveAddress: (place: Place, modality: string) => {
    const query = new URLSearchParams({
      app_name: place.app,
      user_id: place.user,
      session_id: place.session,
      modalities: modality,
    });
    return `${location.origin.replace(/^http/, "ws")}${BASE}/run_live?${query}`;
  },
  span: (place: Place, id: string) => read<SpanDetail>(`${at(place)}/spans/${enc(id)}`),
  fork: (place: Place, atEvent?: string) =>
    post<Session>(`${at(place)}/fork`, atEvent ? { atEvent } : {}),
  rewind: (place: Place, invocationId: string) =>
    post<Session>(`${at(place)}/rewind`, { beforeInvocationId: invocationId }),
  status: (place: Place) => read<{ state: string }>(`${at(place)}/run`),
  cancel: (place: Place) => post<{ cancelled: boolean }>(`${at(place)}/cancel`, {}),
  approvals: (app: string) =>
    read<{ approvals: Approval[] }>(`/apps/${enc(app)}/approvals`).then((found) => found.approvals),
  answer: (app: string, one: Approval, decision: JsonObject) =>
    post(
      `${at({ app, user: one.userId, session: one.sessionId })}/approvals/${enc(one.callId)}`,
      decision,
    ),
  artifacts: (place: Place) => read<string[]>(`${at(place)}/artifacts`),
  artifact: (place: Place, name: string) =>
    read<{ inlineData?: { mimeType: string; data: string }; text?: string }>(
      `${at(place)}/artifacts/${name.split("/").map(enc).join("/")}`,
    ),

  // Evaluation: the routes of google-adk's page.
  evalSets: (app: string) =>
    read<{ evalSetIds: string[] }>(`${evalOf(app)}/eval-sets`).then((found) => found.evalSetIds),
  createEvalSet: (app: string, name: string) =>
    post(`${evalOf(app)}/eval-sets`, { evalSet: { evalSetId: name, evalCases: [] } }),
  evalCases: (app: string, set: string) => read<string[]>(`${evalOf(app)}/eval-sets/${enc(set)}/eval-cases`),
  evalCase: (app: string, set: string, id: string) =>
    read<EvalCase>(`${evalOf(app)}/eval-sets/${enc(set)}/eval-cases/${enc(id)}`),
  removeEvalCase: (app: string, set: string, id: string) =>
    send(`${evalOf(app)}/eval-sets/${enc(set)}/eval-cases/${enc(id)}`, { method: "DELETE" }),
  /** Add a session as a case, or only the turn of an invocation. */
  addEvalSession: (app: string, set: string, id: string, one: { id: string; userId: string }, invocationId?: string) =>
    post(`${evalOf(app)}/eval-sets/${enc(set)}/add-session`, {
      evalId: id,
      sessionId: one.id,
      userId: one.userId,
      invocationId,
    }),
  /** Run cases, all if none is named, by the agent's `test_config.json`. */
  runEvalCases: (app: string, set: string, ids: string[]) =>
    post<{ runEvalResults: EvalCaseResult[] }>(`${evalOf(app)}/eval-sets/${enc(set)}/run`, {
      evalCaseIds: ids,
    }).then((found) => found.runEvalResults),
  evalResults: (app: string) =>
    read<{ evalResultIds: string[] }>(`${evalOf(app)}/eval-results`).then((found) => found.evalResultIds),
  evalResult: (app: string, id: string) => read<EvalSetResult>(`${evalOf(app)}/eval-results/${enc(id)}`),
  /** What tools did: in a session, or over all sessions of an app; newest first. */
  effects: (app: string, place: Place | undefined, asked: Asked) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(asked)) if (value) query.set(name, value);
    return read<EffectList>(`${place ? at(place) : `/apps/${enc(app)}`}/effects?${query}`);
  },

  /**
   * Start a run that goes on if this page is closed; the key makes a repeated message one. The server
   * answers once it has taken the message; `signal` ends the stream.
   */
  run: async (place: Place, newMessage: Message, key: string, signal: AbortSignal): Promise<AsyncGenerator<Frame>> => {
    const response = await send("/run_sse?detach=true", {
      method: "POST",
      signal,
      headers: { "Idempotency-Key": key },
      body: JSON.stringify({
        appName: place.app,
        userId: place.user,
        sessionId: place.session,
        newMessage,
        streaming: true,
      }),
    });
    return frames(response);
  },

  /** Follow a session from an event on: what is stored after it, then what runs. */
  async *follow(place: Place, after: number, signal: AbortSignal): AsyncGenerator<Frame> {
    const headers = { "Last-Event-ID": String(after) };
    yield* frames(await send(`${at(place)}/events/stream`, { headers, signal }));
  },
};


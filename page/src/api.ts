// Every call of the server, and nothing else.

import { frames } from "./sse";
import type { Frame } from "./sse";
import type {
  AgentNode,
  AppInfo,
  Approval,
  Event,
  EventPage,
  JsonObject,
  Message,
  Session,
  SessionPage,
  Span,
  SpanDetail,
} from "./types";

// The page lies at PREFIX/page/; the API at PREFIX.
const BASE = location.pathname.replace(/\/page\/.*$|\/page$/, "");
const TOKEN = "ostinato-token";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
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

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (init.body) headers.set("Content-Type", "application/json");
  const response = await fetch(BASE + path, { ...init, headers });
  if (!response.ok) throw new ApiError(response.status, await problem(response));
  return response;
}

async function problem(response: Response): Promise<string> {
  try {
    const body = await response.json();
    if (typeof body.detail === "string") return body.detail;
    return body.error?.message ?? JSON.stringify(body.detail ?? body);
  } catch {
    return `The server answered ${response.status}.`;
  }
}

async function read<T>(path: string): Promise<T> {
  return (await send(path)).json();
}

async function post<T>(path: string, body: unknown, method = "POST"): Promise<T> {
  return (await send(path, { method, body: JSON.stringify(body) })).json();
}

const enc = encodeURIComponent;
const sessionsOf = (app: string, user: string) => `/apps/${enc(app)}/users/${enc(user)}/sessions`;
const at = (place: Place) => `${sessionsOf(place.app, place.user)}/${enc(place.session)}`;

export const api = {
  apps: () => read<{ apps: AppInfo[] }>("/list-apps?detailed=true").then((found) => found.apps),
  graph: (app: string) => read<AgentNode>(`/apps/${enc(app)}/agents`),
  sessions: (app: string, user: string, search: string, token?: string) => {
    const query = new URLSearchParams({ page_size: "50" });
    if (search) query.set("q", search);
    if (token) query.set("page_token", token);
    return read<SessionPage>(`/apps/${enc(app)}/users/${enc(user)}/session-pages?${query}`);
  },
  session: (place: Place) => read<Session>(at(place)),
  state: (place: Place) => read<Session>(`${at(place)}/summary`),
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
  events: (place: Place, after: number, limit: number) =>
    read<EventPage>(`${at(place)}/events?after=${after}&limit=${limit}`),
  eventsBefore: (place: Place, before: number, limit: number) =>
    read<EventPage>(`${at(place)}/events?before=${before}&limit=${limit}`),
  spans: (place: Place) => read<{ spans: Span[] }>(`${at(place)}/spans`).then((x) => x.spans),
  span: (place: Place, id: string) => read<SpanDetail>(`${at(place)}/spans/${enc(id)}`),
  fork: (place: Place, atEvent?: string) =>
    post<Session>(`${at(place)}/fork`, atEvent ? { atEvent } : {}),
  rewind: (place: Place, invocationId: string) =>
    post<Session>(`${at(place)}/rewind`, { rewindBeforeInvocationId: invocationId }),
  cancel: (place: Place) => post<{ cancelled: boolean }>(`${at(place)}/cancel`, {}),
  approvals: () => read<{ approvals: Approval[] }>("/approvals").then((found) => found.approvals),
  artifacts: (place: Place) => read<string[]>(`${at(place)}/artifacts`),
  artifact: (place: Place, name: string) =>
    read<{ inlineData?: { mimeType: string; data: string }; text?: string }>(
      `${at(place)}/artifacts/${name.split("/").map(enc).join("/")}`,
    ),

  /** Start a run that goes on if this page is closed; the key makes a repeated message one. */
  async *run(place: Place, newMessage: Message, signal: AbortSignal): AsyncGenerator<Frame> {
    const response = await send("/run_sse?detach=true", {
      method: "POST",
      signal,
      headers: { "Idempotency-Key": crypto.randomUUID() },
      body: JSON.stringify({
        appName: place.app,
        userId: place.user,
        sessionId: place.session,
        newMessage,
        streaming: true,
      }),
    });
    yield* frames(response);
  },

  /** Follow a session from an event on: what is stored after it, then what runs. */
  async *follow(place: Place, after: number, signal: AbortSignal): AsyncGenerator<Frame> {
    const headers = { "Last-Event-ID": String(after) };
    yield* frames(await send(`${at(place)}/events/stream`, { headers, signal }));
  },
};

export type Api = typeof api;
export type { Event };

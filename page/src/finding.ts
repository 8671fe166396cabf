// What the finder offers: actions, agents, sessions, and events that hold the words.

import * as act from "./actions";
import { api } from "./api";
import { reveal } from "./address";
import { flag, setting } from "./settings";
import * as s from "./state";
import type { SessionHit, Summary } from "./types";

const shown = () => s.dialog.value === "find";
export const query = setting("q", "", { shown, typed: true });
/** Which sessions are looked at: `days` are counted back from now, `everyone` means those of all users. */
export const filters = {
  agent: setting("q.agent", "", { shown }),
  tool: setting("q.tool", "", { shown }),
  state: setting("q.state", "", { shown }),
  days: setting("q.days", "", { shown }),
  everyone: flag("q.everyone", shown),
};
export const filtersNow = () => ({
  agent: filters.agent.value,
  tool: filters.tool.value,
  state: filters.state.value,
  days: filters.days.value,
  everyone: filters.everyone.value,
});
export type Filters = ReturnType<typeof filtersNow>;

/** Begin anew the next time. */
export function clearFinder(): void {
  for (const one of [query, ...Object.values(filters)]) one.value = "";
}

export interface Found {
  key: string;
  kind: "action" | "agent" | "session" | "event";
  text: string;
  note: string;
  session?: Summary;
  hit?: SessionHit;
  go: () => void;
}

interface Action {
  text: string;
  note: string;
  /** Whether it makes sense now. */
  when?: () => boolean;
  go: () => void;
}

const hasSession = () => s.session.value !== undefined;
const show = (view: s.View) => () => {
  s.screen.value = "session";
  s.view.value = view;
};

const ACTIONS: Action[] = [
  { text: "New session", note: "N", when: () => s.app.value !== "", go: () => void act.beginSession() },
  { text: "What waits for you", note: "W", go: () => (s.dialog.value = "inbox") },
  { text: "Evaluation", note: "screen", when: () => s.app.value !== "", go: () => (s.screen.value = "evaluation") },
  { text: "Effects of all sessions", note: "screen", when: () => s.app.value !== "", go: () => (s.screen.value = "effects") },
  ...s.VIEWS.map(([view, text]) => ({ text, note: "view", when: hasSession, go: show(view) })),
  { text: "Fork this session", note: "action", when: hasSession, go: () => void act.fork() },
  { text: "Stop the run", note: "action", when: () => s.running.value, go: () => void act.stop() },
  { text: "Dark colours", note: "looks", go: () => (s.theme.value = "dark") },
  { text: "Light colours", note: "looks", go: () => (s.theme.value = "light") },
  { text: "Colours of the system", note: "looks", go: () => (s.theme.value = "auto") },
  { text: "Compact rows", note: "looks", go: () => (s.density.value = "compact") },
  { text: "Comfortable rows", note: "looks", go: () => (s.density.value = "comfortable") },
  { text: "Fold or unfold the sidebar", note: "[", go: () => (s.folded.value = !s.folded.value) },
  { text: "Keys", note: "?", go: () => (s.dialog.value = "keys") },
  { text: "What went wrong", note: "log", go: () => (s.dialog.value = "problems") },
];

const holds = (text: string, words: string[]): boolean => {
  const folded = text.toLowerCase();
  return words.every((word) => folded.includes(word));
};

const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/** What the page knows without asking: actions and agents. */
export function findHere(text: string): Found[] {
  const words = wordsOf(text);
  const actions = ACTIONS.filter((one) => (one.when?.() ?? true) && holds(one.text, words)).map(
    (one): Found => ({ key: `action ${one.text}`, kind: "action", ...one }),
  );
  const agents = s.apps.value
    .filter((one) => one.name !== s.app.value && holds(`${one.name} ${one.description}`, words))
    .map(
      (one): Found => ({
        key: `agent ${one.name}`,
        kind: "agent",
        text: one.name,
        note: one.error ? "cannot be loaded" : "agent",
        go: () => void act.chooseApp(one.name),
      }),
    );
  return [...actions.slice(0, words.length ? 6 : 4), ...agents.slice(0, 6)];
}

/** Ask the server for sessions, and for the events that hold the words. */
export async function findSessions(
  text: string,
  filters: Filters,
  signal: AbortSignal,
): Promise<{ found: Found[]; unindexed: number }> {
  const app = s.app.value;
  if (!app) return { found: [], unindexed: 0 };
  const since = Number(filters.days) > 0 ? Date.now() / 1000 - Number(filters.days) * 86_400 : 0;
  const page = await api.sessions(
    app,
    {
      search: text.trim(),
      hits: text.trim() ? "3" : undefined,
      userId: filters.everyone ? undefined : s.user.value,
      agent: filters.agent.trim(),
      tool: filters.tool.trim(),
      state: filters.state,
      since: since ? String(Math.floor(since)) : undefined,
      pageSize: "20",
    },
    signal,
  );
  const found = page.sessions.flatMap((one) => rowsOf(app, one));
  return { found, unindexed: page.complete ? 0 : page.unindexed };
}

function rowsOf(app: string, session: Summary): Found[] {
  const where = { app, user: session.userId, session: session.id };
  const open = async (number?: number) => {
    if (s.session.value?.id !== session.id) await act.open(where);
    if (number === undefined) return;
    if (s.view.value !== "timeline") s.view.value = "chat";
    await reveal(number);
  };
  const head: Found = {
    key: `session ${session.userId}/${session.id}`,
    kind: "session",
    text: s.label(session),
    note: session.userId === s.user.value ? "" : session.userId,
    session,
    go: () => void open(),
  };
  const hits = (session.hits ?? []).map(
    (hit): Found => ({
      key: `${head.key} ${hit.number}`,
      kind: "event",
      text: hit.snippet,
      note: `${hit.author} #${hit.number}`,
      hit,
      go: () => void open(hit.number),
    }),
  );
  return [head, ...hits];
}

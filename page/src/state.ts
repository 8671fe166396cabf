// What the page knows, as signals. Actions change it; the parts read it.

import { computed, signal } from "@preact/signals";
import { straight } from "./hidden";
import { setting } from "./settings";
import { isStopped, nested } from "./nesting";
import type { Row } from "./nesting";
import { isShown, turnsOf } from "./turns";
import type {
  AppInfo,
  Approval,
  AppTree,
  Event,
  Numbered,
  Session,
  Span,
  Summary,
} from "./types";

/** The views of a session, in their order, and what they are called. */
export const VIEWS = [
  ["chat", "Chat"],
  ["timeline", "Timeline"],
  ["graph", "Agents"],
  ["state", "State"],
  ["artifacts", "Artifacts"],
  ["effects", "Effects"],
  ["live", "Live"],
  ["compare", "Compare"],
] as const;
export type View = (typeof VIEWS)[number][0];
const SCREENS = ["session", "evaluation", "effects"] as const;
/** What stands in the middle: a session, or something of all sessions. */
export type Screen = (typeof SCREENS)[number];
const DIALOGS = ["", "find", "inbox", "keys", "problems"] as const;
/** What lies over the screen. */
type DialogName = (typeof DIALOGS)[number];
const ONLY = ["", "running", "waiting", "failed"] as const;

const kept = (name: string, otherwise: string) => localStorage.getItem(name) ?? otherwise;

export const apps = signal<AppInfo[]>([]);
/** The folder without agents that the server looks in, if it tells. */
export const folder = signal("");
export const app = signal<string>("");
export const user = signal(kept("ostinato-user", "user"));
export const sessions = signal<Summary[]>([]);
export const moreSessions = signal<string | undefined>(undefined);
export const search = setting("search", "", { typed: true });
/** Which sessions the sidebar lists: all, or those in one state. */
export const only = setting<(typeof ONLY)[number]>("list", "", { among: ONLY });
/** How many sessions could not be searched yet. */
export const unindexed = signal(0);
export const session = signal<Session | undefined>(undefined);
/** The session that is open, or is being opened. */
export const wanted = signal<{ user: string; session: string } | undefined>(undefined);
export const screen = setting<Screen>("screen", "session", { among: SCREENS });
const inSession = () => screen.value === "session" && wanted.value !== undefined;
export const view = setting<View>("view", "chat", { among: VIEWS.map(([view]) => view), shown: inSession });
export const sees = (one: View) => () => inSession() && view.value === one;
export const dialog = setting<DialogName>("dialog", "", { among: DIALOGS });
export const theme = signal<"auto" | "dark" | "light">(
  kept("ostinato-theme", "auto") as "auto" | "dark" | "light",
);
export const density = signal<"comfortable" | "compact">(
  kept("ostinato-density", "comfortable") as "comfortable" | "compact",
);
/** Whether the sidebar is folded, as it is at first on a telephone. */
export const narrow = matchMedia("(max-width: 44rem)");
export const folded = signal(narrow.matches || kept("ostinato-folded", "") === "yes");
/** Whether single letters are keys of the page; some people's tools type them. */
export const letters = signal(kept("ostinato-letters", "yes") === "yes");

/** The session's events that are loaded, in order; the oldest may be missing. */
export const events = signal<Numbered[]>([]);
export const total = signal(0);
/** Streamed pieces that no stored event repeats yet, one for each speaker. */
export const partials = signal<Event[]>([]);
/** Whole events of agents that run as tools: they are seen live, and in no log of this session. */
export const live = signal<Event[]>([]);
/** What the user sent and the log does not show yet. */
export const sent = signal<Event | undefined>(undefined);
export const running = signal(false);
export const selected = signal<string | undefined>(undefined);
export const spans = signal<Span[]>([]);
export const approvals = signal<Approval[]>([]);
/** How much waits in the other agents, by agent; those where nothing does are left out. */
export const elsewhere = signal<{ [app: string]: number }>({});
/** Keys of calls whose answer is on its way; their buttons are disabled. */
export const answering = signal<ReadonlySet<string>>(new Set());
/** Outcomes of calls that were answered elsewhere, or are no longer open, by key. */
export const outcomes = signal<{ [key: string]: string }>({});
/** Calls of the inbox that had such an outcome when they were answered there. */
export const settled = signal<{ one: Approval; text: string }[]>([]);
export const tree = signal<AppTree | undefined>(undefined);
export const problem = signal<string | undefined>(undefined);
/** Whether the server wants a token: the first one, or another one than was given. */
export const needsToken = signal<"" | "first" | "other">("");
/** Whether the session's stream broke and is tried again. */
export const lost = signal(false);
/** Whether the open session was deleted. */
export const gone = signal(false);
/** The id of the session beside which the open one is put. */
export const beside = setting("with", "", { shown: sees("compare") });

/** What is to be read out: answers and what waits for approval, as they come. */
export const told = signal("");

const unnumbered = (event: Event): Numbered => ({ number: 0, event });

export const byId = computed(
  () =>
    new Map(
      [...live.value.map(unnumbered), ...events.value].map((one) => [one.event.id, one]),
    ),
);

export const chosen = computed(() =>
  selected.value === undefined ? undefined : byId.value.get(selected.value),
);

/** Rows of chat and timeline: what is stored, what was seen live, what is under way. */
export const rows = computed<Row[]>(() => {
  const stopped = live.value.filter(isStopped);
  const going = live.value.filter((one) => !isStopped(one));
  const open = [sent.value, ...going, ...partials.value].filter((one) => one !== undefined);
  return nested([...withStopped(events.value, stopped), ...open.map(unnumbered)]);
});

/** The rows of the conversation: those with something to show. */
export const shownRows = computed(() => rows.value.filter((row) => row.open || isShown(row.one.event)));

/** Put what stopped runs had said behind the events that came before it. */
function withStopped(stored: Numbered[], stopped: Event[]): Numbered[] {
  if (!stopped.length) return stored;
  const all = [...stored];
  for (const event of stopped) {
    const at = all.findLastIndex((one) => one.event.invocationId === event.invocationId);
    const stop = at >= 0 && all[at]!.event.errorCode !== undefined; // what was said came before it
    all.splice(at < 0 ? all.length : stop ? at : at + 1, 0, unnumbered(event));
  }
  return all;
}

/** Where the conversation's turns begin and end. */
export const turns = computed(() => turnsOf(rows.value, running.value, spans.value));

/** The questions to a person that are open in the session. */
export const questions = computed(() =>
  approvals.value.filter((one) => one.kind === "input" && one.sessionId === session.value?.id),
);

/** How many of the session's events come before those that are loaded. */
export const unloaded = computed(() => Math.max(0, (events.value[0]?.number ?? 1) - 1));

/** The agent that spoke or acted last, while something runs. */
export const active = computed(() => {
  if (!running.value) return undefined;
  const last = partials.value[partials.value.length - 1] ?? events.value[events.value.length - 1]?.event;
  return last?.actions?.transferToAgent ?? last?.author;
});

/** What a session is called: by a person, by its first message, or by its id. */
export const title = (one: Summary): string =>
  straight(one.title || one.firstMessage || (one.id === session.value?.id && begun.value) || one.id);

/** The end of a session's id, if several are called alike: forks have the first message of their session. */
export const tail = (one: Summary): string => (twins.value.has(title(one)) ? tailOf(one.id) : "");

export const tailOf = (id: string): string => `…${id.slice(-4)}`;

const twins = computed(() => {
  const all = sessions.value.map(title);
  return new Set(all.filter((one, at) => all.indexOf(one) !== at));
});

/** What a session is called, so that it is told apart from those that are called alike. */
export const label = (one: Summary): string => `${title(one)} ${tail(one)}`.trim();

/** What a session is called of which only the id may be known; an id that is long is cut. */
export function titleOf(user: string, id: string): string {
  const listed = sessions.value.find((one) => one.id === id && one.userId === user);
  if (listed) return label(listed);
  return id.length > 24 ? `${id.slice(0, 8)}…` : id;
}

/** The first message of the open session, before any list knows it. */
const begun = computed(() =>
  firstWords(events.value[0] ?? (sent.value && { number: 1, event: sent.value })),
);

export const openTitle = computed(() => {
  const open = session.value;
  const meta = open?.state["__session_metadata__"];
  const name =
    meta && typeof meta === "object" && !Array.isArray(meta) ? meta["displayName"] : undefined;
  if (typeof name === "string" && name) return straight(name);
  const listed = sessions.value.find((one) => one.id === open?.id && one.userId === open?.userId);
  return listed ? title(listed) : straight(begun.value ?? open?.id ?? "");
});

/** The first message of a session, if its first event is loaded. */
export function firstWords(first: Numbered | undefined): string | undefined {
  if (first?.number !== 1 || first.event.author !== "user") return undefined;
  const text = first.event.content?.parts?.map((part) => part.text ?? "").join(" ");
  return text?.replace(/\s+/g, " ").trim().slice(0, 120) || undefined;
}

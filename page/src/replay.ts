// Reports of `ostinato replay --json`: what came out differently, and where it begins.

import { signal } from "@preact/signals";
import { loadOlder, open, openedTurn } from "./actions";
import { tab } from "./evaluation";
import { isObject } from "./schema";
import { flag } from "./settings";
import * as s from "./state";
import type { Json, JsonObject, Numbered } from "./types";

export type Outcome = "same" | "words" | "calls" | "diverged" | "failed";
export const OUTCOMES: { [outcome in Outcome]: string } = {
  diverged: "diverged",
  failed: "failed",
  calls: "other calls",
  words: "same calls, other words",
  same: "same",
};
const FORMAT = 1; // of the file

export interface Call {
  name: string;
  args: JsonObject;
}

export interface Replayed {
  app: string;
  user: string;
  session: string;
  invocation: string;
  message: string;
  outcome: Outcome;
  noise: boolean;
  /** The model response with which the difference begins, from 1. */
  step: number | undefined;
  expected: Call[];
  actual: Call[];
  recorded: string;
  answer: string;
  error: string;
}

export interface Report {
  file: string;
  agent: string;
  interrupted: boolean;
  invocations: Replayed[];
  skipped: [string, number][];
}

const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");

const KEPT = "ostinato-replay"; // in this tab only
export const report = signal<Report | undefined>(recall());
export const whole = flag("same", () => tab.value === "replay" && s.screen.value === "evaluation");

/** Show a report, and keep it for a reload of this tab. Throw an error that says what is wrong with it. */
export function keepReport(file: string, content: string): void {
  report.value = readReport(file, content);
  try {
    sessionStorage.setItem(KEPT, JSON.stringify([file, content]));
  } catch {
    sessionStorage.removeItem(KEPT); // it is too large to be kept
  }
}

function recall(): Report | undefined {
  try {
    const [file, content] = JSON.parse(sessionStorage.getItem(KEPT) ?? "") as [string, string];
    return readReport(file, content);
  } catch {
    return undefined; // none is kept
  }
}

/** Read a report. Throw an error that says what is wrong with the file. */
export function readReport(file: string, content: string): Report {
  let found: Json;
  try {
    found = JSON.parse(content) as Json;
  } catch {
    throw new Error(`${file} is not JSON. Write a report with: ostinato replay AGENT --json report.json`);
  }
  const top = object(found);
  if (top["format"] !== FORMAT || !Array.isArray(top["invocations"])) {
    throw new Error(`${file} is no report of ostinato replay (format ${FORMAT}).`);
  }
  return {
    file,
    agent: text(top["agent"]),
    interrupted: top["interrupted"] === true,
    invocations: list(top["invocations"]).map((one) => readInvocation(object(one))),
    skipped: Object.entries(object(top["skipped"])).map(([reason, many]) => [reason, Number(many)]),
  };
}

function readInvocation(one: JsonObject): Replayed {
  const [change, recorded, made] = [object(one["change"]), object(one["recorded"]), object(one["new"])];
  const outcome = text(one["outcome"]);
  return {
    app: text(one["app_name"]),
    user: text(one["user_id"]),
    session: text(one["session_id"]),
    invocation: text(one["invocation_id"]),
    message: text(one["message"]),
    outcome: outcome in OUTCOMES ? (outcome as Outcome) : "failed",
    noise: one["is_noise"] === true,
    step: typeof change["step"] === "number" ? change["step"] : undefined,
    expected: callsOf(change["expected"]),
    actual: callsOf(change["actual"]),
    recorded: text(recorded["answer"]),
    answer: text(made["answer"]),
    error: text(made["error"]),
  };
}

function callsOf(value: Json | undefined): Call[] {
  return list(value).map((one) => ({ name: text(list(one)[0]), args: object(list(one)[1]) }));
}

/** The event of a recorded invocation with which a difference begins. */
export function eventAt(events: Numbered[], invocation: string, step: number | undefined): Numbered | undefined {
  const mine = events.filter(({ event }) => event.invocationId === invocation);
  if (step === undefined) return mine[mine.length - 1];
  const calls = mine.filter(({ event }) => event.content?.parts?.some((part) => part.functionCall));
  return calls[step - 1] ?? mine[mine.length - 1];
}

/** Open the recorded session at the step with which a replay began to differ. */
export async function openAt(one: Replayed): Promise<void> {
  s.view.value = "timeline";
  await open({ app: one.app || s.app.value, user: one.user, session: one.session });
  const turn = openedTurn();
  const isWhole = () => {
    const at = s.events.value.findIndex(({ event }) => event.invocationId === one.invocation);
    return at > 0 || s.unloaded.value === 0;
  };
  while (turn === openedTurn() && s.session.value && !isWhole()) {
    const first = s.events.value[0]?.number;
    await loadOlder();
    if (s.events.value[0]?.number === first) break;
  }
  const found = eventAt(s.events.value, one.invocation, one.step);
  if (turn !== openedTurn()) return;
  if (found) s.selected.value = found.event.id;
  else if (s.session.value) s.problem.value = "The session does not have this invocation any more.";
}

// Evaluation sets, their cases, and the stored results: what the page knows of them, and does.

import { signal } from "@preact/signals";
import { tried } from "./actions";
import { api, ApiError } from "./api";
import { edits } from "./diff";
import { textOf } from "./format";
import { equal } from "./jsondiff";
import { flag, inPlace, setting } from "./settings";
import * as s from "./state";
import type { FunctionCall, Json, Summary } from "./types";
import type { Turn } from "./turns";
import type { EvalCase, EvalCaseResult, EvalMetricResult, EvalSetResult, Invocation } from "./wire";

export const PASSED = 1;
export const FAILED = 2;
export const VERDICTS = { 1: "passed", 2: "failed", 3: "not evaluated" } as const;
const SHOWN = 30; // newest results that are listed
const SET = "cases"; // the set that a first case goes to

const TABS = ["cases", "results", "compare", "replay"] as const;
export type Tab = (typeof TABS)[number];
const isHere = () => s.screen.value === "evaluation";
const showsResult = () => isHere() && (tab.value === "results" || tab.value === "compare");
const compares = () => isHere() && tab.value === "compare";
export const tab = setting<Tab>("part", "cases", { among: TABS, shown: isHere });
export const set = setting("set", "", { shown: () => isHere() && tab.value === "cases" });
export const sets = signal<string[]>([]);
export const cases = signal<EvalCase[]>([]);
export const results = signal<EvalSetResult[]>([]);
/** The result that is looked at, and the one that it is compared with. */
export const result = setting("result", "", { shown: showsResult });
export const baseline = setting("before", "", { shown: compares });
/** Whether cases whose verdict is as before are left out. */
export const changed = flag("changed", compares);
/** The cases that run now: their ids, or all for an empty list. */
export const running = signal<string[] | undefined>(undefined);
export const loading = signal(false);
/** A word on what was done last. */
export const told = signal("");

let turn = 0;

/** Read sets, cases and results of the chosen app. */
export async function load(): Promise<void> {
  const app = s.app.value;
  const mine = ++turn;
  loading.value = true;
  const found = await tried(async () => {
    const [names, ids] = await Promise.all([api.evalSets(app), api.evalResults(app)]);
    const newest = ids.sort((a, b) => timeOf(b) - timeOf(a)).slice(0, SHOWN);
    return { names, read: await Promise.all(newest.map((id) => api.evalResult(app, id))) };
  });
  if (mine !== turn) return;
  loading.value = false;
  if (!found) return;
  sets.value = found.names;
  results.value = found.read;
  if (!found.names.includes(set.value)) inPlace(() => (set.value = found.names[0] ?? ""));
  await loadCases();
}

/** The seconds at the end of a result's name. */
const timeOf = (id: string): number => Number(/_([\d.]+)$/.exec(id)?.[1] ?? 0);

export async function loadCases(): Promise<void> {
  const [app, name] = [s.app.value, set.value];
  if (!name) {
    cases.value = [];
    return;
  }
  const found = await tried(async () => {
    const ids = await api.evalCases(app, name);
    return Promise.all(ids.map((id) => api.evalCase(app, name, id)));
  });
  if (found && name === set.value && app === s.app.value) cases.value = found;
}

export async function createSet(name: string): Promise<boolean> {
  const made = await tried(async () => (await api.createEvalSet(s.app.value, name), true));
  if (!made) return false;
  set.value = name;
  await load();
  return true;
}

export async function removeCase(id: string): Promise<void> {
  await tried(() => api.removeEvalCase(s.app.value, set.value, id));
  await loadCases();
}

/** Run cases of the chosen set, all if none is named; a second click meanwhile does nothing. */
export async function run(ids: string[]): Promise<boolean> {
  if (running.value) return false;
  running.value = ids;
  told.value = "";
  try {
    const found = await tried(() => api.runEvalCases(s.app.value, set.value, ids));
    if (!found) return false;
    const passed = found.filter((one) => one.finalEvalStatus === PASSED).length;
    told.value = `${passed} of ${found.length} passed.`;
    s.told.value = told.value;
    await load();
    const [latest] = results.value.filter((one) => one.evalSetId === set.value);
    if (latest) inPlace(() => (result.value = latest.evalSetResultId));
    // The reasons why cases could not run are in the answer, and not in the file.
    const reasons = new Map(found.map((one) => [one.evalId, one.errorMessage]));
    results.value = results.value.map((one) =>
      one !== latest ? one : { ...one, evalCaseResults: casesOf(one).map((each) => withReason(each, reasons)) },
    );
    return true;
  } finally {
    running.value = undefined;
  }
}

const withReason = (one: EvalCaseResult, reasons: Map<string, string | undefined>): EvalCaseResult => {
  const reason = reasons.get(one.evalId);
  return reason ? { ...one, errorMessage: reason } : one;
};

export const casesOf = (one: EvalSetResult | undefined): EvalCaseResult[] => one?.evalCaseResults ?? [];

let adding = false;

/** Add a session as a case, and show it. */
export async function addSession(one: Summary): Promise<void> {
  if (!(await addCase(caseIdOf(s.title(one), one.id), one))) return;
  showCases();
  await load();
}

export function showCases(): void {
  s.screen.value = "evaluation";
  tab.value = "cases";
}

/** The cases that were made of single turns, by invocation. */
export const added = signal<{ [invocation: string]: string }>({});

/** Add one turn of the open session as a case, with what came before it as history. */
export async function addTurn({ invocation, message }: Turn): Promise<void> {
  const open = s.session.value;
  if (!open) return;
  const id = caseIdOf(message, invocation.replace(/^e-/, ""));
  if (await addCase(id, open, invocation)) added.value = { ...added.value, [invocation]: id };
}

/** Add a case; the same session or turn has the same case, so a second time adds nothing. */
async function addCase(id: string, one: { id: string; userId: string }, invocation?: string): Promise<boolean> {
  if (adding) return false;
  adding = true;
  const app = s.app.value;
  try {
    const names = await api.evalSets(app);
    const name = names.includes(set.value) ? set.value : (names[0] ?? SET);
    if (!names.length) await api.createEvalSet(app, SET);
    const known = (await api.evalCases(app, name)).includes(id);
    if (!known) await api.addEvalSession(app, name, id, one, invocation);
    set.value = name;
    told.value = known ? `${id} is a case of ${name} already.` : `Added ${id} to ${name}.`;
    s.told.value = told.value;
    return true;
  } catch (error) {
    const absent = error instanceof ApiError && error.status === 404 && !error.message.includes("ession");
    s.problem.value = absent
      ? `${app} has no folder for evaluation sets on this server.`
      : error instanceof Error ? error.message : String(error);
    return false;
  } finally {
    adding = false;
  }
}

/** A name that a file can hold: the first words of a title, and the beginning of the session's id. */
export function caseIdOf(title: string, session: string): string {
  const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_+|_+$/g, "");
  const words = plain(title).split("_").slice(0, 5).join("_").slice(0, 40);
  const part = plain(session).slice(0, 8);
  return words && words !== plain(session).slice(0, words.length) ? `${words}_${part}` : plain(session);
}

/** The calls of a turn, in order, in either form of its data. */
export function callsOf(turn: Invocation | undefined): FunctionCall[] {
  const data = turn?.intermediateData;
  if (!data) return [];
  if ("toolUses" in data) return data.toolUses ?? [];
  const events = "invocationEvents" in data ? (data.invocationEvents ?? []) : [];
  return events.flatMap((one) =>
    (one.content?.parts ?? []).flatMap((part) => (part.functionCall ? [part.functionCall] : [])),
  );
}

export const answerOf = (turn: Invocation | undefined): string => textOf(turn?.finalResponse?.parts);

export interface CallPair {
  kind: "same" | "changed" | "missing" | "extra";
  expected?: FunctionCall;
  actual?: FunctionCall;
}

/** Put the calls of a turn beside those that were expected. */
export function pairCalls(expected: FunctionCall[], actual: FunctionCall[]): CallPair[] {
  const same = (one: FunctionCall, other: FunctionCall) => one.name === other.name && sameArgs(one, other);
  const found: CallPair[] = [];
  for (const edit of edits(expected, actual, same)) {
    if (edit.kind === "same") found.push({ kind: "same", expected: edit.left!, actual: edit.right! });
    else if (edit.kind === "removed") found.push({ kind: "missing", expected: edit.left! });
    else {
      const since = found.findLastIndex((one) => one.kind === "same") + 1;
      const at = found.findIndex((one, n) => n >= since && one.kind === "missing" && one.expected?.name === edit.right!.name);
      if (at < 0) found.push({ kind: "extra", actual: edit.right! });
      else found[at] = { ...found[at]!, kind: "changed", actual: edit.right! };
    }
  }
  return found;
}

const sameArgs = (one: FunctionCall, other: FunctionCall): boolean =>
  equal((one.args ?? {}) as Json, (other.args ?? {}) as Json);

export interface Row {
  id: string;
  before: EvalCaseResult | undefined;
  after: EvalCaseResult | undefined;
  change: "better" | "worse" | "same" | "new" | "gone";
}

/** Put two results beside each other, case by case; what got worse comes first. */
export function compareResults(before: EvalSetResult, after: EvalSetResult): Row[] {
  const [old, now] = [byCase(before), byCase(after)];
  const rows = [...new Set([...old.keys(), ...now.keys()])].map((id): Row => {
    const [one, other] = [old.get(id), now.get(id)];
    return { id, before: one, after: other, change: changeOf(one, other) };
  });
  const order = ["worse", "better", "gone", "new", "same"];
  return rows.sort((a, b) => order.indexOf(a.change) - order.indexOf(b.change) || a.id.localeCompare(b.id));
}

/** The results by case; of several runs of one case, one that failed. */
function byCase(one: EvalSetResult): Map<string, EvalCaseResult> {
  const found = new Map<string, EvalCaseResult>();
  for (const each of casesOf(one)) {
    if (found.get(each.evalId)?.finalEvalStatus !== FAILED) found.set(each.evalId, each);
  }
  return found;
}

function changeOf(before: EvalCaseResult | undefined, after: EvalCaseResult | undefined): Row["change"] {
  if (!before) return "new";
  if (!after) return "gone";
  const [one, other] = [before.finalEvalStatus === PASSED, after.finalEvalStatus === PASSED];
  return one === other ? "same" : other ? "better" : "worse";
}

/** A score as a person reads it, with the threshold that it was held to. */
export function scoreOf(one: EvalMetricResult): string {
  const number = (value: number) => String(Math.round(value * 1000) / 1000);
  if (one.score === undefined) return "no score";
  return one.threshold === undefined ? number(one.score) : `${number(one.score)} of ${number(one.threshold)}`;
}

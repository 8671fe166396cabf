// A run as steps, and two runs aligned step by step.

import { compare, equal } from "./jsondiff";
import type { Change } from "./jsondiff";
import { shortScope } from "./nesting";
import { countTokens, tokensOfUsage } from "./prices";
import type { Event, Json, Numbered, Part } from "./types";

export type StepKind =
  | "message"
  | "thought"
  | "answer"
  | "call"
  | "result"
  | "output"
  | "state"
  | "artifacts"
  | "transfer"
  | "error";

/** One thing that happened in a run. */
export interface Step {
  kind: StepKind;
  author: string;
  /** What it is about: the name of a tool or an agent; empty for words. */
  name: string;
  value: Json;
  /** Where it happened, in a graph or below a call. */
  scope: string;
  one: Numbered;
  /** Its place among all steps. */
  at: number;
  /** Whether a later rewind took it back. */
  rewound: boolean;
  /** Tokens of its model call, counted with the first step of an event only. */
  tokens: number;
  /** Seconds since the step before it. */
  seconds: number;
}

export interface Pair {
  kind: "same" | "changed" | "added" | "removed";
  left: Step | undefined;
  right: Step | undefined;
}

const NOISE = new Set(["adk_request_confirmation", "adk_request_credential"]);

/** Return the numbers of the events that later rewinds took back, the rewinds included. */
export function rewoundNumbers(events: readonly Numbered[]): Set<number> {
  const gone = new Set<number>();
  let [index, until] = [events.length - 1, ""];
  for (; index >= 0; index -= 1) {
    const { number, event } = events[index]!;
    if (until) {
      gone.add(number);
      const before = events[index - 1]?.event.invocationId;
      if (event.invocationId === until && before !== until) until = "";
      continue;
    }
    until = event.actions?.rewindBeforeInvocationId ?? "";
    if (until) gone.add(number); // all before it where the invocation was deleted or is not loaded
  }
  return gone;
}

/** Return the steps of events, in their order. */
export function stepsOf(events: readonly Numbered[]): Step[] {
  const gone = rewoundNumbers(events);
  const found: Step[] = [];
  let last = events[0]?.event.timestamp ?? 0;
  for (const one of events) {
    const { event } = one;
    let tokens = countTokens(tokensOfUsage(event.usageMetadata));
    let seconds = Math.max(0, event.timestamp - last);
    last = Math.max(last, event.timestamp);
    for (const [kind, name, value] of contentsOf(event)) {
      found.push({
        kind,
        author: event.author,
        name,
        value,
        scope: shortScope(event),
        one,
        at: found.length,
        rewound: gone.has(one.number),
        tokens,
        seconds,
      });
      tokens = seconds = 0;
    }
  }
  return found;
}

function contentsOf(event: Event): [StepKind, string, Json][] {
  const found: [StepKind, string, Json][] = [];
  for (const part of event.content?.parts ?? []) {
    const step = partOf(part, event.author);
    if (step) found.push(step);
  }
  const actions = event.actions;
  if (event.output !== undefined) found.push(["output", "", event.output]);
  if (event.errorCode) found.push(["error", event.errorCode, event.errorMessage ?? ""]);
  if (actions?.transferToAgent) found.push(["transfer", actions.transferToAgent, null]);
  if (Object.keys(actions?.stateDelta ?? {}).length) found.push(["state", "", actions!.stateDelta!]);
  if (Object.keys(actions?.artifactDelta ?? {}).length) {
    found.push(["artifacts", "", actions!.artifactDelta!]);
  }
  return found;
}

function partOf(part: Part, author: string): [StepKind, string, Json] | undefined {
  if (part.functionCall) {
    if (NOISE.has(part.functionCall.name)) return undefined;
    return ["call", part.functionCall.name, part.functionCall.args ?? {}];
  }
  if (part.functionResponse) {
    return ["result", part.functionResponse.name, part.functionResponse.response ?? {}];
  }
  if (part.text) return [author === "user" ? "message" : part.thought ? "thought" : "answer", "", part.text];
  if (part.inlineData) {
    const { mimeType, data } = part.inlineData;
    return [author === "user" ? "message" : "answer", mimeType, { mimeType, bytes: data.length }];
  }
  if (part.fileData) return ["message", "file", part.fileData.fileUri];
  if (part.executableCode) return ["call", "code", part.executableCode.code];
  if (part.codeExecutionResult) return ["result", "code", part.codeExecutionResult.output ?? ""];
  return undefined;
}

const SAME = 1000; // points of a pair of equal steps; unequal ones of one kind get less
const MOST = 4_000_000; // cells of the table

/** Return whether two steps may stand beside each other. */
const comparable = (one: Step, other: Step): boolean =>
  one.kind === other.kind && one.author === other.author && one.name === other.name;

/** Return whether two steps are equal in all that a run decides; times, tokens and ids do not count. */
const sameStep = (one: Step, other: Step): boolean =>
  comparable(one, other) && equal(one.value, other.value);

/** Align two runs: equal steps face each other, changed ones face what they replace. */
export function align(left: readonly Step[], right: readonly Step[]): Pair[] {
  let start = 0;
  while (start < left.length && start < right.length && sameStep(left[start]!, right[start]!)) start += 1;
  let [endL, endR] = [left.length, right.length];
  while (endL > start && endR > start && sameStep(left[endL - 1]!, right[endR - 1]!)) {
    endL -= 1;
    endR -= 1;
  }
  const pair = (one: Step, other: Step): Pair => ({ kind: "same", left: one, right: other });
  return [
    ...left.slice(0, start).map((one, at) => pair(one, right[at]!)),
    ...alignMiddle(left.slice(start, endL), right.slice(start, endR)),
    ...left.slice(endL).map((one, at) => pair(one, right[endR + at]!)),
  ];
}

function alignMiddle(a: readonly Step[], b: readonly Step[]): Pair[] {
  const removed = (left: Step): Pair => ({ kind: "removed", left, right: undefined });
  const added = (right: Step): Pair => ({ kind: "added", left: undefined, right });
  if (a.length * b.length > MOST) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const best = new Float64Array((a.length + 1) * width);
  const points = (i: number, j: number): number => {
    const [one, other] = [a[i]!, b[j]!];
    return comparable(one, other) ? 100 + SAME * likeness(one.value, other.value) : 0;
  };
  const scores = new Float64Array(a.length * b.length);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const score = (scores[i * b.length + j] = points(i, j));
      best[i * width + j] = Math.max(
        score && score + best[(i + 1) * width + j + 1]!,
        best[(i + 1) * width + j]!,
        best[i * width + j + 1]!,
      );
    }
  }
  const found: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    const here = best[i * width + j]!;
    const score = scores[i * b.length + j]!;
    if (score && here === score + best[(i + 1) * width + j + 1]!) {
      const kind = sameStep(a[i]!, b[j]!) ? "same" : "changed";
      found.push({ kind, left: a[i++]!, right: b[j++]! });
    } else if (here === best[(i + 1) * width + j]) found.push(removed(a[i++]!));
    else found.push(added(b[j++]!));
  }
  return [...found, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}

/** Return how alike two values are, from 0 to 1, by a cheap measure. */
function likeness(one: Json, other: Json): number {
  if (equal(one, other)) return 1;
  const [a, b] = [tokensOf(one), tokensOf(other)];
  if (!a.size || !b.size) return 0;
  let common = 0;
  for (const token of a) if (b.has(token)) common += 1;
  return (0.9 * 2 * common) / (a.size + b.size);
}

const known = new WeakMap<object, Set<string>>();

function tokensOf(value: Json): Set<string> {
  if (typeof value === "object" && value !== null) {
    let found = known.get(value);
    if (!found) known.set(value, (found = tokenSet(JSON.stringify(value))));
    return found;
  }
  return tokenSet(String(value));
}

const tokenSet = (text: string): Set<string> =>
  new Set(text.slice(0, 5_000).toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []);

/** Return the differences within a pair of steps. */
export const compareSteps = (pair: Pair): Change => compare(pair.left?.value, pair.right?.value);

export interface Sums {
  steps: number;
  calls: number;
  tokens: number;
  seconds: number;
}

/** Return the sums of a run; what was rewound counts, because it was paid for. */
export const sumsOf = (steps: readonly Step[]): Sums =>
  steps.reduce(
    (sum, one) => ({
      steps: sum.steps + 1,
      calls: sum.calls + (one.kind === "call" ? 1 : 0),
      tokens: sum.tokens + one.tokens,
      seconds: sum.seconds + one.seconds,
    }),
    { steps: 0, calls: 0, tokens: 0, seconds: 0 },
  );

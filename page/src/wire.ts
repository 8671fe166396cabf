// What the server sends, from its OpenAPI document: `python -m tests.page.wire_types`.

import type { Content, Event, FunctionCall, FunctionResponse, Session } from "./types";

export interface SessionPage {
  sessions: SessionSummary[];
  nextPageToken?: string;
  complete: boolean;
  unindexed: number;
  undetailed: number;
}

export interface SessionTitle {
  title: string;
}

export interface AppSummary {
  name: string;
  rootAgentName: string;
  description: string;
  language: string;
  isComputerUse: boolean;
  error?: string;
  notice?: string;
  examples?: string[];
  source?: SourcePlace;
}

export interface AppInfo {
  name: string;
  rootAgentName: string;
  description: string;
  language: string;
  isComputerUse: boolean;
  agents: { [key: string]: AgentInfo };
}

export interface RunStatus {
  state: string;
  invocationId?: string;
  here: boolean;
  waiting: number;
  reason?: string;
}

export interface EventPage {
  events: NumberedEvent[];
  newest: number;
}

export interface EffectList {
  effects: EffectRecord[];
  nextPageToken?: string;
}

export interface TracebackList {
  tracebacks: Traceback[];
}

export interface EvalCase {
  evalId: string;
  conversation?: Invocation[];
  conversationScenario?: ConversationScenario;
  sessionInput?: SessionInput;
  creationTimestamp: number;
  rubrics?: unknown[];
  finalSessionState?: { [key: string]: unknown };
}

export interface EvalSetResult {
  evalSetResultId: string;
  evalSetResultName?: string;
  evalSetId: string;
  evalCaseResults?: EvalCaseResult[];
  creationTimestamp: number;
}

export interface SessionSummary {
  id: string;
  userId: string;
  title?: string;
  lastUpdateTime: number;
  firstMessage?: string;
  state?: string;
  agents?: string[];
  tools?: string[];
  eventCount?: number;
  errorCount?: number;
  usage?: ModelUsage[];
  hits?: SessionHit[];
}

export interface SourcePlace {
  file: string;
  line: number;
  first: number;
  lines: string[];
}

export interface AgentInfo {
  name: string;
  description: string;
  instruction: string;
  tools: { [key: string]: unknown }[];
  sub_agents: string[];
  tool_origins?: { [key: string]: { [key: string]: string } };
}

export interface NumberedEvent {
  number: number;
  event: Event;
}

export interface EffectRecord {
  appName: string;
  userId: string;
  sessionId: string;
  number: number;
  finished: number;
  tool: string;
  source: string;
  agent: string;
  invocationId: string;
  callId: string;
  key: string;
  askedBy: string;
  approvedBy: string;
  argsDigest: string;
  resultDigest: string;
  begun: number;
  attempts: number;
  outcome: string;
  inDoubt: boolean;
  resolution: string;
  ranIn: string;
  damaged: string;
}

export interface Traceback {
  spanId: string;
  invocationId: string;
  name: string;
  callId?: string;
  errors: TracedError[];
}

export interface Invocation {
  invocationId: string;
  userContent: Content;
  finalResponse?: Content;
  intermediateData?: IntermediateData | InvocationEvents;
  creationTimestamp: number;
  rubrics?: unknown[];
  appDetails?: unknown;
  duration?: number;
  modelDuration?: number;
  toolDuration?: number;
  callTrace?: TracedCall[];
  inferenceCallCount?: number;
}

export interface ConversationScenario {
  startingPrompt: string;
  conversationPlan: string;
  userPersona?: unknown;
}

export interface SessionInput {
  appName: string;
  userId: string;
  sessionId?: string;
  state?: { [key: string]: unknown };
  events?: Event[];
}

export interface EvalCaseResult {
  evalSetFile?: string;
  evalSetId: string;
  evalId: string;
  finalEvalStatus: EvalStatus;
  evalMetricResults?: unknown[][];
  overallEvalMetricResults: EvalMetricResult[];
  evalMetricResultPerInvocation: EvalMetricResultPerInvocation[];
  sessionId: string;
  sessionDetails?: Session;
  userId?: string;
  errorMessage?: string;
  usage?: unknown;
}

export interface ModelUsage {
  model: string;
  prompt: number;
  cached: number;
  output: number;
}

export interface SessionHit {
  number: number;
  eventId: string;
  author: string;
  kind: "text" | "thought" | "call" | "result" | "error";
  snippet: string;
  start: number;
  end: number;
}

export interface TracedError {
  type: string;
  message: string;
  frames: TracebackFrame[];
}

export interface IntermediateData {
  toolUses?: FunctionCall[];
  toolResponses?: FunctionResponse[];
  intermediateResponses?: unknown[][];
}

export interface InvocationEvents {
  invocationEvents?: InvocationEvent[];
}

export interface TracedCall {
  path: string;
  name: string;
  args?: { [key: string]: unknown };
  inner: boolean;
}

export type EvalStatus = 1 | 2 | 3;

export interface EvalMetricResult {
  metricName: string;
  threshold?: number;
  criterion?: BaseCriterion;
  customFunctionPath?: string;
  score?: number;
  evalStatus: EvalStatus;
  details?: EvalMetricResultDetails;
}

export interface EvalMetricResultPerInvocation {
  actualInvocation: Invocation;
  expectedInvocation?: Invocation;
  evalMetricResults?: EvalMetricResult[];
}

export interface TracebackFrame {
  file: string;
  line: number;
  function: string;
  isOwn: boolean;
  first: number;
  lines: string[];
}

export interface InvocationEvent {
  author: string;
  content?: Content;
  usageMetadata?: unknown;
  groundingMetadata?: unknown;
  modelVersion?: string;
}

export interface BaseCriterion {
  threshold: number;
  includeIntermediateResponsesInFinal: boolean;
}

export interface EvalMetricResultDetails {
  rubricScores?: unknown[];
  error?: string;
  notApplicable?: string;
}

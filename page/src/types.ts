// What the server sends, as far as the page reads it.

export type Json = null | boolean | number | bigint | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface FunctionCall {
  id?: string;
  name: string;
  args?: JsonObject;
}

export interface FunctionResponse {
  id?: string;
  name: string;
  response?: JsonObject;
}

export interface Blob {
  mimeType: string;
  data: string;
  displayName?: string;
}

export interface Part {
  text?: string;
  thought?: boolean;
  functionCall?: FunctionCall;
  functionResponse?: FunctionResponse;
  inlineData?: Blob;
  fileData?: { fileUri: string; mimeType?: string; displayName?: string };
  executableCode?: { code: string; language?: string };
  codeExecutionResult?: { output?: string; outcome?: string };
}

export interface Content {
  role?: string;
  parts?: Part[];
}

export interface Actions {
  stateDelta?: JsonObject;
  artifactDelta?: { [name: string]: number };
  transferToAgent?: string;
  escalate?: boolean;
  endOfAgent?: boolean;
  agentState?: JsonObject | null;
  rewindBeforeInvocationId?: string;
  requestedToolConfirmations?: { [callId: string]: Json };
  requestedAuthConfigs?: { [callId: string]: Json };
  compaction?: { startTimestamp: number; endTimestamp: number; compactedContent: Content };
}

export interface Usage {
  promptTokenCount?: number;
  candidatesTokenCount?: number;
  totalTokenCount?: number;
  cachedContentTokenCount?: number;
  thoughtsTokenCount?: number;
}

export interface Event {
  id: string;
  invocationId: string;
  author: string;
  branch?: string;
  isolationScope?: string;
  nodeInfo?: { path?: string };
  output?: Json;
  timestamp: number;
  content?: Content;
  partial?: boolean;
  errorCode?: string;
  errorMessage?: string;
  finishReason?: string;
  usageMetadata?: Usage;
  modelVersion?: string;
  longRunningToolIds?: string[];
  actions?: Actions;
  customMetadata?: JsonObject;
}

/** An event and its number in the session's log. */
export interface Numbered {
  number: number;
  event: Event;
}

export interface EventPage {
  events: Numbered[];
  newest: number;
}

export interface Session {
  id: string;
  appName: string;
  userId: string;
  state: JsonObject;
  events?: Event[];
  lastUpdateTime: number;
}

export type { AppSummary as AppInfo, SessionHit, SessionPage, SessionSummary as Summary } from "./wire";

export interface Span {
  id: string;
  parentId?: string;
  name: string;
  operation: string;
  start: number;
  end?: number;
  invocationId: string;
  error?: string;
  attributes: JsonObject;
}

export interface SpanDetail extends Span {
  contents: Content[];
  texts: { [kind: string]: string };
}

/** What kind of credential a call waits for, and where the person consents. */
export interface CredentialRequest {
  key: string;
  scheme: JsonObject;
  consentUri?: string;
  redirectUri?: string;
}

/** A call that waits for a person. */
export interface Approval {
  kind: "approval" | "credential" | "input" | "result";
  /** The agent or workflow node that asks. */
  asker?: string;
  userId: string;
  sessionId: string;
  /** The event that asks. */
  eventId: string;
  callId: string;
  tool: string;
  /** When it was asked, seconds since 1970. */
  since?: number;
  args: JsonObject;
  hint?: string;
  /** The question, of kind `input`, what it is about, and the JSON schema of its answer. */
  message?: string;
  payload?: Json;
  responseSchema?: JsonObject | null;
  /** What is asked for, of kind `credential`. */
  credential?: CredentialRequest;
}

export interface AgentInfo {
  name: string;
  description: string;
  tools: { functionDeclarations?: { name: string }[] }[];
  sub_agents: string[];
}

export interface AppTree {
  rootAgentName: string;
  agents: { [name: string]: AgentInfo };
}

export interface Message {
  role: "user";
  parts: Part[];
}

/** Prices of a model for a million tokens; without `cached`, cached tokens cost as others do. */
export interface ModelPrice {
  input: number;
  output: number;
  cached?: number;
}

export interface Prices {
  asOf: string;
  currency: string;
  prices: { [model: string]: ModelPrice };
  /** Prices of the app's budget; they replace the list if there are any. */
  own: { [model: string]: ModelPrice };
}

export interface GraphTool {
  name: string;
  description: string;
  parameters?: JsonObject;
}

type GraphKind =
  | "agent"
  | "sequence"
  | "loop"
  | "parallel"
  | "workflow"
  | "start"
  | "join"
  | "worker"
  | "tool"
  | "node";

export interface GraphNode {
  id: string;
  name: string;
  kind: GraphKind;
  group?: string;
  description: string;
  model?: string;
  isLive: boolean;
  tools: GraphTool[];
}

export interface GraphEdge {
  source: string;
  target: string;
  kind: "next" | "route" | "again" | "transfer" | "call";
  label: string;
}

export interface AppGraph {
  root: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  complete: boolean;
}

/** A session's state around one of its events. */
export interface StateAt {
  initial: JsonObject;
  initialKnown: boolean;
  before: JsonObject;
  after: JsonObject;
}

/** Events that sessions share, and what follows in each. */
export interface ForkBranch {
  /** Numbers of the first and the last event of this branch; 0 if it has none. */
  first: number;
  last: number;
  /** Sessions that end here. */
  sessions: { id: string; userId: string; title?: string; lastUpdateTime: number }[];
  branches: ForkBranch[];
}

// What the server sends, as far as the page reads it.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
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
  rewindBeforeInvocationId?: string;
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
  total: number;
  next?: number;
}

export interface Session {
  id: string;
  appName: string;
  userId: string;
  state: JsonObject;
  events?: Event[];
  lastUpdateTime: number;
}

export interface SessionPage {
  sessions: Session[];
  nextPageToken?: string;
}

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

export interface Approval {
  kind: "approval" | "credential" | "result";
  appName: string;
  userId: string;
  sessionId: string;
  callId: string;
  callName: string;
  tool: string;
  toolCallId: string;
  args: JsonObject;
  hint: string;
}

export interface AppInfo {
  name: string;
  rootAgentName?: string;
  description?: string;
  error?: string;
}

export interface AgentNode {
  name: string;
  kind: string;
  description?: string;
  model?: string;
  tools: string[];
  subAgents: AgentNode[];
}

export interface Message {
  role: "user";
  parts: Part[];
}

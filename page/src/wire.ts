// What the server sends, from its OpenAPI document: `python -m tests.page.wire_types`.

import type { Event } from "./types";

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

// What the server tells about the open app: its graph, the schemas of its tools, its prices.

import { computed, effect, signal } from "@preact/signals";
import { api } from "./api";
import { agentModels, listed } from "./prices";
import * as s from "./state";
import type { AppGraph, GraphTool } from "./types";

/** The graph of the open app; undefined until it is there. */
export const graph = signal<AppGraph | undefined>(undefined);

/** Why there is no graph. */
export const graphProblem = signal("");

/** The tools of all agents, by name; the first of a name counts. */
export const tools = computed(() => {
  const found = new Map<string, GraphTool>();
  for (const node of graph.value?.nodes ?? []) {
    for (const tool of node.tools) if (!found.has(tool.name)) found.set(tool.name, tool);
  }
  return found;
});

effect(() => {
  const name = s.app.value;
  graph.value = listed.value = undefined;
  graphProblem.value = "";
  agentModels.value = {};
  const info = s.apps.value.find((one) => one.name === name);
  if (!name || info?.error) return;
  const isOpen = () => s.app.peek() === name;
  api.graph(name).then(
    (found) => {
      if (!isOpen()) return;
      graph.value = found;
      agentModels.value = Object.fromEntries(found.nodes.map((node) => [node.name, node.model ?? ""]));
    },
    (error: Error) => isOpen() && (graphProblem.value = error.message),
  );
  api.prices(name).then(
    (found) => isOpen() && (listed.value = found),
    () => undefined, // costs are shown with the person's own prices then
  );
});

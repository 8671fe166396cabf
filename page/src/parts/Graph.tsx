// The graph of the app: agents, workflows with their nodes and routes, and what each one does.

import { useEffect, useMemo, useState } from "preact/hooks";
import { graph, graphProblem } from "../appfacts";
import { duration } from "../format";
import { layOut, pathOf } from "../graphlayout";
import type { Arrow, Box, Layout } from "../graphlayout";
import { activities } from "../graphstate";
import type { Activity } from "../graphstate";
import * as s from "../state";
import type { AppGraph } from "../types";
import { summary } from "./Timeline";
import { useLatestSpans } from "./Waterfall";
import { Zoom } from "./Zoom";

const STATES: { [state: string]: string } = {
  idle: "has not run",
  done: "done",
  running: "runs",
  waiting: "waits for you",
  failed: "failed",
};

export function Graph() {
  useLatestSpans();
  const found = graph.value;
  const [layout, setLayout] = useState<Layout | undefined>(undefined);
  const [wrong, setWrong] = useState("");
  const [zoom, setZoom] = useState(0);
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  useEffect(() => {
    let current = true;
    setLayout(undefined);
    setWrong("");
    if (found) {
      layOut(found).then(
        (one) => current && setLayout(one),
        (error: Error) => current && setWrong(error.message),
      );
    }
    return () => {
      current = false;
    };
  }, [found]);
  const open = s.approvals.value.filter((one) => one.sessionId === s.session.value?.id);
  const active = s.active.value;
  const done = useMemo(
    () =>
      found ? activities(found, s.events.value, s.spans.value, open, active, s.running.value) : new Map(),
    [found, s.events.value, s.spans.value, s.approvals.value, active, s.running.value],
  ) as Map<string, Activity>;
  if (graphProblem.value) return <p class="error">The graph cannot be shown: {graphProblem.value}</p>;
  if (wrong) return <p class="error">The graph cannot be drawn: {wrong}</p>;
  if (!found || !layout) return <p class="quiet">Drawing the graph…</p>;
  const spoken = `Agents: ${found.nodes
    .filter((node) => node.kind !== "start")
    .map((node) => node.name)
    .join(", ")}${active ? `; ${active} acts` : ""}`;
  const node = layout.boxes.find((box) => box.node.id === chosen);
  return (
    <div class="graph-view">
      <div class="graph" tabIndex={0} role="group" aria-label="Graph of the app">
        <svg
          class={zoom ? "" : "fits"}
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          width={layout.width * (zoom || 1)}
          height={layout.height * (zoom || 1)}
          role="img"
          aria-label={spoken}
        >
          <Heads />
          {layout.boxes.filter((box) => box.isGroup).map((box) => (
            <Group key={box.node.id} box={box} activity={done.get(box.node.id)} choose={setChosen} />
          ))}
          {layout.arrows.map((arrow, index) => (
            <Way key={index} arrow={arrow} />
          ))}
          {layout.boxes.filter((box) => !box.isGroup).map((box) => (
            <Node
              key={box.node.id}
              box={box}
              activity={done.get(box.node.id)}
              chosen={box.node.id === chosen}
              choose={setChosen}
            />
          ))}
        </svg>
      </div>
      <Zoom zoom={zoom} set={setZoom} />
      {!found.complete && <p class="note">The graph has more nodes than are drawn here.</p>}
      <Nodes graph={found} done={done} chosen={chosen} choose={setChosen} />
      {node && <Details box={node} activity={done.get(node.node.id)} />}
    </div>
  );
}

function Heads() {
  return (
    <defs>
      <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
        <path class="head" d="M0 0 L8 4 L0 8 z" />
      </marker>
    </defs>
  );
}

function Way({ arrow }: { arrow: Arrow }) {
  const { edge, label } = arrow;
  return (
    <g class={`way ${edge.kind}`}>
      <path d={pathOf(arrow.points)} marker-end="url(#head)" />
      {label && (
        <text class="small" x={label.x} y={label.y + 4}>
          {cut(edge.label, 22)}
          <title>{edge.label}</title>
        </text>
      )}
    </g>
  );
}

interface NodeProps {
  box: Box;
  activity: Activity | undefined;
  chosen?: boolean;
  choose: (id: string) => void;
}

function Group({ box, activity, choose }: NodeProps) {
  return (
    <g class={`group ${activity?.state ?? "idle"}`} onClick={() => choose(box.node.id)}>
      <rect x={box.x} y={box.y} width={box.width} height={box.height} rx="10" />
      <text class="small" x={box.x + 10} y={box.y + 18}>
        {box.node.kind} {cut(box.node.name, 24)}
      </text>
    </g>
  );
}

function Node({ box, activity, chosen, choose }: NodeProps) {
  const { node, x, y, width, height } = box;
  const state = activity?.state ?? "idle";
  if (node.kind === "start") {
    return (
      <g class="node start">
        <circle cx={x + width / 2} cy={y + height / 2} r="9" />
        <title>Start</title>
      </g>
    );
  }
  const tools = node.tools.map((tool) => tool.name).join(", ");
  return (
    <g class={`node ${node.kind} ${state} ${chosen ? "chosen" : ""}`} onClick={() => choose(node.id)}>
      <title>{[node.name, node.description, tools && `Tools: ${tools}`].filter(Boolean).join("\n")}</title>
      <rect x={x} y={y} width={width} height={height} rx={node.kind === "join" ? 28 : 8} />
      <circle class="mark" cx={x + 14} cy={y + 16} r="5" />
      <text x={x + 26} y={y + 21}>
        {cut(node.name, 18)}
      </text>
      <text class="small" x={x + 12} y={y + 42}>
        {cut(activity?.runs ? `${STATES[state]}, ${times(activity)}` : tools || node.description || node.kind, 26)}
      </text>
    </g>
  );
}

const times = (one: Activity): string =>
  [`${one.runs}×`, one.seconds ? duration(one.seconds) : ""].filter(Boolean).join(", ");

/** The nodes as buttons: what the drawing offers to the mouse, for the keyboard and screen readers. */
function Nodes(props: {
  graph: AppGraph;
  done: Map<string, Activity>;
  chosen: string | undefined;
  choose: (id: string) => void;
}) {
  return (
    <p class="graph-nodes" role="group" aria-label="Nodes">
      {props.graph.nodes
        .filter((node) => node.kind !== "start")
        .map((node) => {
          const state = props.done.get(node.id)?.state ?? "idle";
          return (
            <button
              key={node.id}
              class={`chip node-chip ${state}`}
              aria-pressed={node.id === props.chosen}
              onClick={() => props.choose(node.id)}
            >
              {node.name}
              <span class="unseen"> {STATES[state]}</span>
            </button>
          );
        })}
    </p>
  );
}

const SHOWN = 50; // events of a node

function Details({ box, activity }: { box: Box; activity: Activity | undefined }) {
  const { node } = box;
  const events = activity?.events ?? [];
  return (
    <section class="graph-details" aria-label={`Node ${node.name}`}>
      <h2>
        {node.name} <span class="quiet">{node.kind}</span>{" "}
        <span class={`chip ${activity?.state ?? ""}`}>{STATES[activity?.state ?? "idle"]}</span>
      </h2>
      {node.description && <p>{node.description}</p>}
      <p class="quiet">
        {[
          node.model && `model ${node.model}`,
          activity?.runs && `ran ${times(activity)}`,
          node.tools.length && `tools ${node.tools.map((tool) => tool.name).join(", ")}`,
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {events.slice(-SHOWN).map((event) => (
        <button
          key={event.id}
          class={`event ${s.selected.value === event.id ? "chosen" : ""}`}
          aria-pressed={s.selected.value === event.id}
          onClick={() => (s.selected.value = event.id)}
        >
          <span class="quiet number">{s.byId.value.get(event.id)?.number || "live"}</span>
          <span class="what">{summary(event)}</span>
        </button>
      ))}
      {events.length > SHOWN && <p class="quiet">The {SHOWN} newest of {events.length} events.</p>}
    </section>
  );
}

const cut = (text: string, length: number) =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;

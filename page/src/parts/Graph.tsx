// The tree of agents, with the one lit that acts.

import * as s from "../state";
import type { AgentInfo, AppTree } from "../types";

const WIDTH = 170;
const HEIGHT = 56;
const GAP_X = 18;
const GAP_Y = 46;

interface AgentNode extends AgentInfo {
  below: AgentNode[];
}

interface Placed {
  node: AgentNode;
  x: number;
  y: number;
  children: Placed[];
}

export function Graph() {
  const root = s.tree.value && nodeOf(s.tree.value, s.tree.value.rootAgentName);
  if (!root) return <p class="quiet">No agents are known.</p>;
  const next = { x: 0 };
  const tree = layout(root, 0, next);
  const height = depth(root) * (HEIGHT + GAP_Y);
  return (
    <div class="graph">
      <svg
        width={next.x}
        height={height}
        role="img"
        aria-label={`Agents: ${names(root).join(", ")}${s.active.value ? `; ${s.active.value} acts` : ""}`}
      >
        <Edges of={tree} />
        <Boxes of={tree} />
      </svg>
    </div>
  );
}

function nodeOf(tree: AppTree, name: string): AgentNode | undefined {
  const info = tree.agents[name];
  if (!info) return undefined;
  const below = info.sub_agents.map((one) => nodeOf(tree, one)).filter((one) => one !== undefined);
  return { ...info, below };
}

function layout(node: AgentNode, level: number, next: { x: number }): Placed {
  const children = node.below.map((child) => layout(child, level + 1, next));
  const first = children[0];
  const last = children[children.length - 1];
  let x = next.x;
  if (first && last) x = (first.x + last.x) / 2;
  else next.x += WIDTH + GAP_X;
  return { node, x, y: level * (HEIGHT + GAP_Y) + 4, children };
}

const depth = (node: AgentNode): number => 1 + Math.max(0, ...node.below.map(depth));
const names = (node: AgentNode): string[] => [node.name, ...node.below.flatMap(names)];

function Edges({ of }: { of: Placed }) {
  return (
    <>
      {of.children.map((child) => {
        const [x1, y1] = [of.x + WIDTH / 2, of.y + HEIGHT];
        const [x2, y2] = [child.x + WIDTH / 2, child.y];
        const middle = (y1 + y2) / 2;
        return (
          <g key={child.node.name}>
            <path class="edge" d={`M${x1} ${y1} C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`} />
            <Edges of={child} />
          </g>
        );
      })}
    </>
  );
}

function Boxes({ of }: { of: Placed }) {
  const lit = s.active.value === of.node.name;
  const acted = s.events.value.some((one) => one.event.author === of.node.name);
  const tools = of.node.tools.flatMap((tool) => tool.functionDeclarations ?? []);
  const what = tools.map((tool) => tool.name).join(", ") || of.node.description;
  return (
    <>
      <g class={`agent ${lit ? "lit" : ""} ${acted ? "acted" : ""}`}>
        <title>{`${of.node.name}: ${of.node.description}\n${what}`}</title>
        <rect x={of.x + 1} y={of.y} width={WIDTH} height={HEIGHT} rx="8" />
        <text x={of.x + WIDTH / 2} y={of.y + 23}>
          {cut(of.node.name, 20)}
        </text>
        <text class="small" x={of.x + WIDTH / 2} y={of.y + 42}>
          {cut(what, 28)}
        </text>
      </g>
      {of.children.map((child) => (
        <Boxes key={child.node.name} of={child} />
      ))}
    </>
  );
}

const cut = (text: string, length: number) =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;

// Where the nodes of an app's graph lie: groups are laid out from the inside out, each by dagre.

import type { AppGraph, GraphEdge, GraphNode } from "./types";

export interface Box {
  node: GraphNode;
  x: number;
  y: number;
  width: number;
  height: number;
  /** How many groups it lies in. */
  depth: number;
  isGroup: boolean;
}

export interface Arrow {
  edge: GraphEdge;
  points: { x: number; y: number }[];
  /** Where its label stands. */
  label: { x: number; y: number } | undefined;
}

export interface Layout {
  boxes: Box[];
  arrows: Arrow[];
  width: number;
  height: number;
}

const NODE = { width: 180, height: 58 };
const DOT = { width: 34, height: 34 };
const PAD = 16;
const HEAD = 28; // for the name of a group

/** Load dagre, which is no part of the page's first load, and lay out a graph. */
export async function layOut(graph: AppGraph): Promise<Layout> {
  const dagre = await import("@dagrejs/dagre");
  return layOutWith(dagre, graph);
}

type Dagre = typeof import("@dagrejs/dagre");

export function layOutWith(dagre: Dagre, graph: AppGraph): Layout {
  const inside = new Map<string, GraphNode[]>();
  for (const node of graph.nodes) {
    const group = node.group ?? "";
    inside.set(group, [...(inside.get(group) ?? []), node]);
  }
  return layOutGroup(dagre, "", inside, graph.edges, 0);
}

function layOutGroup(
  dagre: Dagre,
  group: string,
  inside: Map<string, GraphNode[]>,
  edges: GraphEdge[],
  depth: number,
): Layout {
  const nodes = inside.get(group) ?? [];
  const ids = new Set(nodes.map((one) => one.id));
  const mine = edges.filter((one) => ids.has(one.source) && ids.has(one.target));
  const drawn = new dagre.Graph({ multigraph: true });
  drawn.setGraph({ rankdir: "TB", nodesep: 26, ranksep: 44, edgesep: 14, marginx: PAD, marginy: PAD });
  drawn.setDefaultEdgeLabel(() => ({}));
  const below = new Map<string, Layout>();
  for (const node of nodes) {
    if (inside.has(node.id)) {
      const inner = layOutGroup(dagre, node.id, inside, edges, depth + 1);
      below.set(node.id, inner);
      drawn.setNode(node.id, {
        width: Math.max(inner.width, NODE.width),
        height: inner.height + HEAD,
      });
    } else drawn.setNode(node.id, { ...(node.kind === "start" ? DOT : NODE) });
  }
  mine.forEach((edge, at) => {
    const label = { width: edge.label ? Math.min(160, edge.label.length * 7 + 8) : 0, height: edge.label ? 16 : 0 };
    drawn.setEdge(edge.source, edge.target, { ...label, labelpos: "c" }, String(at));
  });
  dagre.layout(drawn);
  const boxes: Box[] = [];
  const arrows: Arrow[] = [];
  for (const node of nodes) {
    const at = drawn.node(node.id) as { x: number; y: number; width: number; height: number };
    const { width, height } = at;
    const [x, y] = [at.x - width / 2, at.y - height / 2];
    const inner = below.get(node.id);
    boxes.push({ node, x, y, width, height, depth, isGroup: inner !== undefined });
    if (!inner) continue;
    const dx = x + (width - inner.width) / 2;
    const dy = y + HEAD;
    const move = <P extends { x: number; y: number }>(one: P): P => ({ ...one, x: one.x + dx, y: one.y + dy });
    boxes.push(...inner.boxes.map(move));
    arrows.push(
      ...inner.arrows.map((one) => ({
        ...one,
        points: one.points.map(move),
        label: one.label && move(one.label),
      })),
    );
  }
  mine.forEach((edge, at) => {
    const found = drawn.edge(edge.source, edge.target, String(at)) as {
      points: { x: number; y: number }[];
      x?: number;
      y?: number;
    };
    const label = edge.label && found.x !== undefined ? { x: found.x, y: found.y! } : undefined;
    arrows.push({ edge, points: found.points, label });
  });
  const size = drawn.graph() as { width?: number; height?: number };
  return { boxes, arrows, width: size.width ?? 2 * PAD, height: size.height ?? 2 * PAD };
}

/** The path of an arrow: through its points, in curves. */
export function pathOf(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${round(first.x)} ${round(first.y)}`;
  rest.forEach((point, at) => {
    const next = rest[at + 1];
    if (!next) path += ` L${round(point.x)} ${round(point.y)}`;
    else {
      const middle = { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
      path += ` Q${round(point.x)} ${round(point.y)} ${round(middle.x)} ${round(middle.y)}`;
    }
  });
  return path;
}

const round = (value: number): number => Math.round(value * 10) / 10;

// A formula of a text: as MathML once its reader is loaded, and as it was written until then.

import { h } from "preact";
import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { MathNode } from "../math";

const MARKS = [
  ["$$", "$$", true],
  ["\\[", "\\]", true],
  ["\\(", "\\)", false],
  ["$", "$", false],
] as const;

/** The formula between its marks, and whether it stands on lines of its own. */
export function unmarked(raw: string): { tex: string; display: boolean } {
  for (const [open, close, display] of MARKS) {
    if (raw.length > open.length + close.length && raw.startsWith(open) && raw.endsWith(close)) {
      return { tex: raw.slice(open.length, -close.length).trim(), display };
    }
  }
  return { tex: raw, display: false };
}

export function Formula({ raw }: { raw: string }) {
  const [found, setFound] = useState<{ raw: string; node: MathNode | undefined }>();
  useEffect(() => {
    let current = true;
    const { tex, display } = unmarked(raw);
    void import("../math").then(
      ({ readMath }) => current && setFound({ raw, node: readMath(tex, display) }),
      () => undefined, // it stays as it was written
    );
    return () => {
      current = false;
    };
  }, [raw]);
  const node = found?.raw === raw ? found.node : undefined;
  if (!node || typeof node === "string") return <code class="math">{raw}</code>;
  const display = node.attributes["display"] === "block";
  return (
    <span class={display ? "formula block" : "formula"} title={raw} {...(display ? { tabIndex: 0, role: "group", "aria-label": "Formula" } : {})}>
      {draw(node)}
    </span>
  );
}

const draw = (node: MathNode): ComponentChild =>
  typeof node === "string" ? node : h(node.name, node.attributes, ...node.children.map(draw));

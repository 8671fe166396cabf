// Code with its colours, a button that copies it, and its rest folded if it is long.

import { useEffect, useState } from "preact/hooks";
import { count } from "../format";
import type { Stretch } from "../highlight";
import { Copy } from "./Copy";

const SHOWN = 24; // lines of a folded block
const LONG = 32; // lines above which a block is folded

interface Props {
  text: string;
  language?: string | undefined;
  label?: string;
}

export function CodeBlock({ text, language, label = "Code" }: Props) {
  const [open, setOpen] = useState(false);
  const lines = text.split("\n");
  const folds = lines.length > LONG && !open;
  const shown = folds ? lines.slice(0, SHOWN).join("\n") : text;
  const name = (language ?? "").trim().split(/\s/)[0]!.slice(0, 30);
  const colours = useColours(shown, name.toLowerCase());
  return (
    <figure class="code-block">
      <figcaption>
        <span class="quiet">{name || label.toLowerCase()}</span>
        <Copy text={text} what={label.toLowerCase()} />
      </figcaption>
      <pre class="code" tabIndex={0} role="group" aria-label={name ? `${label}, ${name}` : label}>
        {colours
          ? colours.map((one, index) =>
              one.scope ? (
                <span key={index} class={`of-${one.scope}`}>
                  {one.text}
                </span>
              ) : (
                one.text
              ),
            )
          : shown}
      </pre>
      {lines.length > LONG && (
        <button class="link unfold" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : `Show all ${count(lines.length)} lines`}
        </button>
      )}
    </figure>
  );
}

function useColours(text: string, language: string): Stretch[] | undefined {
  const [found, setFound] = useState<{ text: string; all: Stretch[] | undefined }>();
  useEffect(() => {
    if (!language) return;
    let current = true;
    void import("../highlight").then(
      ({ stretches }) => current && setFound({ text, all: stretches(text, language) }),
      () => undefined, // without colours, then
    );
    return () => {
      current = false;
    };
  }, [text, language]);
  return found?.text === text ? found.all : undefined;
}

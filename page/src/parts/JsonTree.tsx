// JSON as a tree that folds. What is folded is not in the document; long texts and long lists show
// their size and open on request.

import { useState } from "preact/hooks";
import { bytes, count } from "../format";
import { isObject } from "../schema";
import type { Json } from "../types";
import { Exact } from "./Exact";

const LONG = 400; // characters of a text that is folded
const SHOWN = 300; // of them that are shown
const ENTRIES = 50; // of a list or an object that are shown at once
const FEW = 12; // entries that are open at first below the top
const DEEPEST = 60;

interface Props {
  value: Json;
  name?: string | undefined;
  /** How many levels are open at first. */
  open?: number;
  depth?: number;
}

export function JsonTree({ value, name, open = 1, depth = 0 }: Props) {
  const entries = entriesOf(value);
  if (!entries) {
    return (
      <div class="leaf">
        <Name name={name} />
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch value={value} entries={entries} name={name} open={open} depth={depth} />;
}

function entriesOf(value: Json): [string, Json][] | undefined {
  if (Array.isArray(value)) return value.map((one, index) => [String(index), one]);
  return isObject(value) ? Object.entries(value) : undefined;
}

function Branch({ value, entries, name, open = 1, depth = 0 }: Props & { entries: [string, Json][] }) {
  const [opened, setOpened] = useState(depth < open && (depth === 0 || entries.length <= FEW));
  const [most, setMost] = useState(ENTRIES);
  const list = Array.isArray(value);
  const size = `${count(entries.length)} ${list ? "item" : "key"}${entries.length === 1 ? "" : "s"}`;
  if (!entries.length) {
    return (
      <div class="leaf">
        <Name name={name} />
        <span class="quiet">{list ? "[]" : "{}"}</span>
      </div>
    );
  }
  return (
    <div class="branch">
      <button
        class="fold"
        aria-expanded={opened}
        aria-label={`${name ?? (list ? "list" : "object")}, ${size}`}
        onClick={() => setOpened(!opened)}
      >
        <span class="twist" aria-hidden="true">
          {opened ? "▾" : "▸"}
        </span>
        <Name name={name} />
        <span class="quiet">{opened ? size : `${size} ${glimpse(value)}`}</span>
      </button>
      {opened && (
        <div class="inner">
          {depth >= DEEPEST ? (
            <span class="quiet">too deep to show as a tree; see the event's JSON</span>
          ) : (
            entries.slice(0, most).map(([key, one]) => (
              <JsonTree key={key} value={one} name={key} open={open} depth={depth + 1} />
            ))
          )}
          {entries.length > most && (
            <button class="link" onClick={() => setMost(most + 10 * ENTRIES)}>
              Show {count(Math.min(10 * ENTRIES, entries.length - most))} of {count(entries.length - most)} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** The beginning of what is folded. */
function glimpse(value: Json): string {
  const keys = isObject(value) ? Object.keys(value).slice(0, 4).join(", ") : "";
  return keys.length > 60 ? `${keys.slice(0, 60)}…` : keys;
}

function Name({ name }: { name: string | undefined }) {
  return name === undefined ? null : (
    <span class="key">
      <Exact text={name} />:{" "}
    </span>
  );
}

function Leaf({ value }: { value: Json }) {
  if (typeof value === "string") return <LongText text={value} quotes />;
  return <code class={`of-${value === null ? "literal" : typeof value}`}>{String(value)}</code>;
}

/** A text whose rest is folded if it is long, with its size. */
export function LongText({ text, quotes }: { text: string; quotes?: boolean }) {
  const [open, setOpen] = useState(false);
  const folds = text.length > LONG && !open;
  const lines = text.includes("\n") && quotes !== true;
  return (
    <span class={`long ${lines ? "lines" : ""}`}>
      <code class={quotes ? "of-string" : ""}>
        <Exact text={folds ? `${text.slice(0, SHOWN)}…` : text} />
      </code>
      {text.length > LONG && (
        <button class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : `Show all ${bytes(text.length)}`}
        </button>
      )}
    </span>
  );
}

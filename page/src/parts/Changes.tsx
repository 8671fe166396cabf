// A JSON value as a tree, with what changed in it; long values fold.

import { useState } from "preact/hooks";
import { words } from "../diff";
import { count } from "../format";
import { revealed } from "../hidden";
import { countChanges } from "../jsondiff";
import type { Change } from "../jsondiff";
import type { Json } from "../types";

const LONG = 700; // characters of a text whose middle is folded
const SHOWN = 250; // of them that are shown at its beginning, and at its end
const MOST = 200; // entries that are shown at once
const WORDS = 20_000; // characters of texts that are compared word by word

const SIGNS = { same: " ", added: "+", removed: "−", changed: "~" } as const;
const SPOKEN = { same: "", added: "added: ", removed: "removed: ", changed: "changed: " } as const;

interface Props {
  change: Change;
  /** Show what did not change, too. */
  whole?: boolean;
  label: string;
}

export function Changes({ change, whole, label }: Props) {
  const { after, before } = change;
  const children = change.children.length ? change.children : childrenOf(after ?? before, change.kind);
  const shown = whole || change.kind !== "changed" ? children : children.filter((one) => one.kind !== "same");
  if (!children.length) {
    return (
      <div class="changes" role="group" aria-label={label}>
        <Row change={change} whole={!!whole} top />
      </div>
    );
  }
  return (
    <div class="changes" role="group" aria-label={label}>
      <Rows changes={shown} whole={!!whole} />
    </div>
  );
}

function Rows({ changes, whole }: { changes: Change[]; whole: boolean }) {
  const [most, setMost] = useState(MOST);
  return (
    <ul>
      {changes.slice(0, most).map((one, index) => (
        <li key={`${one.key} ${index}`}>
          <Row change={one} whole={whole} />
        </li>
      ))}
      {changes.length > most && (
        <li>
          <button class="link" onClick={() => setMost(most + MOST)}>
            {changes.length - most} more
          </button>
        </li>
      )}
    </ul>
  );
}

function Row({ change, whole, top }: { change: Change; whole: boolean; top?: boolean }) {
  const value = change.after === undefined ? change.before : change.after;
  const children = change.children.length ? change.children : childrenOf(value, change.kind);
  const shown = whole || change.kind !== "changed" ? children : children.filter((one) => one.kind !== "same");
  const changed = countChanges(change);
  const [open, setOpen] = useState(top || changed > 0 || children.length < 8);
  const name = change.key !== "" && <span class="key">{revealed(change.key)}: </span>;
  const sign = (
    <span class="sign" aria-hidden="true">
      {SIGNS[change.kind]}
    </span>
  );
  if (!children.length) {
    return (
      <div class={`change ${change.kind}`}>
        {sign}
        <span class="unseen">{SPOKEN[change.kind]}</span>
        {name}
        <Leaf change={change} />
      </div>
    );
  }
  const brackets = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return (
    <div class={`change ${change.kind}`}>
      {sign}
      <button class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="unseen">{SPOKEN[change.kind]}</span>
        {name}
        <span class="quiet">
          {brackets[0]}
          {open ? "" : ` ${children.length} ${children.length === 1 ? "entry" : "entries"} `}
          {open ? "" : brackets[1]}
        </span>
        {changed > 0 && change.kind === "changed" && !open && (
          <span class="chip">{changed} changed</span>
        )}
      </button>
      {open && <Rows changes={shown} whole={whole} />}
    </div>
  );
}

function childrenOf(value: Json | undefined, kind: Change["kind"]): Change[] {
  if (typeof value !== "object" || value === null) return [];
  const sided = (one: Json) =>
    kind === "removed" ? { before: one, after: undefined } : { before: undefined, after: one };
  return Object.entries(value).map(([key, one]) => ({
    key,
    kind,
    ...(kind === "same" ? { before: one, after: one } : sided(one)),
    children: [],
  }));
}

function Leaf({ change }: { change: Change }) {
  const { kind, before, after } = change;
  if (kind !== "changed") return <Value value={after === undefined ? before : after} />;
  if (typeof before === "string" && typeof after === "string" && before.length + after.length < WORDS) {
    return (
      <span class="value">
        {words(before, after).map((one, index) =>
          one.kind === "same" ? (
            <span key={index}>{revealed(one.text)}</span>
          ) : one.kind === "added" ? (
            <ins key={index}>{revealed(one.text)}</ins>
          ) : (
            <del key={index}>{revealed(one.text)}</del>
          ),
        )}
      </span>
    );
  }
  return (
    <span>
      <del>
        <Value value={before} />
      </del>{" "}
      <span aria-hidden="true">→</span>{" "}
      <ins>
        <Value value={after} />
      </ins>
    </span>
  );
}

function Value({ value }: { value: Json | undefined }) {
  const [open, setOpen] = useState(false);
  const isText = typeof value === "string";
  const text = isText ? `"${value.split("\n").map(revealed).join("\n")}"` : (JSON.stringify(value) ?? "");
  const kind = isText ? "text" : value === null ? "null" : typeof value;
  if (text.length <= LONG || open) return <span class={`value ${kind}`}>{text}</span>;
  return (
    <span class={`value ${kind}`}>
      {text.slice(0, SHOWN)}
      <span class="gap">… {count(text.length - 2 * SHOWN)} characters hidden …</span>
      {text.slice(-SHOWN)}{" "}
      <button class="link" onClick={() => setOpen(true)}>
        all {count(text.length)} characters
      </button>
    </span>
  );
}

// Differences between two JSON values, as a tree that a person can unfold.

import { edits } from "./diff";
import { isObject } from "./schema";
import type { Json } from "./types";

type ChangeKind = "same" | "added" | "removed" | "changed";

/** A value on both sides; `before` or `after` is undefined where the value is missing there. */
export interface Change {
  key: string;
  kind: ChangeKind;
  before: Json | undefined;
  after: Json | undefined;
  children: Change[];
}

/** Return whether two JSON values are equal, whatever the order of their keys. */
export function equal(one: Json | undefined, other: Json | undefined): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    return one.every((entry, at) => equal(entry, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && equal(one[key], other[key]))
  );
}

/** Compare two values; keys come in the order of the first value, then of the second. */
export function compare(before: Json | undefined, after: Json | undefined, key = ""): Change {
  const change: Change = { key, kind: "same", before, after, children: [] };
  if (before === undefined && after === undefined) return change;
  if (before === undefined) return { ...change, kind: "added" };
  if (after === undefined) return { ...change, kind: "removed" };
  if (equal(before, after)) return change;
  change.kind = "changed";
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    change.children = [...keys].map((one) =>
      compare(
        Object.hasOwn(before, one) ? before[one] : undefined,
        Object.hasOwn(after, one) ? after[one] : undefined,
        one,
      ),
    );
  } else if (Array.isArray(before) && Array.isArray(after)) {
    change.children = entries(before, after);
  }
  return change;
}

/** Compare two lists: what was inserted or removed moves the rest, and is not a change of all of it. */
function entries(before: Json[], after: Json[]): Change[] {
  const found: Change[] = [];
  let removed: Json[] = [];
  let [left, right] = [0, 0];
  const flush = () => {
    for (const one of removed) found.push(compare(one, undefined, String(left++)));
    removed = [];
  };
  for (const edit of edits(before, after, equal)) {
    if (edit.kind === "removed") removed.push(edit.left!);
    else if (edit.kind === "added" && removed.length) {
      found.push(compare(removed.shift(), edit.right, String(right)));
      left += 1;
      right += 1;
    } else {
      flush();
      found.push(compare(edit.left, edit.right, String(right)));
      if (edit.kind === "same") left += 1;
      right += 1;
    }
  }
  flush();
  return found;
}

/** Return how many values differ. */
export const countChanges = (change: Change): number =>
  change.kind === "same"
    ? 0
    : change.children.length
      ? change.children.reduce((sum, one) => sum + countChanges(one), 0)
      : 1;

// Differences between two sequences: lines and words of texts, entries of lists, steps of runs.

export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
}

/** One entry of an edit script; `same` has both sides. */
export interface Edit<T> {
  kind: "same" | "added" | "removed";
  left?: T;
  right?: T;
}

const MOST = 4_000_000; // cells of the table; beyond it, what is left counts as replaced

/** Return the shortest edit script from one sequence to another; long ones that share little are replaced. */
export function edits<T>(
  a: readonly T[],
  b: readonly T[],
  same: (one: T, other: T) => boolean = Object.is,
): Edit<T>[] {
  let start = 0;
  while (start < a.length && start < b.length && same(a[start]!, b[start]!)) start += 1;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && same(a[endA - 1]!, b[endB - 1]!)) {
    endA -= 1;
    endB -= 1;
  }
  const both = (left: T, right: T): Edit<T> => ({ kind: "same", left, right });
  return [
    ...a.slice(0, start).map((one, at) => both(one, b[at]!)),
    ...middle(a.slice(start, endA), b.slice(start, endB), same),
    ...a.slice(endA).map((one, at) => both(one, b[endB + at]!)),
  ];
}

function middle<T>(a: readonly T[], b: readonly T[], same: (one: T, other: T) => boolean): Edit<T>[] {
  const removed = (left: T): Edit<T> => ({ kind: "removed", left });
  const added = (right: T): Edit<T> => ({ kind: "added", right });
  if (a.length * b.length > MOST) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = same(a[i]!, b[j]!)
        ? common[(i + 1) * width + j + 1]! + 1
        : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const found: Edit<T>[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (same(a[i]!, b[j]!)) found.push({ kind: "same", left: a[i++]!, right: b[j++]! });
    else if (common[(i + 1) * width + j]! >= common[i * width + j + 1]!) found.push(removed(a[i++]!));
    else found.push(added(b[j++]!));
  }
  return [...found, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}

const asLine = (edit: Edit<string>): Line => ({ kind: edit.kind, text: edit.left ?? edit.right! });

/** Return the differences between two texts, line by line. */
export const lines = (before: string, after: string): Line[] =>
  edits(before.split("\n"), after.split("\n")).map(asLine);

/** Return the differences between two texts, word by word; neighbours of one kind are joined. */
export function words(before: string, after: string): Line[] {
  const split = (text: string) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
  const found: Line[] = [];
  for (const edit of edits(split(before), split(after))) {
    const line = asLine(edit);
    const last = found[found.length - 1];
    if (last?.kind === line.kind) last.text += line.text;
    else found.push(line);
  }
  return found;
}

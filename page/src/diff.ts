// Differences between two texts, line by line.

export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
}

/** The shortest way from one text to another; long texts that share little are shown one after the other. */
export function lines(before: string, after: string): Line[] {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA -= 1;
    endB -= 1;
  }
  const same = (list: string[]): Line[] => list.map((text) => ({ kind: "same", text }));
  return [
    ...same(a.slice(0, start)),
    ...middle(a.slice(start, endA), b.slice(start, endB)),
    ...same(a.slice(endA)),
  ];
}

function middle(a: string[], b: string[]): Line[] {
  const removed = (text: string): Line => ({ kind: "removed", text });
  const added = (text: string): Line => ({ kind: "added", text });
  if (a.length * b.length > 1_000_000) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const found: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      found.push({ kind: "same", text: a[i]! });
      i += 1;
      j += 1;
    } else if (common[(i + 1) * width + j]! >= common[i * width + j + 1]!) {
      found.push(removed(a[i]!));
      i += 1;
    } else {
      found.push(added(b[j]!));
      j += 1;
    }
  }
  return [...found, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}

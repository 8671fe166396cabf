// A list of any length that keeps only the rows in sight in the document. Rows may have any height:
// one is guessed until it was seen.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

interface Props<T> {
  items: T[];
  keyOf: (item: T) => string;
  /** `at` is the row's place among all rows and their number. */
  render: (item: T, at: At) => ComponentChildren;
  guess: number;
  label: string;
  /** What it is to a screen reader: articles that say where they are, or a plain list. */
  kind?: "feed" | "list";
  /** How many more rows there are before the first one. */
  before?: number;
  /** Go along with new rows at the end, unless the person has scrolled away. */
  stick?: boolean;
  /** Go to the end when this changes to something, wherever the person is. */
  end?: unknown;
  /** The row to bring into sight. */
  show?: string | undefined;
  onTop?: () => void;
}

export type At = readonly [place: number, all: number];

const SPARE = 400; // pixels beyond the edges

export function VirtualList<T>(props: Props<T>) {
  const { items, keyOf, guess } = props;
  const box = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const atEnd = useRef(true);
  const anchor = useRef<{ key: string; top: number } | undefined>(undefined);
  const [place, setPlace] = useState({ top: 0, height: 600 });
  const [measured, setMeasured] = useState(0);

  const tops = useMemo(() => {
    const found = new Float64Array(items.length + 1);
    items.forEach((item, index) => {
      found[index + 1] = found[index]! + (heights.current.get(keyOf(item)) ?? guess);
    });
    return found;
  }, [items, measured]);

  const whole = tops[items.length]!;
  const first = Math.max(0, search(tops, place.top - SPARE) - 1);
  const last = Math.min(items.length, search(tops, place.top + place.height + SPARE) + 1);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() =>
      setPlace({ top: element.scrollTop, height: element.clientHeight }),
    );
    watch.observe(element);
    // Rows that fold or load something change their height by themselves.
    const rows = new ResizeObserver(() => setMeasured((count) => count + 1));
    rows.observe(element.firstElementChild!.firstElementChild!);
    return () => {
      watch.disconnect();
      rows.disconnect();
    };
  }, []);

  useLayoutEffect(() => {
    if (props.end) atEnd.current = true;
  }, [props.end]);

  // Measure what is in the document; keep the row at the top where it is.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    let changed = false;
    for (const row of element.querySelectorAll<HTMLElement>("[data-row]")) {
      const height = row.getBoundingClientRect().height; // not rounded: sums would drift
      const key = row.dataset["row"]!;
      if (heights.current.get(key) !== height) {
        heights.current.set(key, height);
        changed = true;
      }
    }
    if (changed) setMeasured((count) => count + 1);
    const active = document.activeElement; // a form that a person fills in stays where it is
    const fills = element.contains(active) && active!.closest("form") !== null;
    if (props.stick && atEnd.current && !fills) element.scrollTop = element.scrollHeight;
    else if (anchor.current) {
      const index = items.findIndex((item) => keyOf(item) === anchor.current!.key);
      if (index >= 0) {
        const wanted = tops[index]! + anchor.current.top;
        if (Math.abs(wanted - element.scrollTop) > 1) element.scrollTop = wanted;
      }
    }
  });

  useLayoutEffect(() => {
    const element = box.current;
    const index = props.show === undefined ? -1 : items.findIndex((i) => keyOf(i) === props.show);
    if (!element || index < 0) return;
    const top = tops[index]!;
    const bottom = tops[index + 1]!;
    if (top < element.scrollTop || bottom > element.scrollTop + element.clientHeight) {
      atEnd.current = false;
      anchor.current = undefined;
      element.scrollTop = top - element.clientHeight / 3;
    }
  }, [props.show]);

  const onScroll = () => {
    const element = box.current;
    if (!element) return; // the list has gone before its last scroll was told
    const top = element.scrollTop;
    atEnd.current = top + element.clientHeight >= element.scrollHeight - 40;
    const index = Math.max(0, search(tops, top) - 1);
    const item = items[index];
    anchor.current = item === undefined ? undefined : { key: keyOf(item), top: top - tops[index]! };
    const height = element.clientHeight;
    setPlace((before) =>
      before.top === top && before.height === height ? before : { top, height },
    );
    if (top < SPARE) props.onTop?.();
  };

  const { kind = "feed", before = 0 } = props;
  const all = before + items.length;
  return (
    <div class="list" ref={box} onScroll={onScroll} role={kind} aria-label={props.label} tabIndex={0}>
      <div style={{ height: `${whole}px`, position: "relative" }}>
        <div style={{ position: "absolute", top: `${tops[first]}px`, left: "0", right: "0" }}>
          {items.slice(first, last).map((item, index) => {
            const at = [before + first + index + 1, all] as const;
            const entry = kind === "list" && {
              role: "listitem" as const,
              "aria-posinset": at[0],
              "aria-setsize": at[1],
            };
            return (
              // A row holds its margins: a height without them would not be all that it takes.
              <div key={keyOf(item)} data-row={keyOf(item)} style={{ display: "flow-root" }} {...entry}>
                {props.render(item, at)}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** The first index whose value is greater. */
function search(values: Float64Array, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

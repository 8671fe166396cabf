// Two sessions side by side, row by row.

import * as act from "../actions";
import { nested } from "../nesting";
import type { Row } from "../nesting";
import * as s from "../state";
import type { Numbered } from "../types";
import { VirtualList } from "../virtual";
import { EventCard } from "./EventCard";
import { summary } from "./Timeline";

interface Pair {
  key: string;
  left: Row | undefined;
  right: Row | undefined;
}

export function Compare() {
  const other = s.other.value;
  const choices = s.sessions.value.filter((one) => one.id !== s.session.value?.id);
  const choose = (id: string) => {
    const one = choices.find((session) => session.id === id);
    if (one) void act.compareWith(one);
  };
  return (
    <div class="compare">
      <label>
        Compare with{" "}
        <select value={other?.session.id ?? ""} onChange={(e) => choose(e.currentTarget.value)}>
          <option value="">choose a session</option>
          {choices.map((one) => (
            <option key={one.id} value={one.id}>
              {s.title(one)}
            </option>
          ))}
        </select>
      </label>
      {other && (
        <VirtualList
          items={pairs(s.events.value, other.events)}
          keyOf={(pair) => pair.key}
          guess={80}
          label="Two sessions side by side"
          render={(pair, at) => (
            <div class={`pair ${same(pair) ? "" : "differs"}`}>
              <div>{pair.left && <EventCard row={pair.left} at={at} />}</div>
              <div>{pair.right && <EventCard row={pair.right} at={at} />}</div>
            </div>
          )}
        />
      )}
    </div>
  );
}

function pairs(one: Numbered[], other: Numbered[]): Pair[] {
  const [left, right] = [nested(one), nested(other)];
  return Array.from({ length: Math.max(left.length, right.length) }, (_, index) => ({
    key: `${left[index]?.key ?? ""}|${right[index]?.key ?? ""}`,
    left: left[index],
    right: right[index],
  }));
}

const same = (pair: Pair): boolean =>
  pair.left !== undefined &&
  pair.right !== undefined &&
  pair.left.one.event.author === pair.right.one.event.author &&
  summary(pair.left.one.event) === summary(pair.right.one.event);

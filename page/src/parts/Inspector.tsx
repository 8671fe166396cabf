// What is selected: the event, the exact request, the state around it, tokens and cost.

import { compare } from "../jsondiff";
import { flag, setting } from "../settings";
import * as s from "../state";
import type { Json, JsonObject, Numbered } from "../types";
import { Changes } from "./Changes";
import { Check } from "./Check";
import { CostTab } from "./CostTab";
import { Icon } from "./Icon";
import { RequestTab } from "./RequestTab";
import { useStateAt } from "./StateView";
import { Tabs } from "./Tabs";
import { TryAgain } from "./TryAgain";

type Tab = "event" | "request" | "state" | "cost" | "try";
const TABS: readonly (readonly [Tab, string])[] = [
  ["event", "Event"],
  ["request", "Request"],
  ["state", "State"],
  ["cost", "Tokens"],
  ["try", "Retry"],
];

const isOpen = () => s.screen.value === "session" && s.chosen.value !== undefined;
const shownTab = setting<Tab>("details", "event", { among: TABS.map(([name]) => name), shown: isOpen });
const asText = flag("as-text", () => isOpen() && shownTab.value === "event");

export function Inspector() {
  const tab = shownTab.value;
  const one = s.chosen.value;
  if (!one) return null;
  return (
    <aside class="inspector" aria-label="Selected event">
      <header class="bar">
        <Tabs label="Details" tabs={TABS} chosen={tab} choose={(name) => (shownTab.value = name)} panel="details" />
        <button class="icon" aria-label="Close details" title="Close details (Esc)" onClick={() => (s.selected.value = undefined)}>
          <Icon name="close" />
        </button>
      </header>
      <div class="details" role="tabpanel" id="details" aria-labelledby={`details-${tab}`} tabIndex={0}>
        {tab === "event" && <EventTab key={one.event.id} value={one.event as unknown as Json} />}
        {tab === "request" && <RequestTab event={one.event} />}
        {tab === "state" && <StateTab one={one} />}
        {tab === "cost" && <CostTab one={one} />}
        {tab === "try" && <TryAgain key={one.event.id} one={one} />}
      </div>
    </aside>
  );
}

/** The event as it is stored: as a tree, or as the text that a program reads. */
function EventTab({ value }: { value: Json }) {
  return (
    <>
      <p class="buttons">
        <Check flag={asText}>as text</Check>
      </p>
      {asText.value ? (
        <pre class="code">{JSON.stringify(value, null, 2)}</pre>
      ) : (
        <Changes label="Event" change={compare(value, value)} whole />
      )}
    </>
  );
}

function StateTab({ one }: { one: Numbered }) {
  const delta = one.event.actions?.stateDelta ?? {};
  const around = useStateAt(one.event.id, Object.keys(delta).length ? one.event.id : "");
  if (!Object.keys(delta).length) return <p class="quiet">This event changes no state.</p>;
  const before = around?.before ?? stateBefore(one, Object.keys(delta));
  const after = around?.after ?? merged(before, delta);
  const change = compare(before, after);
  return (
    <>
      <h2>What this event changed</h2>
      {change.kind === "same" ? (
        <p class="quiet">It wrote the values that were there before.</p>
      ) : (
        <Changes label="Changes of the state" change={change} />
      )}
      <details>
        <summary>The whole state after it</summary>
        <Changes label="State after the event" change={change} whole />
      </details>
    </>
  );
}

const merged = (state: JsonObject, delta: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries({ ...state, ...delta }).filter(([, value]) => value !== null));

/** The values that earlier events, as far as they are loaded, gave to some keys. */
function stateBefore(one: Numbered, keys: string[]): JsonObject {
  const found: JsonObject = {};
  const open = new Set(keys);
  for (let at = s.events.value.indexOf(one) - 1; at >= 0 && open.size; at -= 1) {
    const delta = s.events.value[at]!.event.actions?.stateDelta ?? {};
    for (const key of [...open]) {
      if (key in delta) {
        if (delta[key] !== null) found[key] = delta[key]!;
        open.delete(key);
      }
    }
  }
  return found;
}

// The ledger of what tools did, read page by page, and the event behind each row.

import { loadOlder, open, openedTurn, tried } from "./actions";
import { api } from "./api";
import type { Place } from "./api";
import { flag, setting } from "./settings";
import * as s from "./state";
import type { EffectList, EffectRecord } from "./wire";

const shown = () => s.screen.value === "effects" || s.sees("effects")();
/** Which effects are listed; `hours` are counted back from now, none for all time. */
export const filters = {
  tool: setting("tool", "", { shown, typed: true }),
  hours: setting("hours", "", { shown }),
  inDoubt: flag("doubt", shown),
};
export const filtersNow = () => ({
  tool: filters.tool.value,
  hours: filters.hours.value,
  inDoubt: filters.inDoubt.value,
});
export type Filters = ReturnType<typeof filtersNow>;
const NO_FILTERS: Filters = { tool: "", hours: "", inDoubt: "" };

/** Ask for a page of effects: of one session, or of all sessions of the app. */
export function readEffects(
  place: Place | undefined,
  filters: Filters,
  token: string | undefined,
  now = Date.now() / 1000,
): Promise<EffectList> {
  return api.effects(place?.app ?? s.app.value, place, {
    tool: filters.tool.trim(),
    since: Number(filters.hours) > 0 ? String(Math.floor(now - Number(filters.hours) * 3600)) : undefined,
    inDoubt: filters.inDoubt ? "true" : undefined,
    pageSize: "100",
    pageToken: token,
  });
}

/** Select the event that made the call of an effect; open its session first, if it is another one. */
export async function openEffect(one: EffectRecord): Promise<void> {
  const here = s.session.value;
  if (here?.id !== one.sessionId || here.userId !== one.userId) {
    await open({ app: one.appName, user: one.userId, session: one.sessionId });
  }
  const turn = openedTurn();
  for (;;) {
    const found = s.events.value.find(({ event }) =>
      event.content?.parts?.some((part) => part.functionCall?.id === one.callId),
    );
    if (found) {
      s.screen.value = "session";
      if (s.view.value !== "timeline") s.view.value = "chat";
      s.selected.value = found.event.id;
      return;
    }
    const first = s.events.value[0]?.number ?? 0;
    if (turn !== openedTurn() || first <= 1) break;
    await loadOlder();
    if ((s.events.value[0]?.number ?? 0) >= first) break;
  }
  if (turn === openedTurn() && s.session.value) {
    s.problem.value = "The log of the session has no such call: an agent that ran as a tool made it.";
  }
}

/** What was approved lately, over all sessions of the app; undefined if the store keeps no ledger. */
export async function readApproved(): Promise<EffectRecord[] | undefined> {
  const found = await tried(() => readEffects(undefined, NO_FILTERS, undefined));
  return found?.effects.filter((one) => one.approvedBy);
}

/** How a doubt about a call was resolved, in words. */
export const RESOLVED: { [resolution: string]: string } = {
  rerun: "it ran again",
  at_most_once: "it did not run again",
  ask: "a person was asked",
  check: "the tool looked",
  rejected: "a person refused a second run",
};

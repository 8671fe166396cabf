// Tracebacks of the developer's code, asked for once for each run that failed.

import { place } from "./actions";
import { api } from "./api";
import type { Traceback } from "./wire";

const known = new Map<string, Promise<Traceback[]>>();
const MOST = 200; // runs that are remembered

/** Read the tracebacks of a run; none if the server shows none. */
export function readTracebacks(invocation: string, again: boolean): Promise<Traceback[]> {
  const where = place();
  if (!where || !invocation) return Promise.resolve([]);
  const key = [where.app, where.user, where.session, invocation].join(" ");
  let found = again ? undefined : known.get(key);
  if (!found) {
    if (known.size >= MOST) known.clear();
    found = api.tracebacks(where, invocation).then(
      (page) => page.tracebacks,
      () => [], // a server that is not a developer's has none
    );
    known.set(key, found);
  }
  return found;
}

/** The traceback of a call, or of the error that ended a run. */
export function tracebackOf(all: Traceback[], call: string | undefined, type: string | undefined): Traceback | undefined {
  if (call !== undefined) return all.findLast((one) => one.callId === call);
  return all.findLast((one) => one.errors[0]?.type === type) ?? all[all.length - 1];
}

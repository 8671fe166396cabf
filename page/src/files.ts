// Sessions as files.

import { listSessions, open, placeOf, tried } from "./actions";
import { api } from "./api";
import { parseJson } from "./numbers";
import * as s from "./state";
import type { Session, Summary } from "./types";

export async function exportSession(one: Summary): Promise<void> {
  const where = placeOf(one);
  const whole = await tried(() => api.session(where));
  if (!whole) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(
    new Blob([JSON.stringify(whole, null, 2)], { type: "application/json" }),
  );
  link.download = `${one.id}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

export async function importSession(file: File): Promise<void> {
  const made = await tried(async () =>
    api.importSession(s.app.value, s.user.value, parseJson<Session>(await file.text())),
  );
  if (!made) return;
  await listSessions();
  await open({ app: made.appName, user: made.userId, session: made.id });
}

// What a person typed and did not send yet, by session; it survives a reload and a dead server.

const PREFIX = "ostinato-draft ";
const MOST = 50; // drafts that are kept

const keyOf = (app: string, user: string, session: string | undefined): string =>
  PREFIX + [app, user, session ?? ""].map(encodeURIComponent).join("/");

export function loadDraft(app: string, user: string, session: string | undefined): string {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(app, user, session)) ?? "{}");
    return typeof kept.text === "string" ? kept.text : "";
  } catch {
    return "";
  }
}

export function keepDraft(app: string, user: string, session: string | undefined, text: string): void {
  const key = keyOf(app, user, session);
  try {
    if (!text) return localStorage.removeItem(key);
    localStorage.setItem(key, JSON.stringify({ text, at: Date.now() }));
    forgetOldest();
  } catch {
    // no room, or storage is off: the text is in the box all the same
  }
}

function forgetOldest(): void {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  if (keys.length <= MOST) return;
  const aged = keys.map((key) => [timeOf(localStorage.getItem(key)), key] as const);
  aged.sort(([one], [other]) => one - other);
  for (const [, key] of aged.slice(0, keys.length - MOST)) localStorage.removeItem(key);
}

function timeOf(kept: string | null): number {
  try {
    return Number(JSON.parse(kept ?? "{}").at) || 0;
  } catch {
    return 0;
  }
}

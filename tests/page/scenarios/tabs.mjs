// A browser has six connections for each server. A hidden tab holds none, so any number of tabs can be
// open; it catches up when it is shown again.

import { becomes, scenario } from "../harness.mjs";

const TABS = 8;

/** Hide or show a tab as a browser with windows does; a browser without them shows all tabs. */
const show = (tab, seen) =>
  tab.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    document.dispatchEvent(new Event("visibilitychange"));
  }, seen ? "visible" : "hidden");

await scenario({}, async ({ page, server, context, shot, say, quiet }) => {
  await say("hello");
  await quiet(2);
  const address = page.url();
  await show(page, false);
  const tabs = [page];
  while (tabs.length < TABS) {
    const tab = await context.newPage();
    await tab.goto(address, { timeout: 30_000 });
    await tab.getByText("You said: hello").first().waitFor({ timeout: 30_000 });
    tabs.push(tab);
    if (tabs.length < TABS) await show(tab, false);
  }
  // A tab that is hidden while its message runs lets go of its connections, too.
  const last = tabs[TABS - 1];
  const box = last.getByRole("textbox", { name: /^Message to/ });
  server.shut();
  await box.fill("hold this");
  await box.press("Enter");
  await last.getByRole("button", { name: "Stop" }).waitFor();
  await last.getByText("one", { exact: true }).waitFor();
  await show(last, false);
  server.open();
  for (const tab of tabs) {
    await show(tab, true);
    await tab.getByRole("article").getByText("one two", { exact: true }).waitFor({ timeout: 30_000 });
    await becomes(() => tab.getByRole("article").count(), 4);
    await tab.getByRole("button", { name: "Send" }).waitFor();
    await show(tab, false);
  }
  await shot("last");
});

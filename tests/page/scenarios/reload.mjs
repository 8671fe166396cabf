// A run goes on whatever becomes of the page: a reload, a second tab, a restart of the server.

import { becomes, scenario } from "../harness.mjs";

const LOST = ["503", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION", "ERR_EMPTY", "network error"];

await scenario({ tolerated: LOST, server: ["--lease", "2"] }, async ({ page, shown, server, context, shot, say, quiet, button }) => {
  const said = (text) => page.getByRole("article").getByText(text, { exact: true });
  await say("hold the first");
  await shown("one", { exact: true }).waitFor();
  await page.reload();
  await said("hold the first").waitFor();
  await button("Stop").waitFor();
  await shown("one", { exact: true }).waitFor(); // what was streamed before the reload
  server.open();
  await shown("one two", { exact: true }).waitFor();
  await quiet(2);
  await button("Send").waitFor();

  // What one tab says, the other shows, once.
  server.shut();
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByText("one two", { exact: true }).waitFor();
  await say("hold the second");
  await other.getByRole("article").getByText("hold the second", { exact: true }).waitFor();
  await other.getByRole("button", { name: "Stop" }).waitFor();
  await other.getByText("one", { exact: true }).waitFor();
  server.open();
  for (const one of [page, other]) {
    await one.getByText("one two", { exact: true }).nth(1).waitFor();
    await one.locator("header.bar").getByText("4 events", { exact: true }).waitFor();
    await becomes(() => one.getByRole("article").count(), 4);
  }
  const box = other.getByRole("textbox", { name: /^Message to/ });
  await box.fill("from the other");
  await box.press("Enter");
  await shown("You said: from the other").waitFor();
  await quiet(6);

  // The server ends in the middle of a run, and another one takes it up.
  server.shut();
  await say("hold the third");
  await shown("one", { exact: true }).waitFor();
  await server.stop();
  await shot("server-gone");
  await server.start();
  server.open();
  await shown("one two", { exact: true }).nth(2).waitFor();
  await quiet(8);
  await button("Send").waitFor();
  await becomes(() => said("hold the third").count(), 1);
  await shot("taken-up");
});

// What others do to sessions while the page is looked at: the list shows it, and nobody approves what is gone.

import { becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503", "404 (Not Found)", "ERR_FAILED"] }, async ({ page, server, shot, say, button, quiet }) => {
  const base = "/apps/desk/users/user/sessions";
  const entries = page.locator(".sessions .entry");
  const open = () => new URLSearchParams(new URL(page.url()).hash.slice(1)).get("session");

  await say("wire it");
  await button("Approve").waitFor();
  const first = open();
  const event = { author: "user", content: { role: "user", parts: [{ text: "from elsewhere" }] } };
  const { id } = await server.ask("POST", base, { events: [event] });
  await entries.getByText("from elsewhere").waitFor();
  await server.ask("PATCH", `${base}/${id}`, { stateDelta: { __session_metadata__: { displayName: "Renamed elsewhere" } } });
  await entries.getByText("Renamed elsewhere").waitFor();
  await server.ask("DELETE", `${base}/${id}`);
  await becomes(() => entries.count(), 1);

  // A session that is deleted while it is open says so, and its calls cannot be answered.
  await server.ask("DELETE", `${base}/${first}`);
  await page.getByText("This session is gone: it was deleted.").first().waitFor();
  await becomes(() => button("Approve").count(), 0);
  await becomes(() => page.locator(".problem").count(), 0);
  await page.locator("header.bar").getByText("deleted", { exact: true }).waitFor();
  await becomes(() => entries.count(), 0);
  await button("Waiting 0").waitFor();
  await shot("open");

  // In the inbox, too, even before it has noticed.
  await button("New session").click();
  await quiet(0);
  await say("wire again");
  await button("Approve").waitFor();
  const second = open();
  await button("New session").click();
  await quiet(0);
  await button("Waiting 1").click();
  const inbox = page.getByRole("dialog", { name: "Waiting for you" });
  await inbox.getByRole("button", { name: "Approve", exact: true }).waitFor();
  await page.route("**/approvals", (route) => route.abort()); // it does not notice by itself
  await server.ask("DELETE", `${base}/${second}`);
  await inbox.getByRole("button", { name: "Approve", exact: true }).click();
  await inbox.getByText("This session is gone: it was deleted.").waitFor();
  await becomes(() => inbox.getByRole("button", { name: "Approve", exact: true }).count(), 0);
  await shot("inbox");
});

// Sessions: search, rename, export, import, delete; a user of one's own.

import { readFileSync } from "node:fs";
import { assert, becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, shown, shot, say, quiet, menu, button }) => {
  const entries = page.locator(".sessions .entry");
  await say("alpha");
  await shown("You said: alpha").waitFor();
  await quiet(2);
  await menu("alpha", "Rename"); // titled by its first message
  await page.getByLabel("New name").fill("Täglich & more");
  await page.keyboard.press("Enter");
  await entries.filter({ hasText: "Täglich & more" }).waitFor();
  await page.getByRole("heading", { name: "Täglich & more" }).waitFor();
  await quiet(3);

  await button("New session").dblclick();
  await quiet(0);
  await becomes(() => entries.count(), 2);
  const search = page.getByLabel("Search sessions");
  await search.fill("täglich");
  await page.waitForFunction(() => document.querySelectorAll(".sessions .entry").length === 1);
  await shot("search");
  await search.fill("no such thing");
  await shown("No sessions.").waitFor();
  await search.fill("");
  await page.waitForFunction(() => document.querySelectorAll(".sessions .entry").length === 2);

  await page.getByLabel("More for Täglich & more", { exact: true }).click();
  await shot("menu");
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).locator("visible=true").click();
  const file = await (await coming).path();
  const whole = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(whole.events.length, 3);
  await page.locator('input[type="file"]:not([multiple])').setInputFiles({
    name: "session.json", mimeType: "application/json", buffer: readFileSync(file),
  });
  await shown("You said: alpha").waitFor();
  await quiet(3);
  await becomes(() => entries.count(), 3);
  await becomes(() => entries.filter({ hasText: "Täglich & more" }).count(), 2);
  await say("beta");
  await shown("You said: beta").waitFor();

  await page.locator('input[type="file"]:not([multiple])').setInputFiles({
    name: "wrong.json", mimeType: "application/json", buffer: Buffer.from("{"),
  });
  await page.getByRole("alert").getByText("JSON", { exact: false }).waitFor();
  await button("Close the message").click();

  page.on("dialog", (dialog) => void dialog.accept());
  await page.locator(".sessions li.current summary").click();
  await page.locator(".sessions li.current").getByRole("button", { name: "Delete" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".sessions .entry").length === 2);
  await shown("Write a message to begin a session", { exact: false }).waitFor();
  assert.equal(new URL(page.url()).hash, "#app=desk&user=user");

  await page.getByLabel("user", { exact: true }).fill("ann");
  await page.keyboard.press("Enter");
  await shown("No sessions.").waitFor();
  await say("mine");
  await shown("You said: mine").waitFor();
  await becomes(() => entries.count(), 1);
  await page.reload();
  await shown("You said: mine").waitFor();
});

// Load, a broken agent's error, a session, a streamed answer, thoughts, a tool call, files, state,
// artifacts, the search in what is there.

import { assert, becomes, scenario } from "../harness.mjs";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const BROKEN = ["503"]; // what Chromium says of the answer about the broken agent

await scenario({ tolerated: BROKEN }, async ({ page, shown, server, shot, box, say, button, tab, quiet, event }) => {
  await shown("broken cannot be loaded").waitFor();
  await shown("was never closed", { exact: false }).first().waitFor();
  await becomes(() => page.getByLabel("Agent").inputValue(), "desk");
  await shot("start");

  await page.getByLabel("Agent").selectOption("broken");
  await page.getByRole("alert").getByText("was never closed", { exact: false }).waitFor();
  await shot("broken");
  await button("Close the message").click();
  await page.getByLabel("Agent").selectOption("desk");
  await button("New session").click();
  await quiet(0);

  await say("hold on");
  await shown("one", { exact: true }).waitFor(); // streamed; nothing is stored of it yet
  await page.locator("header.bar").getByText("running", { exact: true }).waitFor();
  await shot("streaming");
  server.open();
  await shown("one two", { exact: true }).waitFor();
  await quiet(2);
  await becomes(() => page.getByRole("article").count(), 2);

  await say("What is the weather?");
  await shown("lookup gave", { exact: false }).waitFor();
  await quiet(6);
  await event(4).getByText("Thoughts").click();
  await event(4).getByText("I need lookup for that.").waitFor();
  await event(4).getByText('lookup(city: Rome)').waitFor();
  await event(5).getByText("sunny in Rome", { exact: false }).waitFor();
  await event(5).getByText("state last_city").waitFor();
  await shot("tool");

  await page.locator('input[type="file"][multiple]').setInputFiles([
    { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") },
    { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("milk") },
  ]);
  await button("Leave out notes.txt").waitFor();
  await say("look");
  await shown("You sent image/png, text/plain", { exact: true }).waitFor();
  const dot = event(7).getByRole("img", { name: "dot.png" });
  await dot.waitFor();
  await becomes(() => dot.evaluate((image) => image.naturalWidth), 1);
  await event(7).getByRole("link", { name: /notes\.txt/ }).waitFor();
  await quiet(8);
  await shot("files");

  await say("draw it");
  await shown("draw gave", { exact: false }).waitFor();
  await quiet(12);
  await tab("Artifacts").click();
  await button("square.png").click();
  await page.getByRole("img", { name: "square.png" }).waitFor();
  assert.equal(
    await page.getByRole("img", { name: "square.png" }).evaluate((image) => image.naturalWidth),
    48,
  );
  await shot("artifact");
  await button("about.txt").click();
  await shown("A square, blue.").waitFor();

  await tab("State").click();
  await page.getByRole("group", { name: "State, this session" }).getByText('last_city: "Rome"').waitFor();
  await page.getByLabel("Show what changed since the session began").check();
  await page.locator(".change.added").getByText("added: last_city").waitFor();
  await shot("state");
  await tab("Chat").click();

  await say("boom");
  await shown("the model fell over", { exact: false }).first().waitFor();
  await button("Send").waitFor();
  await shot("error");
  await becomes(() => box.inputValue(), "");
});

// The finder, filters, keys; drafts, a message that could not be sent, and what a stopped run said.

import { assert, becomes, scenario } from "../harness.mjs";

const LOST = ["503", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION", "ERR_EMPTY", "network error"];

await scenario({ tolerated: LOST }, async ({ page, server, shown, shot, box, say, quiet, button, event }) => {
  const finder = page.getByRole("dialog", { name: "Find" });
  const field = page.getByRole("combobox", { name: /^Find sessions/ });
  const options = () => finder.locator("[role=option]");
  await say("Where is the lighthouse?");
  await quiet(2);
  await button("New session").click();
  await quiet(0);
  await say("What is the weather?");
  await quiet(4);

  // By a word of an event.
  await page.keyboard.press("Control+k");
  await field.fill("lighthouse");
  await finder.locator(".hit.event mark").getByText("lighthouse").first().waitFor();
  await shot("finder");
  await options().filter({ hasText: "user #1" }).click();
  await finder.waitFor({ state: "hidden" });
  await page.locator("article.chosen").getByText("Where is the lighthouse?").waitFor();

  // By a tool, a state, and an action.
  await page.keyboard.press("Control+k");
  await finder.getByLabel("Tool that was called").selectOption("lookup");
  await becomes(() => options().count(), 1);
  await options().getByText("What is the weather?").waitFor();
  await finder.getByLabel("State").selectOption("failed");
  await finder.getByText("Nothing was found.").waitFor();
  await finder.getByLabel("State").selectOption("");
  await finder.getByLabel("Tool that was called").selectOption("");
  await field.fill("dark");
  await field.press("Enter");
  await becomes(() => page.evaluate(() => document.documentElement.dataset.theme), "dark");

  // Keys; none while a person types.
  await page.locator("#middle").focus();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#middle").focus();
  await page.keyboard.press("8");
  await becomes(() => page.getByRole("tab", { name: "Compare" }).getAttribute("aria-selected"), "true");
  await page.keyboard.press("2");
  await becomes(() => page.getByRole("tab", { name: "Timeline" }).getAttribute("aria-selected"), "true");
  await page.keyboard.press("[");
  await button("Unfold the sidebar").click();
  await page.keyboard.press("m");
  await page.keyboard.type("2 [ ?");
  await becomes(() => box.inputValue(), "2 [ ?");

  // A draft belongs to its session, and survives a reload.
  await page.reload();
  await becomes(() => box.inputValue(), "2 [ ?");
  await page.locator(".sessions .entry").filter({ hasText: "What is the weather?" }).click();
  await becomes(() => box.inputValue(), "");
  await page.locator(".sessions .entry").filter({ hasText: "lighthouse" }).click();
  await becomes(() => box.inputValue(), "2 [ ?");
  await box.fill("");

  // A dead server: the words stay, the problem is told, kept in the log, and sent later.
  await server.stop();
  await say("is anybody there");
  await page.locator(".problem").waitFor();
  await becomes(() => box.inputValue(), "is anybody there");
  await shot("dead-server");
  await button("Close the message").click();
  await server.start();
  await page.locator("header.bar").getByText("2 events", { exact: true }).waitFor();
  await box.press("Enter");
  await quiet(4);
  await becomes(() => box.inputValue(), "");
  await page.keyboard.press("Control+k");
  await field.fill("went wrong");
  await field.press("Enter");
  await page.getByRole("dialog", { name: "What went wrong" }).getByRole("listitem").first().waitFor();
  await page.keyboard.press("Escape");

  // Stop keeps what was streamed.
  await page.getByRole("tab", { name: "Chat" }).click();
  await say("hold on");
  await shown("one", { exact: true }).waitFor();
  await button("Stop").click();
  await button("Send").waitFor();
  await shown("cut off; not in the log").waitFor();
  await shown("one", { exact: true }).waitFor();
  await shot("stopped");
  await say("thanks");
  await shown("You said: thanks").waitFor();
  const rows = await page.getByRole("article").allTextContents();
  assert.ok(rows.findIndex((text) => text.includes("stopped")) < rows.findIndex((text) => text.includes("thanks")));
  await event(1).waitFor();
});

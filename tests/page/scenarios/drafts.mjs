// What is typed and not sent: in two tabs, in the cards of calls that wait, over a reload and in other views.

import { assert, becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, context, shown, shot, say, box, button, quiet, tab }) => {
  // Two tabs of one session have a draft each; sending one leaves the other.
  await say("hello");
  await quiet(2);
  const other = await context.newPage();
  await other.goto(page.url());
  const second = other.getByRole("textbox", { name: /^Message to/ });
  await box.fill("alpha");
  await second.fill("beta");
  await page.reload();
  await becomes(() => box.inputValue(), "alpha");
  await box.press("Enter");
  await quiet(4);
  await becomes(() => box.inputValue(), "");
  await other.reload();
  await becomes(() => second.inputValue(), "beta");
  await other.close();
  await page.reload();
  await quiet(4);
  await becomes(() => box.inputValue(), "");

  // A reason outlives another view and a reload, and takes no focus when it comes back.
  await say("wire it");
  const reason = page.getByRole("textbox", { name: "Why? The model reads it." });
  await button("Reject with a reason").click();
  await reason.fill("Far too much");
  await tab("Timeline").click();
  await tab("Chat").click();
  await becomes(() => reason.inputValue(), "Far too much");
  await page.reload();
  await becomes(() => reason.inputValue(), "Far too much");
  assert.equal(await reason.evaluate((one) => one === document.activeElement), false);
  await shot("reason");
  await button("Waiting 1").click();
  const inbox = page.getByRole("dialog", { name: "Waiting for you" });
  const inside = inbox.getByRole("textbox", { name: "Why? The model reads it." });
  await becomes(() => inside.inputValue(), "Far too much");
  await inside.fill("Far too much, Ann");
  await page.keyboard.press("Escape");
  await becomes(() => reason.inputValue(), "Far too much, Ann");
  await button("Reject with this reason").click();
  await shown("'reason': 'Far too much, Ann'", { exact: false }).waitFor();

  // So do arguments, as a form and as JSON; Back gives up what was edited.
  await say("wire it again");
  const asks = page.getByRole("group", { name: "Approve wire_money" }).last();
  const amount = asks.getByRole("textbox", { name: "amount" });
  await button("Edit arguments").click();
  await amount.fill("61");
  await page.reload();
  await becomes(() => amount.inputValue(), "61");
  await button("Back").click();
  await button("Edit arguments").click();
  await becomes(() => amount.inputValue(), "5000");
  await button("Edit as JSON").click();
  const area = page.getByLabel("Arguments as JSON");
  await area.fill('{"to": "Bob", "amount": 7');
  await page.reload();
  await becomes(() => area.inputValue(), '{"to": "Bob", "amount": 7');
  await area.fill('{"to": "Bob", "amount": 7}');
  await button("Approve with these").click();
  await shown("'sent': 7", { exact: false }).waitFor();

  // And the fields of a question.
  await page.getByLabel("Agent", { exact: true }).selectOption("survey");
  await page.getByRole("textbox", { name: "Message to survey" }).waitFor();
  await say("trip to the sea");
  const form = page.getByRole("form", { name: "Answer to ask" });
  await form.getByLabel("city").fill("Oslo");
  await form.getByLabel("stops").fill("Bergen\nVoss");
  await page.reload();
  await becomes(() => form.getByLabel("city").inputValue(), "Oslo");
  await becomes(() => form.getByLabel("stops").inputValue(), "Bergen\nVoss");
  await shot("question");
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  assert.ok(kept.includes("Oslo") && !kept.includes("Far too much"), "what was sent is forgotten");
});

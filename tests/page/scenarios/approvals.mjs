// A call that waits: approve, edit its arguments, reject; the inbox over all sessions.

import { becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, shown, shot, say, button, quiet, event }) => {
  const asks = page.getByRole("group", { name: "Approve wire_money" });

  await say("wire it");
  await button("Approve").waitFor();
  await asks.getByText("5000").waitFor();
  await event(3).getByText("waits", { exact: true }).or(shown("asks first")).first().waitFor();
  await shot("asks");
  await button("Approve").click();
  await shown("wire_money gave", { exact: false }).waitFor();
  await shown("'sent': 5000", { exact: false }).waitFor();
  await becomes(() => button("Approve").count(), 0);
  await asks.getByText("asked for approval").waitFor();

  await say("wire it again");
  await button("Edit arguments").click();
  const amount = asks.getByRole("textbox", { name: "amount" });
  await becomes(() => amount.inputValue(), "5000");
  await amount.fill("many");
  await button("Approve with these").click();
  await shown("many is no number.").waitFor();
  await amount.fill("6");
  await shot("form");
  await button("Approve with these").click();
  await shown("'sent': 6", { exact: false }).waitFor();

  await say("wire it as text");
  await button("Edit arguments").click();
  await button("Edit as JSON").click();
  const area = page.getByLabel("Arguments as JSON");
  await area.fill("[1]");
  await button("Approve with these").click();
  await shown("Arguments are a JSON object.").waitFor();
  await area.fill('{"to": "Bob", "amount": 7}');
  await shot("edit");
  await button("Approve with these").click();
  await shown("'sent': 7", { exact: false }).waitFor();

  await say("wire it a third time");
  await button("Reject").click();
  await shown("rejected", { exact: true }).first().waitFor();
  await button("Send").waitFor();
  await becomes(() => button("Reject").count(), 0);
  await shot("rejected");

  await say("wire it a fourth time");
  await button("Reject with a reason").click();
  await page.getByRole("textbox", { name: "Why? The model reads it." }).fill("It is too much.");
  await button("Reject with this reason").click();
  await shown("'reason': 'It is too much.'", { exact: false }).waitFor();
  await button("Waiting 0").click();
  await page.getByText("Decided in this session: 5").click();
  await page.getByRole("dialog").getByText("rejected: It is too much.").waitFor();
  await shot("decided");
  await page.keyboard.press("Escape");

  // Two sessions wait; the inbox shows both, and answers one from within the other.
  await button("New session").click();
  await quiet(0);
  await say("wire in the first");
  await button("Approve").waitFor();
  await button("New session").click();
  await quiet(0);
  await say("wire in the second");
  await button("Approve").waitFor();
  await button("Waiting 2").click();
  const inbox = page.getByRole("dialog", { name: "Waiting for you" });
  const approve = inbox.getByRole("button", { name: "Approve", exact: true });
  await approve.nth(1).waitFor();
  await becomes(() => approve.count(), 2);
  await shot("inbox");
  await page.keyboard.press("Escape");
  await inbox.waitFor({ state: "hidden" });
  await button("Waiting 2").click();
  await approve.nth(1).click(); // the older one: the first
  await event(1).getByText("wire in the first", { exact: true }).waitFor();
  await shown("wire_money gave", { exact: false }).waitFor();
  await button("Waiting 1").waitFor();
});

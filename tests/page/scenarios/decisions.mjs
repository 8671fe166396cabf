// A decision is sent once, says what was decided elsewhere, and shows the texts of a call harmlessly.

import { assert, becomes, scenario } from "../harness.mjs";

const tolerated = ["409 (Conflict)", "404 (Not Found)"];

await scenario({ tolerated }, async ({ page, context, shown, shot, say, button, quiet }) => {
  const asks = page.getByRole("group", { name: "Approve wire_money" });
  const sent = [];
  page.on("request", (one) => {
    if (one.method() === "POST" && one.url().includes("/approvals/")) sent.push(one.postDataJSON());
  });

  // The buttons are disabled from the first click until the server has answered.
  let letGo;
  const held = new Promise((go) => (letGo = go));
  await context.route("**/approvals/*", async (route) => {
    await held;
    await route.continue();
  });
  await say("wire it");
  await button("Approve").waitFor();
  await button("Approve").evaluate((one) => {
    one.click();
    one.click();
  });
  await becomes(() => button("Approve").isDisabled(), true);
  assert.equal(await button("Reject").isDisabled(), true);
  assert.equal(await button("Edit arguments").isDisabled(), true);
  await shot("busy");
  letGo();
  await shown("'sent': 5000", { exact: false }).waitFor();
  assert.deepEqual(sent, [{ action: "approve" }]);
  await context.unroute("**/approvals/*");

  // Answered elsewhere first: the page says how, and nothing waits any more.
  const answers = (status, body) =>
    context.route("**/approvals/*", (route) => route.fulfill({ status, json: body }));
  const error = { type: "CallAlreadyAnsweredError", message: "answered" };
  const first = { callId: "c", answer: { confirmed: false }, answeredAt: 1_700_000_000 };
  await answers(409, { detail: "answered", error, ...first });
  await say("wire it again");
  await button("Approve").click();
  await asks.getByText(/Answered already: rejected at \d+:\d+:\d+/).waitFor();
  await becomes(() => button("Approve").count(), 0);
  await shot("answered");

  // In the inbox, too; there the call leaves the list.
  await button("New session").click();
  await quiet(0);
  await say("wire in the inbox");
  await button("Approve").waitFor();
  const waiting = page.getByRole("button", { name: /^Waiting/ });
  await waiting.click();
  const inbox = page.getByRole("dialog", { name: "Waiting for you" });
  await inbox.getByRole("button", { name: "Approve", exact: true }).first().click();
  await inbox.getByText(/Answered already: rejected at/).waitFor();
  await becomes(() => inbox.getByRole("button", { name: "Approve", exact: true }).count(), 0);
  await shot("inbox");
  await page.keyboard.press("Escape");
  await context.unrouteAll();

  // No longer open.
  await answers(404, { detail: "gone", error: { type: "CallNotOpenError", message: "gone" } });
  await button("New session").click();
  await quiet(0);
  await say("wire what is gone");
  await button("Reject").click();
  await asks.getByText("This is no longer open.").waitFor();
  await context.unrouteAll();

  // Texts of a call are text; what hides or turns letters can be seen.
  await button("New session").click();
  await quiet(0);
  await say("forged please");
  await button("Approve").waitFor();
  const value = asks.locator("dd").first();
  assert.equal(
    await value.innerText(),
    "Ann\\u202eevil\\u200b\\n\\u3164amount 1<img src=x onerror=alert(1)>\\u{e0041}",
  );
  assert.equal(await value.locator("img").count(), 0);
  assert.equal(await value.locator("bdi").count(), 1);
  assert.equal(await value.locator(".hidden-character").count(), 5);
  await shot("forged");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("forged-dark");
  await button("Edit arguments").click();
  const area = page.getByLabel("Arguments as JSON");
  assert.match(await area.inputValue(), /Ann\\u202eevil\\u200b\\n\\u3164amount/);
  assert.equal(JSON.parse(await area.inputValue()).amount, 7);
});

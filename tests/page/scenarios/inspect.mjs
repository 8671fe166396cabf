// One selection for the events and the waterfall; the request and its difference, state, tokens.

import { assert, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, shot, say, tab, quiet, button }) => {
  await say("What is the weather?");
  await page.getByText("lookup gave", { exact: false }).waitFor();
  await quiet(4);
  await say("And now the weather again?");
  await quiet(8);

  await tab("Timeline").click();
  const rows = page.locator("button.event");
  const bars = page.locator("button.bar-row");
  assert.equal(await rows.count(), 8);
  await rows.nth(6).click(); // the result of the second call
  await page.locator("button.bar-row.chosen").getByText("execute_tool lookup").waitFor();
  await tab("Request").click();
  await page.getByText("Arguments", { exact: true }).waitFor();
  await page.getByText("sunny in Rome").last().waitFor();

  await bars.filter({ hasText: "chat scripted" }).first().click();
  await page.locator("button.event.chosen").getByText("lookup(").waitFor();
  assert.equal(await rows.nth(5).getAttribute("aria-pressed"), "true");

  await bars.filter({ hasText: "chat scripted" }).nth(1).click();
  assert.equal(await rows.nth(7).getAttribute("aria-pressed"), "true");
  await page.getByText("5 of 7 contents as in the request before", { exact: false }).waitFor();
  await page.getByText("New contents").waitFor();
  await shot("request");

  await rows.nth(3).click();
  await page.getByText("System instruction").waitFor();
  await page.locator("pre.code div.added").first().waitFor(); // {last_city?} became Rome
  await page.locator("pre.code div.removed").first().waitFor();
  await shot("request-difference");

  await rows.nth(6).click();
  await page.getByRole("complementary", { name: "Selected event" }).getByRole("tab", { name: "State" }).click();
  const row = page.getByRole("row", { name: /^lookups/ });
  assert.deepEqual(await row.getByRole("cell").allTextContents(), ["1", "2"]);
  await shot("state-difference");

  await rows.nth(7).click();
  await tab("Tokens").click();
  const prompt = page.getByRole("row", { name: /^prompt/ }).getByRole("cell");
  assert.deepEqual(await prompt.allTextContents(), ["1,007", "2,012", "4,016"]);
  const cached = page.getByRole("row", { name: /^cached/ }).getByRole("cell");
  assert.deepEqual(await cached.allTextContents(), ["600", "1,200", "2,400"]);
  await page.getByLabel("cost").fill("1, 0.1, 4");
  await page.getByText("0.00052", { exact: false }).first().waitFor(); // 407 + 60 + 48 millionths
  await page.getByText("chat scripted").last().waitFor();
  await shot("tokens");

  await tab("Event").click();
  await page.getByText('"usageMetadata"', { exact: false }).waitFor();
  await button("Close details").click();
  await page.getByRole("complementary", { name: "Selected event" }).waitFor({ state: "hidden" });
});

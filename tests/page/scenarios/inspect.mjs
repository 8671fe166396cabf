// One selection for the events and the waterfall; the request and its difference, state, tokens.

import { becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, shown, shot, say, tab, quiet, button }) => {
  await say("What is the weather?");
  await shown("lookup gave", { exact: false }).waitFor();
  await quiet(4);
  await say("And now the weather again?");
  await quiet(8);

  await tab("Timeline").click();
  const rows = page.locator("button.event");
  const bars = page.locator("button.bar-row");
  await becomes(() => rows.count(), 8);
  await rows.nth(6).click(); // the result of the second call
  await page.locator("button.bar-row.chosen").getByText("tool lookup").waitFor();
  await tab("Request").click();
  await shown("Arguments", { exact: true }).waitFor();
  await shown("sunny in Rome").last().waitFor();

  await bars.filter({ hasText: "model scripted" }).first().click();
  await page.locator("button.event.chosen").getByText("lookup(").waitFor();
  await becomes(() => rows.nth(5).getAttribute("aria-pressed"), "true");

  await bars.filter({ hasText: "model scripted" }).nth(1).click();
  await becomes(() => rows.nth(7).getAttribute("aria-pressed"), "true");
  await shown("5 of 7 contents as in the request before", { exact: false }).waitFor();
  await page.locator(".message.added").first().waitFor();
  await becomes(() => page.locator(".message").count(), 2);
  await button("Show all").click();
  await becomes(() => page.locator(".message").count(), 7);
  await shot("request");

  await rows.nth(3).click();
  await shown("System instruction").waitFor();
  await page.locator("pre.code div.added").first().waitFor(); // {last_city?} became Rome
  await page.locator("pre.code div.removed").first().waitFor();
  await shot("request-difference");

  await rows.nth(6).click();
  await page.getByRole("complementary", { name: "Selected event" }).getByRole("tab", { name: "State" }).click();
  const changes = page.getByRole("group", { name: "Changes of the state" });
  await becomes(() => changes.getByText("lookups").locator("..").innerText(), /lookups: 1 → 2/);
  await shot("state-difference");

  await page.evaluate(() => localStorage.setItem("ostinato-prices", '{"other": "1, 1, 1"}'));
  await rows.nth(7).click();
  await tab("Tokens").click();
  const prompt = page.getByRole("row", { name: /^prompt/ }).getByRole("cell");
  await becomes(() => prompt.allTextContents(), ["1,007", "2,012", "4,016"]);
  const cached = page.getByRole("row", { name: /^cached/ }).getByRole("cell");
  await becomes(() => cached.allTextContents(), ["600", "1,200", "2,400"]);
  const cost = page.getByRole("row", { name: /^cost/ }).getByRole("cell");
  await becomes(() => cost.allTextContents(), ["–", "–", "–"]); // another model's are known
  const prices = page.getByRole("textbox", { name: /^Prices of scripted: dollars for a million/ });
  await prices.fill("1, 0.1");
  await becomes(() => cost.allTextContents(), ["–", "–", "–"]);
  await prices.fill("1, 0.1, 4");
  await shown("$0.000515", { exact: false }).first().waitFor(); // 407 + 60 + 48 millionths
  await becomes(() => cost.allTextContents(), ["$0.000515", "$0.001028", "$0.002048"]);
  await shown("chat scripted").last().waitFor();
  await shot("tokens");

  await tab("Event").click();
  await shown("usageMetadata", { exact: false }).waitFor();
  await page.getByLabel("as text").check();
  await shown('"usageMetadata"', { exact: false }).waitFor();
  await button("Close details").click();
  await page.getByRole("complementary", { name: "Selected event" }).waitFor({ state: "hidden" });
});

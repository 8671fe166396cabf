// Something else is tried in a fork: another message, instruction, model or tool result; the runs are
// compared step by step.

import { assert, becomes, scenario } from "../harness.mjs";

const tolerated = ["503", "400 (Bad Request)"];

await scenario({ tolerated }, async ({ page, context, shown, shot, say, tab, quiet, button, sessionIds }) => {
  const sent = [];
  page.on("request", (one) => {
    if (one.method() === "POST" && one.url().endsWith("/trials")) sent.push(one.postDataJSON());
  });
  await say("What is the weather?");
  await quiet(4);
  await tab("Timeline").click();
  const rows = page.locator("button.event");
  const retry = page.getByRole("complementary", { name: "Selected event" }).getByRole("tab", { name: "Retry" });

  // The turn becomes a case without a terminal.
  await rows.first().click();
  await retry.click();
  await button("Add as an evaluation case").click();
  await page.getByText(/^It is the case what_is_the_weather/i).waitFor();

  // Another result of the tool; a second click does nothing.
  await rows.nth(2).click();
  await retry.click();
  const result = page.getByRole("textbox", { name: "Result, a JSON object" });
  await result.fill("[1]");
  await button("Run with this result").click();
  await shown("A result is a JSON object.").waitFor();
  await result.fill('{"report": "rain in Rome"}');
  await shot("result");
  await button("Run with this result").evaluate((one) => {
    one.click();
    one.click();
  });
  await shown("Continue with this result.").first().waitFor();
  await quiet(5);
  assert.equal(sent.length, 1);
  await becomes(() => sessionIds(), 2);

  await tab("Compare").click();
  const choice = page.getByLabel("Compare with");
  const ids = await choice.locator("option").evaluateAll((all) => all.map((one) => one.value));
  await choice.selectOption(ids[1]);
  await page.getByText("2 changed, 1 only in this session", { exact: false }).waitFor();
  await page.locator(".pair.changed").getByRole("button", { name: "Show the differences" }).first().click();
  await becomes(() => page.locator(".pair-changes").first().innerText(), /report: "?(rain|sunny)/);
  await shot("compare");
  await page.getByLabel("only differences").check();
  await becomes(() => page.locator(".pair.same").count(), 0);

  // Another instruction and another model, which is refused if nobody knows it.
  await tab("Timeline").click();
  await rows.first().click();
  await retry.click();
  await page.getByText("Another instruction or model").click();
  const instruction = page.getByRole("textbox", { name: "Instruction" });
  await becomes(() => instruction.inputValue(), /^You help people/);
  await instruction.fill("Say it in one word.");
  await page.getByRole("textbox", { name: "Model" }).fill("no-such-model");
  await button("Run in a fork").click();
  await page.getByRole("alert").getByText("no-such-model", { exact: false }).waitFor();
  await page.getByRole("textbox", { name: "Model" }).fill("");
  await button("Run in a fork").click();
  await becomes(() => sessionIds(), 3);
  await quiet(4);
  await rows.nth(1).click();
  await page.getByRole("complementary", { name: "Selected event" }).getByRole("tab", { name: "Request" }).click();
  await shown("Say it in one word.", { exact: false }).first().waitFor();

  // The forks of a session are a tree.
  await tab("Chat").click();
  await page.getByLabel("More for event 2", { exact: true }).click();
  await page.getByRole("button", { name: "Fork from here" }).locator("visible=true").click();
  await becomes(() => sessionIds(), 4);
  await tab("Compare").click();
  await page.getByText("Forks: 2 sessions that begin alike").waitFor();
  await page.locator(".forks").getByRole("button", { name: /^Compare to/ }).click();
  await page.locator(".pair").first().waitFor();
  await shot("forks");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("forks-dark");
  await context.unrouteAll();
});

// Fork from an event, edit and run again, rewind, two sessions side by side.

import { assert, becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, shown, shot, say, tab, quiet, menu, button, sessionIds }) => {
  await say("alpha");
  await quiet(2);
  await say("beta");
  await shown("You said: beta").waitFor();
  await quiet(4);
  const first = new URL(page.url()).hash;

  await menu("event 2", "Fork from here");
  await quiet(2);
  assert.notEqual(new URL(page.url()).hash, first);
  await becomes(() => sessionIds(), 2);
  await say("gamma");
  await shown("You said: gamma").waitFor();
  await quiet(4);

  await menu("event 3", "Edit and run again");
  const area = page.getByRole("textbox", { name: "Message", exact: true });
  await becomes(() => area.inputValue(), "gamma");
  await area.fill("delta");
  await shot("edit");
  await button("Run in a fork").click();
  await shown("You said: delta").waitFor();
  await quiet(4);
  await becomes(() => shown("gamma").count(), 0);
  await becomes(() => sessionIds(), 3);
  await becomes(() => page.locator(".sessions").getByText("running").count(), 0); // though the run was over at once

  await menu("event 1", "Edit and run again");
  await area.fill("omega");
  await button("Run in a fork").click();
  await shown("You said: omega").waitFor();
  await quiet(2);
  await becomes(() => sessionIds(), 4);

  // All begin with the same message, but for the last one: the ends of their ids tell them apart.
  const names = await page.locator(".sessions .entry").allInnerTexts();
  assert.equal(names.filter((name) => name.startsWith("alpha")).length, 3);
  const tails = names.map((name) => /…\w{4}/.exec(name)?.[0]);
  assert.deepEqual([new Set(tails).size, tails.filter(Boolean).length], [4, 3]);
  const menus = await page.locator(".sessions summary").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  assert.equal(new Set(menus).size, 4);
  await shot("titles");

  await page.locator(".sessions .entry").last().click(); // the oldest
  await shown("You said: beta").waitFor();
  await tab("Compare").click();
  const choice = page.getByLabel("Compare with");
  const options = await choice.locator("option").allInnerTexts();
  assert.equal(new Set(options.map((one) => one.replace(/ · (now|\d+ min).*/, ""))).size, options.length);
  const ids = await choice.locator("option").evaluateAll((all) => all.map((one) => one.value));
  await choice.selectOption(ids[2]); // the one with delta
  await shown("You said: delta").waitFor();
  await becomes(() => page.locator(".pair").count(), 4);
  await becomes(() => page.locator(".pair.differs").count(), 2);
  await shot("compare");

  await tab("Chat").click();
  await menu("event 3", "Rewind to before this");
  await quiet(5);
  await shown("rewinds the session").waitFor();
  await say("epsilon");
  await shown("You said: epsilon").waitFor();
  await shot("rewound");
});

// What a screen reader is told: everything to press, fill or go to has a role and a name, in every
// view, and the page has its landmarks.

import { assert, scenario } from "../harness.mjs";

const NAMED = /^\s*- (?:button|checkbox|combobox|dialog|feed|img|link|listbox|menuitem|option|radio|searchbox|slider|switch|tab|table|tablist|tabpanel|textbox|complementary|navigation|region)\b(?!\s*")/;

await scenario({ tolerated: ["503"] }, async ({ page, shown, say, tab, quiet, button }) => {
  const told = [];
  /** Note what is nameless in what the page shows now. */
  const look = async (view) => {
    const tree = await page.locator("body").ariaSnapshot();
    told.push(...tree.split("\n").filter((line) => NAMED.test(line)).map((line) => `${view}: ${line.trim()}`));
    return tree;
  };
  await shown("Write a message to begin", { exact: false }).waitFor();
  const empty = await look("empty");
  for (const landmark of ["main", 'complementary "Sessions"', 'form "Message"', 'heading "desk" \\[level=1\\]']) {
    assert.match(empty, new RegExp(`^\\s*- ${landmark}`, "m"));
  }

  await say("What is the weather?");
  await shown("lookup gave", { exact: false }).waitFor();
  await quiet(4);
  await look("chat");
  await tab("Timeline").click();
  await page.locator("button.event").nth(3).click();
  await page.getByRole("complementary", { name: "Selected event" }).waitFor();
  for (const name of ["Event", "Request", "State", "Tokens", "Retry"]) {
    await page.getByRole("complementary", { name: "Selected event" }).getByRole("tab", { name }).click();
    await look(`inspector, ${name}`);
  }
  await button("Close details").click();
  for (const one of await page.getByRole("tab").all()) {
    const name = await one.textContent();
    await one.click();
    await look(`tab ${name}`);
  }
  await tab("Chat").click();
  await say("wire it");
  await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
  await look("approval");
  assert.deepEqual(told, []);
});

// No mouse: everything is reached, chosen and left by keys, and what has focus is to be seen.

import { assert, becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, shown, shot, quiet, tab }) => {
  const press = (key) => page.keyboard.press(key);
  const focused = () =>
    page.evaluate(() => {
      const one = document.activeElement;
      return one.getAttribute("aria-label") ?? one.textContent;
    });
  /** Go on with Tab until something of this name has focus. */
  const reach = async (name) => {
    for (let at = 0; at < 80; at += 1) {
      const found = await focused();
      if (typeof name === "string" ? found === name : name.test(found)) return;
      await press("Tab");
    }
    assert.fail(`Tab never reached ${name}`);
  };
  await shown("Write a message to begin", { exact: false }).waitFor();
  await press("Tab");
  await becomes(() => focused(), "Skip to the session");
  await reach("New session");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid");
  await press("Enter");
  await quiet(0);
  await reach("Message to desk");
  await page.keyboard.type("first");
  await press("Shift+Enter");
  await page.keyboard.type("wire it");
  await press("Enter");
  await page.getByRole("button", { name: "Approve", exact: true }).waitFor();

  await page.getByLabel("Agent").focus();
  await reach("Edit arguments");
  await press("Enter");
  await reach("Approve with these");
  await press("Shift+Tab"); // the last field of the form
  await press("Control+a");
  await page.keyboard.type("9");
  await press("Tab");
  await becomes(() => focused(), "Approve with these");
  await press("Enter");
  await shown("'sent': 9", { exact: false }).waitFor();

  // The link goes to the session and leaves the address, which names it, as it is.
  const address = page.url();
  await page.evaluate(() => document.querySelector(".skip").focus());
  await press("Enter");
  await becomes(() => page.evaluate(() => document.activeElement.id), "middle");
  assert.equal(page.url(), address);

  // Tabs as everywhere: one stop, arrows between them.
  await page.getByLabel("Agent").focus();
  await reach("Chat");
  await press("ArrowRight");
  await becomes(() => focused(), "Timeline");
  await becomes(() => tab("Timeline").getAttribute("aria-selected"), "true");
  await press("End");
  await becomes(() => focused(), "Compare");
  await press("Home");
  await press("ArrowRight");
  await press("Tab");
  await becomes(() => focused(), "Events");
  // Events by arrows: one selection, shown in the inspector.
  await press("ArrowDown");
  await page.getByRole("complementary", { name: "Selected event" }).waitFor();
  await becomes(() => page.locator("button.event.chosen .number").textContent(), "1");
  await press("ArrowDown");
  await becomes(() => page.locator("button.event.chosen .number").textContent(), "2");
  await shot("event");
  await press("Escape");
  await page.getByRole("complementary", { name: "Selected event" }).waitFor({ state: "hidden" });

  // A menu: opened, left by Escape with focus where it was.
  await page.getByLabel("Agent").focus();
  await reach(/^More for /);
  await press("Enter");
  await page.getByRole("button", { name: "Rename" }).locator("visible=true").waitFor();
  await press("Escape");
  await page.getByRole("button", { name: "Rename" }).waitFor({ state: "hidden" });
  await becomes(() => focused(), /^More for /);

  // The inbox keeps focus within it, and gives it back.
  await page.getByLabel("Agent").focus();
  await reach(/^Waiting/);
  await press("Enter");
  await page.getByRole("dialog", { name: "Waiting for you" }).waitFor();
  for (let at = 0; at < 5; at += 1) {
    await press("Tab");
    assert.equal(
      await page.evaluate(() => document.activeElement.closest("[role=dialog], dialog") !== null || document.activeElement === document.body),
      true,
    );
  }
  await press("Escape");
  await page.getByRole("dialog", { name: "Waiting for you" }).waitFor({ state: "hidden" });
  await becomes(() => focused(), /^Waiting/);
});

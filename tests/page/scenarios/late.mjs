// A session that the server makes late does not take the place of one that was opened meanwhile.

import { assert, becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, context, shown, say, quiet, button, box }) => {
  const entries = page.locator(".sessions .entry");
  const heading = page.getByRole("heading", { name: "alpha" });
  await say("alpha");
  await shown("You said: alpha").waitFor();
  await quiet(2);
  let letGo;
  const held = new Promise((resolve) => (letGo = resolve));
  await context.route(/\/sessions$/, async (route) => {
    if (route.request().method() === "POST") await held;
    await route.continue();
  });
  await button("New session").click();
  await entries.filter({ hasText: "alpha" }).click();
  await heading.waitFor();
  await box.fill("for alpha");
  letGo();
  await becomes(() => entries.count(), 2);
  await heading.waitFor();
  assert.equal(await box.inputValue(), "for alpha");
});

// A server that asks for a token: the page asks the person, and goes on with it.

import { assert, scenario } from "../harness.mjs";

const REFUSED = ["401", "503"];

await scenario({ tolerated: REFUSED, server: ["--token", "s3cret"] }, async ({ page, shot, say, button }) => {
  const asks = page.getByRole("dialog", { name: "Token" });
  await asks.waitFor();
  await shot("asks");
  await page.getByLabel("Token", { exact: true }).locator("visible=true").last().fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("That token was refused.").waitFor();
  await page.locator('input[name="token"]').fill("s3cret");
  await button("Go on").click();
  await asks.waitFor({ state: "hidden" });
  await say("hello");
  await page.getByText("You said: hello").waitFor();
  await page.reload();
  await page.getByText("You said: hello").waitFor();
  assert.equal(await asks.count(), 0);
});

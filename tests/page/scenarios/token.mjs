// A server that asks for a token: the page asks the person, and goes on with it.

import { becomes, scenario } from "../harness.mjs";

const REFUSED = ["401", "503"];

await scenario({ tolerated: REFUSED, server: ["--token", "s3cret"] }, async ({ page, shown, shot, say, button }) => {
  const asks = page.getByRole("dialog", { name: "Token" });
  await asks.waitFor();
  await shot("asks");
  await page.getByLabel("Token", { exact: true }).locator("visible=true").last().fill("wrong");
  await page.keyboard.press("Enter");
  await shown("That token was refused.").waitFor();
  await page.locator('input[name="token"]').fill("s3cret");
  await button("Go on").click();
  await asks.waitFor({ state: "hidden" });
  await say("hello");
  await shown("You said: hello").waitFor();
  await page.reload();
  await shown("You said: hello").waitFor();
  await becomes(() => asks.count(), 0);
});

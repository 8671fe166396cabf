// Stop a run; the agents' graph lights the one that acts.

import { becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, shown, server, shot, say, tab, button }) => {
  await say("please ask the helper");
  await shown("one", { exact: true }).waitFor();
  await tab("Agents").click();
  await page.getByRole("img", { name: "Agents: desk, helper; helper acts" }).waitFor();
  await page.locator("g.node.running").getByText("helper", { exact: true }).waitFor();
  await shot("lit");
  await tab("Timeline").click();
  const bars = page.getByRole("list", { name: "Waterfall of the session" });
  for (const name of ["agent desk", "tool transfer_to_agent", "model scripted-helper"]) {
    await bars.getByText(name, { exact: true }).waitFor();
  }
  await page.locator("rect.model.open").waitFor(); // the call that runs
  await shot("waterfall-runs");
  await tab("Chat").click();
  await button("Stop").click();
  await button("Send").waitFor();
  await page.locator("header.bar").getByText(/\d+ events/).waitFor();
  await shot("stopped");
  await tab("Agents").click();
  await page.getByRole("img", { name: "Agents: desk, helper", exact: true }).waitFor();
  await becomes(() => page.locator("g.node.running").count(), 0);
  await tab("Chat").click();
  server.open();
  await say("after it");
  await shown("one two").or(shown("You said: after it")).first().waitFor();
});

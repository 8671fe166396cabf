// The graph: agents and workflows with their state; a click leads to the events. It is drawn with code
// that is loaded when it is needed.

import { assert, becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, server, shot, say, tab, quiet, button, shown }) => {
  const loaded = [];
  page.on("request", (one) => loaded.push(one.url()));
  const state = (name) =>
    page.getByRole("group", { name: "Nodes" }).getByRole("button", { name: new RegExp(`^${name} `) });
  await page.getByLabel("Agent", { exact: true }).selectOption("flow");
  await say("tea");
  await quiet(4);
  assert.deepEqual(loaded.filter((url) => url.includes("dagre")), []);
  await tab("Agents").click();
  await state("plan").waitFor();
  assert.equal(loaded.filter((url) => url.includes("dagre")).length, 1);
  for (const name of ["plan", "draft", "check", "review"]) {
    await becomes(() => state(name).textContent(), new RegExp(`${name} done`));
  }
  await page.locator("g.node").getByText("check", { exact: true }).click();
  const details = page.getByRole("region", { name: "Node check" });
  await details.getByText("Check what was written.").waitFor();
  await details.getByRole("button", { name: "checked drafted" }).click();
  await page.getByRole("complementary", { name: "Selected event" }).waitFor();
  await shot("flow");
  await button("Close details").click();

  // A workflow that waits for a person shows where.
  await page.getByLabel("Agent", { exact: true }).selectOption("survey");
  await say("number please");
  await becomes(() => state("ask").textContent(), /waits for you/);
  await shot("waits");

  // Agents as tools, and the one that acts.
  await page.getByLabel("Agent", { exact: true }).selectOption("office");
  await say("research");
  await tab("Agents").click();
  await becomes(() => state("root").textContent(), /done|runs/);
  await state("research").click();
  await page.getByRole("region", { name: "Node research" }).getByText("The research.").waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("office-dark");
  server.open();
  await page.setViewportSize({ width: 390, height: 800 });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  await shot("narrow");
});

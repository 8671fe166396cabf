// A folder without agents: what needs one is not offered, and the page names the folder.

import { rmSync } from "node:fs";
import { assert, scenario } from "../harness.mjs";

const before = (server) => {
  for (const name of ["desk", "flow", "gallery", "office", "shop", "speaker", "survey", "till", "vault", "wreck", "broken"]) {
    rmSync(`${server.agents}/${name}`, { recursive: true });
  }
};

await scenario({ before, home: "/page/#screen=evaluation" }, async ({ page, server, shot, button }) => {
  await page.getByText(server.agents, { exact: true }).waitFor();
  await page.getByText("ostinato create my_agent").waitFor();
  for (const name of ["New session", "Import"]) assert.equal(await button(name).isDisabled(), true, name);
  for (const name of ["Evaluation", "Effects"]) assert.equal(await button(name).isVisible(), false, name);
  assert.equal(await page.getByLabel("Agent", { exact: true }).isVisible(), false);
  await shot("wide");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.keyboard.press("[");
  for (const name of ["New session", "Evaluation", "Effects"]) assert.equal(await button(name).isDisabled(), true, name);
  await shot("narrow");
});

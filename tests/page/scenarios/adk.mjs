// google-adk's own page, unmodified, at our server. Its fonts come from other machines, which are
// not asked here; what it asks of ours has to be answered.

import { assert, scenario } from "../harness.mjs";

const UI = process.env.OSTINATO_TEST_UI;

await scenario({ server: ["--ui-dir", UI], home: "/dev-ui/", foreign: true }, async ({ page, server, shot }) => {
  await page.waitForTimeout(5000);
  await shot("1");
  console.log(await page.evaluate(() => document.body.innerText));
  console.log(await page.content().then((x) => x.slice(0, 12000)));
});

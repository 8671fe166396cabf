// Every view in dark and in light, and in a narrow window, for people to look at.

import { assert, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"], scheme: "dark" }, async ({ page, shown, shot, say, tab, quiet, button }) => {
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const brightness = async () => Number(/\d+/.exec(await back())[0]);
  assert.ok((await brightness()) < 60); // as the system asks
  await say("What is the weather?");
  await shown("lookup gave", { exact: false }).waitFor();
  await quiet(4);
  await say("wire it, please");
  await button("Approve").waitFor();
  for (const [theme, wanted] of [["dark", (x) => x < 60], ["light", (x) => x > 200]]) {
    while ((await page.getByRole("button", { name: /^Colours/ }).getAttribute("aria-label")) !== `Colours: ${theme}`) {
      await page.getByRole("button", { name: /^Colours/ }).click();
    }
    while (!wanted(await brightness())) await page.evaluate(() => new Promise(requestAnimationFrame));
    await tab("Chat").click();
    await shot(`${theme}-chat`);
    await tab("Timeline").click();
    await page.locator("button.event").nth(3).click();
    for (const name of ["Event", "Request", "Tokens"]) {
      await tab(name).click();
      if (name === "Request") await shown("System instruction").waitFor();
      await shot(`${theme}-timeline-${name.toLowerCase()}`);
    }
    await button("Close details").click();
    await tab("Agents").click();
    await shot(`${theme}-agents`);
    await button("Waiting 1").click();
    await shot(`${theme}-inbox`);
    await page.keyboard.press("Escape");
  }
  await page.setViewportSize({ width: 640, height: 800 });
  await tab("Chat").click();
  const sideways = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok((await sideways()) <= 0, "scrolls sideways");
  await shot("narrow-chat");
  await tab("Timeline").click();
  await page.locator("button.event").nth(3).click();
  await shot("narrow-timeline");
  assert.ok((await sideways()) <= 0, "scrolls sideways");
});

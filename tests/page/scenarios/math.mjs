// Formulas of an answer are drawn, its reader is loaded with the first, and money stays money.

import { assert, becomes, scenario } from "../harness.mjs";

const home = "/page/#app=gallery&user=user";

await scenario({ tolerated: ["503"], home }, async ({ page, shot, say, quiet, event }) => {
  const loaded = [];
  page.on("request", (one) => void loaded.push(new URL(one.url()).pathname));
  const isLoaded = () => loaded.some((path) => /assets\/math-/.test(path));
  await say("Echo It costs $5 or $6, and `$x$` is code.");
  await quiet(2);
  assert.equal(isLoaded(), false);
  assert.equal(await event(2).locator("math, code.math").count(), 0);

  await say("Show me math");
  await quiet(4);
  await becomes(() => event(4).locator("math").count().then((found) => found >= 5), true);
  assert.ok(isLoaded());
  assert.equal(await event(4).locator("math mfrac").count() > 0, true);
  assert.equal(await event(4).locator("math mtable mtr").count() >= 2, true);
  // Drawn as formulas, not as letters in a row: a fraction is higher than a line.
  const fraction = await event(4).locator("math mfrac").first().boundingBox();
  assert.ok(fraction.height > 20, `a fraction of ${fraction.height} pixels`);
  // What is refused, and what is no TeX, stays as it was written.
  await event(4).locator("code.math").getByText("\\href{javascript:alert(1)}{x}", { exact: false }).waitFor();
  await event(4).locator("code.math").getByText("\\frac{1", { exact: false }).waitFor();
  await shot("math");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("math-dark");
  await page.setViewportSize({ width: 390, height: 844 });
  const sideways = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok((await sideways()) <= 0, "scrolls sideways");
  await shot("math-narrow");
});

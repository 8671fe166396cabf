// Addresses that lead nowhere say so; the tab's title names what is open; a drawing and the tabs fit.

import { assert, becomes, scenario } from "../harness.mjs";

const inside = (one, outer) => one.left >= outer.left - 1 && one.right <= outer.right + 1;
const edges = (locator) => locator.evaluate((one) => {
  const { left, right, height, width } = one.getBoundingClientRect();
  return { left, right, height, width };
});

await scenario({ tolerated: ["503", "404"] }, async ({ page, server, context, shot, say, quiet, tab, button }) => {
  const problem = page.locator(".problem");
  await say(`${"long ".repeat(60)}title`);
  await quiet(2);
  await becomes(() => page.title(), /^long .* – desk – Ostinato$/);
  const address = page.url();
  await page.goto(`${address}&event=99`);
  await problem.getByText("There is no event 99 in this session.").waitFor();
  const gone = /^There is no agent gone here; \w+ is shown instead\.$/;
  await page.goto(`${server.url}/page/#app=gone&session=x`);
  await problem.getByText(gone).waitFor();
  const other = await context.newPage();
  await other.goto(`${server.url}/page/#app=gone&session=x`);
  await other.locator(".problem").getByText(gone).waitFor();
  await other.close();

  // A model that is not live.
  await page.goto(address);
  await tab("Live").click();
  await page.getByText("is not live.", { exact: false }).waitFor();
  assert.equal(await button("Start talking").isDisabled(), true);

  // Forks have their session's title; the choice tells them apart, and is as wide as its place.
  await tab("Chat").click();
  await server.ask("POST", `/apps/desk/users/user/sessions/${new URLSearchParams(new URL(address).hash.slice(1)).get("session")}/fork`, {});
  await page.reload();
  await tab("Compare").click();
  const choice = page.getByLabel("Compare with");
  await becomes(() => choice.locator("option").last().textContent(), /^long .{50,60}… · …\w{4} · now · same until event 2$/);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.reload();
  await choice.waitFor();
  assert.ok(inside(await edges(choice), { left: 0, right: 390 }));
  assert.ok(inside(await edges(tab("Compare")), { left: 0, right: 390 }));
  await shot("compare-390");

  // The drawing fits, and grows and shrinks.
  await tab("Agents").click();
  const drawing = page.locator(".graph svg");
  await drawing.waitFor();
  const place = page.getByRole("group", { name: "Graph of the app" });
  const fitted = await edges(drawing);
  assert.ok(inside(fitted, await edges(place)));
  await button("Larger").click();
  assert.ok((await edges(drawing)).width > fitted.width);
  await button("Fit").click();
  assert.equal(Math.round((await edges(drawing)).width), Math.round(fitted.width));
  await shot("agents-390");
});

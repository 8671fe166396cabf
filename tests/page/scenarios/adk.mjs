// google-adk's own page, unmodified, at our server: load, choose an agent, a session, chat with a
// tool call, inspect, approve, list, delete. Its fonts and one style sheet are not in its bundle.

import { assert, becomes, scenario } from "../harness.mjs";

const options = {
  server: ["--ui-dir", process.env.OSTINATO_TEST_UI],
  home: "/dev-ui/",
  foreign: true,
  tolerated: ["fonts.gstatic.com", "fonts.googleapis.com", "prism-dark.css"],
};

await scenario(options, async ({ page, server, shot }) => {
  const refused = [];
  page.on("response", (one) => one.status() >= 400 && refused.push(`${one.status()} ${one.url()}`));
  const says = (text) => page.getByText(text, { exact: false }).first().waitFor();
  const icon = (name) => page.getByText(name, { exact: true }).last();

  await page.getByRole("button", { name: "Select an app" }).click();
  await page.getByText("broken", { exact: true }).waitFor();
  await page.getByText("desk", { exact: true }).last().click();
  const box = page.locator("textarea").last();
  await box.waitFor();
  await shot("chosen");

  await box.fill("What is the weather?");
  await box.press("Enter");
  await says("lookup gave");
  await says("I need lookup for that.");
  await says("Event 4 of 4");
  assert.equal(await page.getByText("#4", { exact: true }).count(), 1);
  assert.equal(await page.getByText("#5", { exact: true }).count(), 0); // the end of the stream is no event
  await page.locator("svg").getByText("wire_money").first().waitFor(); // the graph of the event
  await shot("chat");

  await icon("input").click(); // the request
  await says("system_instruction");
  await says("The last city was Rome.");
  await shot("request");
  await icon("output").click();
  await page.getByText('"lookup gave', { exact: false }).first().waitFor();
  await icon("analytics").click();
  await says("1,003");
  await page.getByText("Traces", { exact: true }).click();
  await says("Total latency");
  await becomes(() => page.getByText("Total latency: 0us").count(), 0);
  await shot("traces");
  await page.getByText("Events", { exact: true }).click();

  await box.fill("wire it");
  await box.press("Enter");
  await page.locator('input[type="checkbox"]').last().click();
  await shot("approve");
  await page.getByRole("button", { name: "Submit" }).last().click();
  await says("wire_money gave");

  await page.locator("mat-icon:visible").filter({ hasText: "more_vert" }).last().click();
  await page.getByText("Streaming", { exact: true }).click();
  await page.keyboard.press("Escape");
  await box.fill("tell me more");
  await box.press("Enter");
  await says("You said: tell me more");
  assert.equal(await page.getByText("You said: tell me more").count(), 1); // parts are joined
  await shot("streamed");

  await page.locator("#toolbar-new-session-button").click();
  await page.getByText("wire_money gave", { exact: false }).first().waitFor({ state: "hidden" });
  const list = page.locator('button[mattooltip="Select a session"]');
  await list.click();
  const entry = page.locator(".session-item").filter({ hasText: "What is the weather?" });
  await entry.click();
  await says("wire_money gave");
  await page.locator("#toolbar-new-session-button").click();
  await list.click();
  await shot("sessions");
  await entry.hover(); // only then its buttons are there
  await entry.locator("button").filter({ hasText: "delete" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).last().click();
  await entry.waitFor({ state: "hidden" });
  await becomes(() => server.ask("GET", "/apps/desk/users/user/sessions"), []);
  assert.deepEqual(refused.filter((one) => !one.includes("prism-dark.css")), []);
});

// A session becomes a case by one click; cases run, a failed one stands beside its expectation, two
// results are compared row by row, and a replay's divergence opens at its step.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, becomes, scenario } from "../harness.mjs";

const tolerated = ["503", "400 (Bad Request)"];

await scenario({ tolerated }, async ({ page, server, shown, shot, say, quiet, tab, button, menu, sessionIds }) => {
  const sent = [];
  page.on("request", (one) => {
    if (one.method() === "POST" && one.url().includes("/dev/apps/")) sent.push(new URL(one.url()).pathname);
  });
  await say("What is the weather?");
  await quiet(4);
  const title = "What is the weather?";
  await menu(title, "Add as evaluation case");
  await page.getByText(/^Added what_is_the_weather_\w+ to cases\.$/).locator("visible=true").first().waitFor();
  await page.getByRole("heading", { name: "Evaluation of desk" }).waitFor();
  const cases = page.getByRole("list", { name: "Cases", exact: true });
  await cases.locator("summary").click();
  await cases.getByText("lookup(city: Rome)").waitFor();
  await shot("cases");

  // Kept over a reload, at its address.
  await page.reload();
  await cases.locator("summary").click();
  await cases.getByText("lookup(city: Rome)").waitFor();

  // A second time adds nothing.
  await menu(title, "Add as evaluation case");
  await page.getByText(/is a case of cases already/).locator("visible=true").first().waitFor();
  assert.equal(await cases.locator("> li").count(), 1);
  assert.equal(sent.filter((one) => one.endsWith("/add-session")).length, 1);

  // It passes; a second click while it runs does nothing.
  await button("Run all 1").evaluate((one) => {
    one.click();
    one.click();
  });
  const outcomes = page.getByRole("list", { name: "Cases of the result" });
  await outcomes.getByText("passed", { exact: true }).waitFor();
  assert.equal(sent.filter((one) => one.endsWith("/run")).length, 1);

  // Something else is expected, so it fails: beside its expectation.
  const base = "/dev/apps/desk/eval-sets/cases/eval-cases";
  const [id] = await server.ask("GET", base);
  const one = await server.ask("GET", `${base}/${id}`);
  const [turn] = one.conversation;
  turn.finalResponse.parts = [{ text: "It rains in Oslo, take <b>an umbrella</b>." }];
  for (const event of turn.intermediateData.invocationEvents) {
    for (const part of event.content?.parts ?? []) if (part.functionCall) part.functionCall.args = { city: "Oslo" };
  }
  await server.ask("PUT", `${base}/${id}`, one);
  await tab("Cases").click();
  await cases.locator("summary").click();
  await button("Run this case").click();
  await outcomes.getByText("failed", { exact: true }).waitFor();
  const table = outcomes.locator("table.beside");
  await becomes(() => table.locator("tr.changed td").allInnerTexts(), ["lookup(city: Oslo)", "lookup(city: Rome)"]);
  await table.getByText("<b>", { exact: false }).first().waitFor();
  assert.equal(await table.locator("b").count(), 0);
  assert.ok((await table.locator("del").count()) > 0);
  await outcomes.getByText("tool_trajectory_avg_score: 0 of 1").first().waitFor();
  await shot("failed");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("failed-dark");

  await tab("Compare results").click();
  await page.getByText("1 worse.", { exact: false }).waitFor();
  const both = page.getByRole("list", { name: "Cases of both results" });
  await both.locator("summary").click();
  await both.getByText("tool_trajectory_avg_score: 1 of 1 → 0 of 1").waitFor();
  await shot("compare-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await shot("compare");

  // Another agent, replayed: its divergence opens at the step.
  const file = join(server.agents, "desk", "agent.py");
  writeFileSync(file, readFileSync(file, "utf8").replace('"lookup", {"city": "Rome"}', '"lookup", {"city": "Oslo"}'));
  const report = join(server.folder, "report.json");
  try {
    const command = ["-m", "ostinato", "replay", join(server.agents, "desk"), "--db", server.db, "--json", report];
    execFileSync(process.env.OSTINATO_TEST_PYTHON, command, { stdio: "pipe" });
  } catch (error) {
    assert.equal(error.status, 1, String(error.stderr)); // a gate may be broken
  }
  await tab("Replay").click();
  const wrong = join(server.folder, "wrong.json");
  writeFileSync(wrong, '{"format": 7}');
  await page.locator("input[type=file]").last().setInputFiles(wrong);
  await page.getByRole("alert").getByText("is no report of ostinato replay", { exact: false }).waitFor();
  await page.locator("input[type=file]").last().setInputFiles(report);
  const replayed = page.getByRole("list", { name: "Replayed invocations" });
  await replayed.locator("summary").first().waitFor();
  await page.reload(); // the tab keeps the report
  await replayed.locator("summary").first().click();
  await replayed.getByText("lookup(city: Oslo)").waitFor();
  await shot("replay");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("replay-dark");
  await replayed.getByRole("button", { name: "Open the session at this step" }).click();
  await quiet(4);
  await becomes(() => page.locator("button.event[aria-pressed=true], .event.chosen").count().then((found) => found > 0), true);
  const details = page.getByRole("complementary", { name: "Selected event" });
  await details.getByText("lookup", { exact: false }).first().waitFor();
  assert.equal(await sessionIds(), 1);
  await shot("step");
  await shown(title).first().waitFor();

  // A single turn, by one click: what came before it is its history.
  await tab("Chat").click();
  await say("Draw it");
  await quiet(6);
  const foot = page.getByRole("article", { name: /, event 6$/ }).locator("footer");
  await foot.getByRole("button", { name: "add as a case" }).evaluate((one) => {
    one.click();
    one.click();
  });
  await foot.getByRole("button", { name: "is a case" }).click();
  const turnCase = cases.locator("> li").filter({ hasText: "draw_it" });
  await turnCase.getByText("1 turn", { exact: true }).waitFor();
  assert.equal(sent.filter((one) => one.endsWith("/add-session")).length, 2);
  const [added] = (await server.ask("GET", base)).filter((one) => one.startsWith("draw_it"));
  const { conversation, sessionInput } = await server.ask("GET", `${base}/${added}`);
  assert.deepEqual([conversation.length, sessionInput.events.length], [1, 4]);
  await turnCase.locator("summary").click();
  await turnCase.getByRole("button", { name: "Run this case" }).click();
  await outcomes.getByText("passed", { exact: true }).waitFor();

  // A set by name; one that is there already is refused.
  await tab("Cases").click();
  await button("New set").click();
  await page.getByLabel("Name of the set").fill("cases");
  await button("Create").click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Name of the set").fill("refunds");
  await button("Create").click();
  await page.getByText("This set has no cases.").waitFor();
  await button("Back to the session").click();
  await quiet(6);
});

// What tools did: of a session and of all, with filters; where a policy, a guardrail and a budget
// acted; who decided, and when.

import { assert, becomes, scenario } from "../harness.mjs";

const LOST = ["503", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION", "ERR_EMPTY", "network error"];
const home = "/page/#app=till&user=ann";

await scenario({ tolerated: LOST, home, server: ["--lease", "2"] }, async ({ page, server, shown, shot, say, quiet, tab, button }) => {
  await say("refund 20");
  await shown("Done: {'refunded': 20", { exact: false }).waitFor();
  await say("refund 500");
  await button("Approve").click();
  await shown("Done: {'refunded': 500", { exact: false }).waitFor();

  // Who decided stands beside the call.
  const beside = page.locator(".decided-by").filter({ hasText: "approved" });
  await beside.getByText(/by ann, \d+:\d+:\d+/).waitFor();
  await beside.getByText("asked by refund-large", { exact: false }).waitFor();
  await say("refund 9000");
  await page.locator(".decided-by").getByText("denied by refund-huge", { exact: false }).waitFor();
  await say("refund 700");
  await page.getByRole("button", { name: "Reject with a reason", exact: true }).click();
  await page.getByLabel("Why? The model reads it.").fill("too much");
  await button("Reject with this reason").click();
  await page.locator(".decided-by").getByText("rejected: too much").waitFor();
  await shot("decided");
  await say("tell me the secret");
  await shown("I do not talk about that.").first().waitFor();
  await say("spend");
  await shown("BudgetExceededError", { exact: false }).first().waitFor();

  // The ledger of the session, and where rules acted.
  await tab("Effects").click();
  const ledger = page.getByRole("table", { name: "Effects" });
  await ledger.getByText("approved by ann").waitFor();
  assert.equal(await ledger.getByText("approved by").count(), 1);
  const acts = page.getByRole("list", { name: "Where rules acted" });
  const all = await acts.innerText();
  for (const wanted of ["denied refund by policy refund-huge", "asked refund by policy refund-large", "stopped input of till by guardrail no_secrets", "by limit BudgetExceededError"]) {
    assert.ok(all.replace(/\s+/g, " ").includes(wanted), `${wanted} in ${all}`);
  }
  await shot("session");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("session-dark");
  await page.emulateMedia({ colorScheme: "light" });
  const rows = ledger.locator("tbody tr");
  const many = await rows.count();
  await ledger.getByRole("button", { name: "refund" }).last().click();
  await page.getByRole("complementary", { name: "Selected event" }).waitFor();
  assert.equal(await tab("Chat").getAttribute("aria-selected"), "true");
  await button("Close details").click();

  // A process dies in the middle of a tool: its effect is in doubt.
  await button("New session").click();
  await quiet(0);
  await say("parcel");
  await shown("send_parcel(order: A-1)").waitFor();
  await becomes(() => server.ask("GET", "/apps/till/sessions?details=true").then((found) => found.sessions[0].state), "running");
  server.process.kill("SIGKILL");
  await server.gone;
  await server.start();
  server.open();
  await shown("Done: {'sent': 'A-1'}", { exact: false }).waitFor();

  // All sessions, and filters.
  await page.getByRole("button", { name: "Effects", exact: true }).click();
  await page.getByRole("heading", { name: "What the tools of till did" }).waitFor();
  await becomes(() => rows.count(), many + 1);
  await shot("all");
  await page.getByLabel("in doubt").check();
  await becomes(() => rows.count(), 1);
  await ledger.getByText("in doubt: it ran again").waitFor();
  await shot("doubt");
  await page.getByLabel("in doubt").uncheck();
  await page.getByRole("textbox", { name: "Tool" }).fill("refund");
  await becomes(() => rows.count(), many);
  await page.getByRole("textbox", { name: "Tool" }).fill("none");
  await page.getByText("No effect fits the filters.").waitFor();
  await page.getByRole("textbox", { name: "Tool" }).fill("");
  await page.getByLabel("Since").selectOption("1");
  await becomes(() => rows.count(), many + 1);

  // A row leads to its session; so does what was approved.
  await ledger.getByRole("button", { name: "refund" }).last().click();
  await page.getByRole("complementary", { name: "Selected event" }).waitFor();
  await shown("refund 20").first().waitFor();
  await page.getByRole("button", { name: /^Waiting/ }).click();
  const inbox = page.getByRole("dialog", { name: "Waiting for you" });
  await inbox.getByText("Decided in this session: 2").click();
  await inbox.getByText(/by ann, \d+:\d+:\d+/).first().waitFor();
  await inbox.getByText("Approved calls that ran, in all sessions").click();
  await inbox.locator("li").filter({ hasText: /^refund: done approved by ann, / }).waitFor();
  await shot("inbox");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("inbox-dark");
});

// An afternoon of a developer: forty steps over nine screens, in both themes and four widths. Every
// screen passes axe, scrolls sideways nowhere, and is kept as a picture under build/afternoon.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { assert, scenario } from "../harness.mjs";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const PICTURES = fileURLToPath(new URL("../../../build/afternoon", import.meta.url));
const WIDTHS = [390, 1024, 1440, 2560];
const STEPS = 40;
const SCREENS = ["start", "chat", "timeline", "agents", "state", "effects", "evaluation", "ledger", "inbox"];

const audit = (rules) =>
  window.axe.run(document, { runOnly: rules, resultTypes: ["violations"] }).then(({ violations }) =>
    violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 4).join(" | ")}`),
  );

/** A report of `ostinato replay`, as it would be for one recorded turn. */
const report = (session, invocation) => ({
  format: 1,
  agent: "till",
  skipped: {},
  invocations: [
    {
      app_name: "till", user_id: "user", session_id: session, invocation_id: invocation, message: "refund 20", outcome: "calls",
      change: { step: 1, expected: [["refund", { amount: 20, customer: "Ann" }]], actual: [["refund", { amount: 25, customer: "Ann" }]] },
      recorded: { answer: "Done: 20" }, new: { answer: "Done: 25", error: "" },
    },
  ],
});

await scenario({ tolerated: ["503", "500 (Internal"] }, async ({ page, server, say, shown, quiet, tab, button, event, menu }) => {
  mkdirSync(PICTURES, { recursive: true });
  await page.emulateMedia({ reducedMotion: "reduce" });
  const wrong = [];
  for (const theme of ["light", "dark"]) {
    for (const width of WIDTHS) {
      const where = `${theme}-${width}`;
      const user = `u${theme[0]}${width}`;
      let [steps, seen] = [0, new Set()];
      const step = async (what) => {
        await what();
        steps += 1;
      };
      const look = async (screen, part = "") => {
        seen.add(screen);
        await page.evaluate(AXE);
        const found = await page.evaluate(audit, RULES);
        if (found.length) wrong.push(`${screen} ${part} ${where}: ${found.join("; ")}`);
        const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (sideways > 0) wrong.push(`${screen} ${part} ${where} scrolls sideways by ${sideways}`);
        await page.screenshot({ path: join(PICTURES, `${screen}${part && `-${part}`}-${where}.png`) });
      };
      const unfold = async () => {
        const one = button("Unfold the sidebar");
        if (await one.count()) await one.click();
      };
      const fold = async () => {
        if (width < 500 && (await button("Fold the sidebar").count())) await button("Fold the sidebar").click();
      };
      const go = async (name) => {
        await unfold();
        await page.getByRole("button", { name, exact: true }).click();
        await fold();
      };
      const openApp = async (name) => {
        await page.goto("about:blank");
        await page.goto(`${server.url}/page/#app=${name}&user=${user}`);
        await page.getByRole("textbox", { name: `Message to ${name}` }).waitFor();
      };
      await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
      await page.evaluate((chosen) => localStorage.setItem("ostinato-theme", chosen), theme);

      // Morning mail: what does this agent do?
      await step(() => openApp("gallery")); // 1
      await look("start");
      await step(() => page.locator(".examples button").first().click());
      await step(() => event(2).locator(".of-keyword").first().waitFor());
      await step(() => say("Show me math"));
      await step(() => event(4).locator("math").nth(4).waitFor()); // 5
      await look("chat", "formulas");

      // The till: refunds, approvals, rules.
      await step(() => openApp("till"));
      await step(() => say("refund 20"));
      await step(() => shown("Done: {'refunded': 20", { exact: false }).waitFor());
      await step(() => say("refund 500"));
      await step(() => button("Approve").waitFor()); // 10
      await look("chat", "asks");
      await step(() => button("Approve").click());
      await step(() => page.locator(".decided-by").getByText("approved", { exact: true }).waitFor());
      await step(() => say("refund 9000"));
      await step(() => page.locator(".decided-by").getByText("denied by refund-huge", { exact: false }).waitFor());
      await step(() => say("tell me the secret")); // 15
      await step(() => shown("I do not talk about that.").first().waitFor());
      await button("Send").waitFor();
      await look("chat", "decided");
      await step(() => tab("Effects").click());
      await step(() => page.getByRole("table", { name: "Effects" }).getByText(`approved by ${user}`).waitFor());
      await look("effects");
      await step(() => tab("Timeline").click());
      await step(() => page.locator("button.event").nth(1).click()); // 20
      await look("timeline");
      await step(() => button("Close details").click());
      await step(() => tab("Agents").click());
      await page.locator("svg").first().waitFor();
      await look("agents");
      await step(() => tab("State").click());
      await look("state");

      // What went well becomes a case.
      await step(async () => {
        await unfold();
        await menu("refund 20", "Add as evaluation case");
        await page.getByRole("heading", { name: "Evaluation of till" }).waitFor();
        await fold();
      });
      const cases = page.getByRole("list", { name: "Cases", exact: true });
      await step(() => cases.locator("summary").first().click()); // 25
      await look("evaluation", "cases");
      await step(() => page.getByRole("button", { name: /^Run all/ }).click());
      const outcomes = page.getByRole("list", { name: "Cases of the result" });
      await step(() => outcomes.locator("summary").first().waitFor());
      await look("evaluation", "results");
      await step(() => tab("Cases").click());
      await step(() => page.getByRole("button", { name: /^Run all/ }).click());
      await step(() => outcomes.locator("summary").first().waitFor()); // 30
      await step(() => tab("Compare results").click());
      await page.getByRole("list", { name: "Cases of both results" }).locator("summary").first().click();
      await look("evaluation", "compare");
      const { sessions } = await server.ask("GET", `/apps/till/sessions?userId=${user}&details=true`);
      const { events } = await server.ask("GET", `/apps/till/users/${user}/sessions/${sessions[0].id}`);
      const file = join(server.folder, `${where}.json`);
      writeFileSync(file, JSON.stringify(report(sessions[0].id, events[0].invocationId)));
      await step(() => tab("Replay").click());
      await step(() => page.locator("main input[type=file]").setInputFiles(file));
      await page.getByRole("list", { name: "Replayed invocations" }).locator("summary").first().click();
      await look("evaluation", "replay");
      await step(() => go("Effects"));
      await page.getByRole("table", { name: "Effects" }).getByText("refund").first().waitFor();
      await look("ledger");

      // A credential, and a bug.
      await step(() => openApp("vault")); // 35
      await step(() => say("login"));
      await step(() => page.getByRole("link", { name: "Consent at login.test" }).waitFor());
      await step(async () => {
        const main = page.locator("#middle");
        await main.focus();
        await page.keyboard.press("w");
        await page.getByRole("dialog", { name: "Waiting for you" }).getByRole("link").first().waitFor();
      });
      await look("inbox");
      await page.keyboard.press("Escape");
      await step(() => openApp("wreck"));
      await step(async () => {
        await say("pay"); // 40
        await page.locator(".traceback summary").first().click();
        await page.locator(".lines .at").first().waitFor();
      });
      await look("chat", "traceback");
      assert.equal(steps, STEPS);
      assert.deepEqual([...seen].toSorted(), SCREENS.toSorted());
    }
  }
  assert.deepEqual(wrong, []);
});

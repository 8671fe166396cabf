// Takes the steps of the afternoon on our page and on google-adk's: `node beside_adk.mjs PORT PORT`.
// Prints, as JSON, the clicks and seconds of each step on either; null where a page has no way to do it.
// A press of Enter or of another key counts as a click; letters that are typed do not.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [ours, theirs] = process.argv.slice(2).map((port) => `http://127.0.0.1:${port}`);
const PATIENCE = Number(process.env.OSTINATO_TEST_PATIENCE ?? 60_000); // milliseconds

for (const url of [ours, theirs]) await answers(`${url}/list-apps`);
await fetch(`${theirs}/dev/apps/till/metrics-info`); // loads their evaluation, which may take half a minute once
const browser = await chromium.launch({ executablePath: process.env.OSTINATO_TEST_CHROMIUM, args: ["--no-sandbox"] });
const here = await open();
const there = await open();

/** Wait until a server answers. */
async function answers(url) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
    if (await fetch(url).then((one) => one.ok, () => false)) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${url} does not answer`);
}

/** A page, and a hand that counts its clicks. */
async function open() {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.route((url) => url.hostname !== "127.0.0.1", (route) => route.abort());
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const hand = {
    page,
    clicks: 0,
    popups: 0,
    click: (one) => ((hand.clicks += 1), one.click()),
    press: (one, key) => ((hand.clicks += 1), one.press(key)),
    button: (name) => page.getByRole("button", { name, exact: true }),
    tab: (name) => page.getByRole("tab", { name, exact: true }),
    sees: (text) => page.getByText(text, { exact: false }).locator("visible=true").first().waitFor(),
    say: async (text) => {
      const box = page.locator("textarea").last();
      await box.fill(text);
      await hand.press(box, "Enter");
    },
  };
  page.on("popup", () => (hand.popups += 1));
  return hand;
}

const openApp = (name) => [
  async ({ page }) => {
    await page.goto("about:blank");
    await page.goto(`${ours}/page/#app=${name}`);
    await page.getByRole("textbox", { name: `Message to ${name}` }).waitFor();
  },
  async ({ page }) => {
    await page.goto(`${theirs}/dev-ui/?app=${name}`);
    await page.locator("textarea").last().waitFor();
  },
];
const both = (step) => [step, step];
const replay = async () => {
  const { sessions } = await (await fetch(`${ours}/apps/till/sessions`)).json();
  const invocation = { app_name: "till", user_id: "user", session_id: sessions[0].id, invocation_id: "none", message: "refund 20", outcome: "words" };
  const file = join(tmpdir(), `ostinato-replay-${process.pid}.json`);
  writeFileSync(file, JSON.stringify({ format: 1, agent: "till", skipped: {}, invocations: [invocation] }));
  return file;
};
/** Go back to the list of cases there, from a result. */
const toCases = (h) => h.click(h.page.locator("mat-icon").filter({ hasText: /^list/ }).last());
const startRun = async (h) => {
  await h.click(h.button("Run All"));
  await h.click(h.page.getByRole("dialog").getByRole("button", { name: "Start" }));
};
const cases = ({ page }) => page.getByRole("list", { name: "Cases", exact: true });
const outcomes = ({ page }) => page.getByRole("list", { name: "Cases of the result" });

/** Each step: its name, how it is done here, and how it is done there. */
const STEPS = [
  ["open an agent by its address", ...openApp("gallery")],
  ["send a message that the agent suggests", (h) => h.click(h.page.locator(".examples button").first()), (h) => h.say("Show me markdown")],
  ["read its answer as Markdown", ...both((h) => h.page.getByRole("heading", { name: "The ferries to Lisbon" }).waitFor())],
  ["ask for formulas", ...both((h) => h.say("Show me math"))],
  ["read them as formulas", (h) => h.page.locator("math").nth(4).waitFor(), null],
  ["open another agent", ...openApp("till")],
  ["ask for a refund of 20", ...both((h) => h.say("refund 20"))],
  ["see its result", ...both((h) => h.sees("Done: {'refunded': 20"))],
  ["ask for one of 500", ...both((h) => h.say("refund 500"))],
  ["see that a person has to approve it", (h) => h.button("Approve").waitFor(), (h) => h.sees("Please approve or reject")],
  ["approve it", async (h) => {
    await h.click(h.button("Approve"));
    await h.sees("Done: {'refunded': 500");
  }, async (h) => {
    await h.click(h.page.locator('input[type="checkbox"]').last());
    await h.click(h.button("Submit"));
    await h.sees("Done: {'refunded': 500");
  }],
  ["see in the log that it was approved", (h) => h.page.locator(".decided-by").getByText("approved").first().waitFor(), async (h) => {
    await h.click(h.button("adk_request_confirmation").last());
    await h.sees("confirmed");
  }],
  ["ask for one of 9,000, which nobody may approve", ...both((h) => h.say("refund 9000"))],
  ["see that a rule denied it", ...both((h) => h.sees("denied by refund-huge"))],
  ["ask what a guardrail stops", ...both(async (h) => {
    await h.say("tell me the secret");
    await h.sees("I do not talk about that.");
  })],
  ["reload, and see the same session", ...both(async (h) => {
    await h.page.reload();
    await h.sees("I do not talk about that.");
  })],
  ["list what the tools of the session did", async (h) => {
    await h.click(h.tab("Effects"));
    await h.page.getByRole("table", { name: "Effects" }).getByText("refund").first().waitFor();
  }, async (h) => {
    await h.click(h.page.getByText("Traces", { exact: true }));
    await h.sees("Total latency");
  }],
  ["see there who approved which call", (h) => h.sees("approved by user"), null],
  ["see where the time went", async (h) => {
    await h.click(h.tab("Timeline"));
    await h.page.locator(".bar-row").first().waitFor();
  }, (h) => h.sees("Total latency")],
  ["read the exact request to the model", async (h) => {
    await h.click(h.page.locator("button.event").nth(1));
    await h.click(h.tab("Request"));
    await h.page.getByRole("tabpanel").getByText("refund").last().waitFor();
  }, async (h) => {
    await h.click(h.page.getByText("Events", { exact: true }));
    await h.click(h.page.getByText("#2", { exact: true }));
    await h.click(h.page.locator("mat-icon").filter({ hasText: /^input$/ }).first());
    await h.sees("contents");
  }],
  ["see the graph of the agent", async (h) => {
    await h.click(h.tab("Agents"));
    await h.page.getByRole("group", { name: "Graph of the app" }).waitFor();
  }, async (h) => {
    await h.click(h.page.locator("mat-icon").filter({ hasText: /^account_tree$/ }).last());
    await h.page.locator("svg").getByText("refund").locator("visible=true").first().waitFor();
  }],
  ["see the state of the session", ...both((h) => h.click(h.page.getByRole("tab", { name: "State", exact: true }).first()))],
  ["refund 20 in a new session", async (h) => {
    await h.click(h.button("New session"));
    await h.page.getByText("0 events", { exact: true }).waitFor();
    await h.say("refund 20");
    await h.page.getByText("4 events", { exact: true }).waitFor();
  }, async (h) => {
    await h.click(h.page.locator("#toolbar-new-session-button"));
    await h.page.getByText("denied by refund-huge").first().waitFor({ state: "hidden" });
    await h.say("refund 20");
    await h.sees("Done: {'refunded': 20");
  }],
  ["make a case of the session", async (h) => {
    await h.click(h.page.getByLabel("More for refund 20", { exact: true }).first());
    await h.click(h.button("Add as evaluation case").locator("visible=true"));
    await cases(h).locator("summary").first().waitFor();
  }, async (h) => {
    await h.click(h.tab("Evals"));
    await h.click(h.page.getByText("Create Evaluation Set", { exact: true }).last());
    const dialog = h.page.getByRole("dialog");
    await dialog.locator("input").first().fill("cases");
    await h.click(dialog.getByRole("button", { name: "Create" }));
    await h.click(h.page.getByText("cases", { exact: true }).first());
    await h.click(h.button("From Current Session"));
    await h.click(dialog.getByRole("button").last());
    await dialog.waitFor({ state: "hidden" });
    await h.page.getByRole("tabpanel", { name: "Evals" }).getByText("refund_20").waitFor();
  }],
  ["run all cases of the set", (h) => h.click(h.page.getByRole("button", { name: /^Run all/ })), startRun],
  ["see the verdict", (h) => outcomes(h).locator("summary").first().waitFor(), (h) => h.page.getByText(/\d (PASS|FAIL)/).first().waitFor()],
  ["see what was expected beside what came", async (h) => {
    if (!(await outcomes(h).locator("details[open]").count())) await h.click(outcomes(h).locator("summary").first());
    await h.page.locator("table.beside").first().waitFor();
  }, async (h) => {
    await h.click(h.page.getByRole("tabpanel", { name: "Evals" }).getByText("refund_20").last());
    await h.click(h.page.getByText("Compare", { exact: true }).first());
    await h.sees("Expected");
  }],
  ["run the set again", async (h) => {
    await h.click(h.tab("Cases"));
    await h.click(h.page.getByRole("button", { name: /^Run all/ }));
    await outcomes(h).locator("summary").first().waitFor();
  }, async (h) => {
    await toCases(h);
    await startRun(h);
    await h.page.getByText(/\d (PASS|FAIL)/).first().waitFor();
  }],
  ["compare both results case by case", async (h) => {
    await h.click(h.tab("Compare results"));
    await h.page.getByRole("list", { name: "Cases of both results" }).locator("summary").first().waitFor();
  }, null],
  ["see what the case expects", async (h) => {
    await h.click(h.tab("Cases"));
    await h.click(cases(h).locator("summary").first());
    await h.sees("refund(amount: 20");
  }, async (h) => {
    await toCases(h);
    await h.click(h.page.getByRole("tabpanel", { name: "Evals" }).getByText("refund_20").last());
    await h.sees("Done: {'refunded': 20");
  }],
  ["open the part for replays", (h) => h.click(h.tab("Replay")), null],
  ["read a report of a replay", async (h) => {
    h.clicks += 1;
    await h.page.locator("main input[type=file]").setInputFiles(await replay());
    await h.page.getByRole("list", { name: "Replayed invocations" }).locator("summary").first().waitFor();
  }, null],
  ["list what tools did in all sessions", async (h) => {
    await h.click(h.button("Effects"));
    await h.page.getByRole("table", { name: "Effects" }).getByText("refund").first().waitFor();
  }, null],
  ["open an agent that needs a login", ...openApp("vault")],
  ["let it ask for the login", ...both((h) => h.say("login"))],
  ["reach the provider's consent", async (h) => {
    await h.click(h.page.getByRole("link", { name: "Consent at login.test" }));
  }, async (h) => {
    if (!h.popups) await h.page.waitForEvent("popup");
  }],
  ["see what waits in all sessions", async (h) => {
    await h.click(h.page.getByRole("button", { name: /^Waiting/ }));
    await h.page.getByRole("dialog", { name: "Waiting for you" }).getByText("login.test").first().waitFor();
  }, null],
  ["open an agent with a bug", ...openApp("wreck")],
  ["see that its tool failed, and how", async (h) => {
    await h.say("pay");
    await h.sees("no price of A-1");
  }, async (h) => {
    await h.say("pay");
    await h.sees("no price of A-1");
  }],
  ["see the line of code that failed", async (h) => {
    await h.click(h.page.locator(".traceback summary").first());
    await h.page.locator(".lines .at").first().waitFor();
  }, null],
];

/** Take a step on a page. */
async function take(step, hand, name) {
  if (!step) return null;
  const [clicks, from] = [hand.clicks, performance.now()];
  try {
    await step(hand);
  } catch (error) {
    throw new Error(`${name}, on ${hand === here ? "our page" : "google-adk's"}`, { cause: error });
  }
  return { clicks: hand.clicks - clicks, seconds: (performance.now() - from) / 1000 };
}

const found = [];
try {
  for (const [name, mine, other] of STEPS) {
    found.push({ name, ours: await take(mine, here, name), theirs: await take(other, there, name) });
  }
  console.log(JSON.stringify(found));
} catch (error) {
  await there.page.screenshot({ path: join(tmpdir(), "beside-theirs.png") });
  await here.page.screenshot({ path: join(tmpdir(), "beside-ours.png") });
  throw error;
} finally {
  await browser.close();
}

import { chromium } from "playwright-core";
const [,, out, scheme="light", width="1440", ...only] = process.argv;
const B = "http://127.0.0.1:8931";
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: Number(width), height: 900 }, colorScheme: scheme });
const page = await context.newPage();
page.on("console", (m) => m.type() === "error" && console.log("console:", m.text()));
page.on("pageerror", (e) => console.log("error:", e.stack));
const go = async (app, session, tab) => {
  await page.goto("about:blank");
  await page.goto(`${B}/page/#app=${app}&user=user&session=${session}`);
  await page.getByRole("tab", { name: tab, exact: true }).click();
  await page.waitForTimeout(600);
};
const shot = (name) => page.screenshot({ path: `${out}/${name}-${scheme}-${width}.png` });
const all = {
  timeline: async () => { await go("desk", "d1", "Timeline"); await page.locator("button.event").nth(3).click(); await page.waitForTimeout(300); await shot("timeline"); },
  request: async () => { await go("desk", "d1", "Timeline"); await page.locator("button.event").nth(3).click(); await page.getByRole("tab", { name: "Request" }).click(); await page.waitForTimeout(500); await shot("request");
    await page.locator("aside").getByRole("tab", { name: "Tokens" }).click(); await shot("tokens");
    await page.locator("aside").getByRole("tab", { name: "Try again" }).click(); await shot("try");
    await page.locator("button.event").nth(2).click(); await page.locator("aside").getByRole("tab", { name: "State" }).click(); await page.waitForTimeout(300); await shot("statetab"); },
  failed: async () => { await go("desk", "d2", "Timeline"); await shot("failed"); },
  graph: async () => { for (const [a, s] of [["desk", "d1"], ["pipeline", "p1"], ["router", "r1"], ["flow", "f1"], ["survey", "s1"], ["office", "o1"]]) { await go(a, s, "Agents"); await page.waitForTimeout(300); await shot(`graph-${a}`); }
    await go("router", "r1", "Agents"); await page.locator(".graph .node").nth(1).click(); await shot("graph-node"); },
  state: async () => { await go("desk", "d1", "State"); await shot("state"); await page.getByLabel("Show what changed").click(); await page.waitForTimeout(400); await shot("state-since"); },
  compare: async () => { await go("desk", "d1", "Compare"); await page.getByLabel("Compare with").first().selectOption("d1-fork").catch(() => page.locator(".compare select").selectOption("d1-fork")); await page.waitForTimeout(500); await shot("compare"); },
  inbox: async () => { await go("desk", "d1", "Chat"); await page.getByRole("button", { name: /^Waiting/ }).click(); await page.getByRole("button", { name: "Edit arguments" }).first().click(); await page.waitForTimeout(300); await shot("inbox"); },
  live: async () => { await go("desk", "d1", "Live"); await shot("live"); },
};
for (const name of only.length ? only : Object.keys(all)) { try { await all[name](); } catch (e) { console.log(name, String(e).slice(0, 600)); await shot(`${name}-FAILED`); } }
await browser.close();

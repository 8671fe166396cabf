// An agent whose model has no key: a stand-in answers, and the page says so and what to set. A run
// that fails is told once.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, becomes, scenario } from "../harness.mjs";

const add = (server, name, agent) => {
  mkdirSync(join(server.agents, name));
  writeFileSync(join(server.agents, name, "agent.py"), agent);
};

const before = (server) => {
  delete process.env.GOOGLE_API_KEY;
  delete process.env.GEMINI_API_KEY;
  add(server, "keyless", "from ostinato.agents import Agent\nroot_agent = Agent(name='root', model='gemini-2.5-flash')\n");
  add(server, "fails", `
from ostinato.agents import BaseAgent

class Fails(BaseAgent):
    async def _run_async_impl(self, ctx):
        raise LookupError("no shelf")
        yield

root_agent = Fails(name="root")
`);
};

await scenario({ before, home: "/page/#app=keyless", tolerated: ["500", "503"] }, async ({ page, shown, shot, say, button }) => {
  const notice = page.getByRole("note");
  await notice.waitFor();
  const told = await notice.textContent();
  assert.match(told, /^gemini-2\.5-flash is not available \(no key\): using the offline stand-in/);
  assert.match(told, /set GOOGLE_API_KEY or GEMINI_API_KEY in the agent's \.env file/);
  await say("hello");
  await shown("hello", { exact: false }).nth(1).waitFor();
  await shot("answered");
  assert.equal(await page.locator(".error, .problem").count(), 0);

  await page.getByLabel("Agent", { exact: true }).selectOption("fails");
  await becomes(() => notice.count(), 0);
  await say("hello");
  await page.locator(".card .error").waitFor();
  await becomes(() => page.locator(".problem").count(), 0);
  await becomes(() => shown("no shelf", { exact: false }).count(), 1);
  await page.reload();
  await page.locator(".card .error").waitFor();
  await becomes(() => shown("no shelf", { exact: false }).count(), 1);

  // A telephone folds the notice to one line.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${new URL(page.url()).origin}/page/?narrow#app=keyless`);
  await button("more").waitFor();
  const height = () => notice.evaluate((one) => one.getBoundingClientRect().height);
  const folded = await height();
  assert.ok(folded < 50, `${folded}`);
  await shot("folded");
  await button("more").click();
  await button("less").waitFor();
  assert.ok((await height()) > folded);
  await shot("unfolded");
});

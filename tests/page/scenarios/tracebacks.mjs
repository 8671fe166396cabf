// Where the developer's code failed: file and line beside a tool's error and the error of a run, over
// a restart too; the rest of the stack folds, and `ostinato serve` never shows it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { assert, becomes, scenario } from "../harness.mjs";

const home = "/page/#app=wreck&user=ann";
const LOST = ["503", "500 (Internal", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION", "ERR_EMPTY", "network error"];

await scenario({ tolerated: LOST, home }, async ({ page, server, shown, shot, say, event, quiet }) => {
  await say("pay");
  await shown("I could not pay.").waitFor();
  const tool = event(3).locator(".traceback");
  await tool.getByText("wreck/agent.py:15, in find_price").first().waitFor();
  assert.equal(await tool.locator("figure").first().isVisible(), false); // folded
  await tool.locator("> summary").click();
  await becomes(() => tool.locator(".lines .at").allInnerTexts(), [
    "20    return {\"paid\": find_price(order)}",
    "15        raise LookupError(f\"no price of {order}, <b>really</b>\") from error",
    "13        return prices[order]",
  ]);
  await tool.getByText("caused by", { exact: false }).waitFor();
  assert.equal(await tool.locator("b").count(), 0);
  const foreign = tool.getByText(/frames? of other code/).first();
  await foreign.click();
  await tool.locator(".foreign li").first().waitFor();
  assert.ok(!(await tool.innerText()).includes(server.folder), "it shows folders of the machine");
  await shot("tool");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("tool-dark");
  await page.emulateMedia({ colorScheme: "light" });

  await say("fall");
  const broke = event(6).locator(".traceback");
  await broke.getByText("wreck/agent.py:29, in answer").first().waitFor();
  await broke.locator("> summary").click();
  await shot("run");

  // The server is another one; what failed is still known.
  await server.stop();
  await server.start();
  await page.reload();
  await quiet(6);
  await event(3).locator(".traceback").getByText("wreck/agent.py:15, in find_price").first().waitFor();

  // `ostinato serve` over the same files shows no code.
  await server.stop();
  const serve = spawn(process.env.OSTINATO_TEST_PYTHON, ["-m", "ostinato", "serve", server.agents, "--db", server.db, "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let url = "";
    for await (const line of createInterface({ input: serve.stdout })) {
      url = /(http:\/\/[^/]+:\d+)/.exec(line)?.[1] ?? "";
      if (url) break;
    }
    const { sessions } = await (await fetch(`${url}/apps/wreck/sessions`)).json();
    const base = `${url}/apps/wreck/users/ann/sessions/${sessions[0].id}`;
    assert.equal((await fetch(`${base}/tracebacks`)).status, 403);
    const { spans } = await (await fetch(`${base}/spans`)).json();
    assert.ok(spans.length > 0);
    for (const one of spans) {
      assert.ok(!(await (await fetch(`${base}/spans/${one.id}`)).text()).includes("find_price"));
    }
  } finally {
    serve.kill("SIGKILL");
  }
});

// A session of 10,000 events, some of them below calls, and 3,000 spans of one invocation: few nodes
// in the document, older events when they are scrolled to.
// It prints how long it took until the newest event was there and the composer could be used.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, scenario } from "../harness.mjs";

const EVENTS = 10_000;
const MOST_NODES = 2_000;

const seed = `
import asyncio, os, sys
from ostinato import types
from ostinato.events import Event
from ostinato.sessions import SqliteSessionService
from ostinato.telemetry.recorder import SpanRecord
from ostinato.telemetry.span_store import SqliteSpanStore

async def main(db, count):
    os.makedirs(os.path.dirname(db), exist_ok=True)
    service = SqliteSessionService(db)
    session = await service.create_session(app_name="desk", user_id="user", session_id="long")
    for n in range(1, count + 1):
        role = "user" if n % 4 == 1 else "model"
        parts = [types.Part(text=f"Event number {n}. " + "Some words that fill a line. " * (n % 7))]
        if n % 4 == 2:
            parts = [types.Part(function_call=types.FunctionCall(id=f"c{n}", name="lookup", args={"city": f"City {n}"}))]
        if n % 4 == 3:
            parts = [types.Part(function_response=types.FunctionResponse(id=f"c{n - 1}", name="lookup", response={"report": "sunny " * 20}))]
        call = f"c{n - n % 20 + 6}" if n % 20 in (10, 11, 12, 13) else None
        await service.append_event(session, Event(
            invocation_id=f"e-{(n - 1) // 4}", author="user" if role == "user" else "desk",
            branch=call and f"lookup@{call}", isolation_scope=call,
            content=types.Content(role=role, parts=parts)))
    await service.close()
    spans = SqliteSpanStore(os.path.join(os.path.dirname(db), "traces.db"))
    for n in range(3000):
        one = SpanRecord(f"{n:016x}", "t", f"{0:016x}" if n else None, "chat m" if n else "invocation",
                         "chat" if n else "invocation", 1000.0 + n, 1001.0 + n)
        one.place, one.invocation_id = ("desk", "user", "long"), f"e-{(count - 1) // 4}"
        spans.on_end(one)
    await spans.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
`;

const before = (server) =>
  execFileSync(process.env.OSTINATO_TEST_PYTHON, ["-c", seed, server.db, String(EVENTS)], {
    stdio: ["ignore", "inherit", "inherit"],
  });

await scenario({ tolerated: ["503"], before }, async ({ page, shown, server, shot, say, tab, quiet, box }) => {
  const nodes = () => page.evaluate(() => document.querySelectorAll("*").length);
  const opened = async () => {
    await page.goto("about:blank");
    const start = performance.now();
    await page.goto(`${server.url}/page/#app=desk&user=user&session=long`, { waitUntil: "commit" });
    await page.getByRole("article", { name: `, event ${EVENTS}` }).waitFor();
    await box.fill("usable");
    const took = performance.now() - start;
    await box.fill("");
    return took;
  };
  const cold = await opened(); // the server reads the session from its file
  const warm = await opened();
  await quiet(EVENTS);
  const count = await nodes();
  console.log(`${EVENTS} events: ${Math.round(cold)} ms cold, ${Math.round(warm)} ms warm, ${count} nodes`);
  writeFileSync(
    join(process.env.OSTINATO_TEST_SHOTS, "long.json"),
    JSON.stringify({ events: EVENTS, coldMs: cold, warmMs: warm, nodes: count }),
  );
  assert.ok(count < MOST_NODES, `${count} nodes`);
  await shot("chat");

  // Scrolled to the top again and again, everything comes, and the document stays small.
  const list = page.getByRole("feed", { name: "Conversation" });
  while (!(await page.getByRole("article", { name: /, event 1$/ }).isVisible())) {
    await list.evaluate((element) => (element.scrollTop = 0));
    await page.waitForFunction(
      (old) => document.querySelector("[data-row]")?.dataset.row !== old,
      await page.locator("[data-row]").first().getAttribute("data-row"),
      { timeout: 1_000 },
    ).catch(() => undefined); // it had changed before that was asked
  }
  assert.ok((await nodes()) < MOST_NODES);
  await tab("Timeline").click();
  await page.locator("button.event").last().getByText(String(EVENTS), { exact: true }).waitFor();
  await page.getByRole("list", { name: "Waterfall of the session" }).getByText("model m").first().waitFor();
  await page.getByRole("list", { name: "Events" }).evaluate((list) => (list.scrollTop = list.scrollHeight / 2));
  await page.locator('button.event[data-depth="1"]').first().waitFor();
  assert.ok((await nodes()) < MOST_NODES);
  await shot("timeline");
  await tab("Chat").click();
  await say("one more");
  await shown("You said: one more").waitFor();
  await quiet(EVENTS + 2);
});

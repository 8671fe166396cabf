// A message runs once, whatever becomes of its answer, and is in the box again while nobody knows.

import { assert, becomes, scenario } from "../harness.mjs";

const tolerated = ["503", "ERR_", "Failed to load resource"];

await scenario({ tolerated }, async ({ page, context, server, shot, box, say, quiet, button }) => {
  const keys = [];
  page.on("request", (one) => one.url().includes("/run_sse") && keys.push(one.headers()["idempotency-key"]));
  const cut = async (reaches) => {
    await context.route("**/events/stream", (route) => route.abort().catch(() => undefined));
    await context.route("**/run_sse*", async (route) => {
      if (reaches) await route.fetch();
      await route.abort("connectionreset").catch(() => undefined); // it was let go meanwhile
    });
  };
  const lost = page.getByText("connection lost, trying again");
  const mend = () => context.unrouteAll();
  const events = async () => {
    const id = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("session");
    const found = await server.ask("GET", `/apps/desk/users/user/sessions/${id}/events`);
    return found.events.length;
  };

  // The first message of a new session outlives a reload, wherever it was on its way.
  let creates = 0;
  await context.route(/\/sessions$/, (route) => (route.request().method() === "POST" ? void (creates += 1) : route.continue()));
  await say("the very first");
  await becomes(() => creates, 1);
  await becomes(() => box.inputValue(), "");
  await page.reload();
  await becomes(() => box.inputValue(), "the very first");
  await mend();
  await cut(false);
  await box.press("Enter");
  await becomes(() => keys.length, 1);
  await becomes(() => box.inputValue(), "the very first");
  await page.reload();
  await becomes(() => box.inputValue(), "the very first");
  await mend();
  await page.reload();
  await becomes(() => box.inputValue(), "the very first");
  await box.press("Enter");
  await quiet(2);
  await becomes(() => box.inputValue(), "");
  assert.equal(keys[1], keys[0], "the same message has the same key after a reload");

  // The server took it and the answer is lost: sent again, it is the same message.
  await page.reload();
  await quiet(2);
  await cut(true);
  await page.reload(); // so that no stream shows that it was taken
  await lost.waitFor();
  await say("once only");
  await becomes(() => box.inputValue(), "once only");
  await shot("lost");
  await mend();
  await context.route("**/events/stream", (route) => route.abort().catch(() => undefined));
  await box.press("Enter");
  await becomes(() => box.inputValue(), "");
  await becomes(() => keys.length, 4);
  assert.equal(keys[3], keys[2]);
  await becomes(events, 4);

  // Other words are another message.
  await mend();
  await page.reload();
  await quiet(4);
  await cut(false);
  await say("some words");
  await becomes(() => box.inputValue(), "some words");
  await mend();
  await box.fill("other words");
  await box.press("Enter");
  await quiet(6);
  assert.notEqual(keys[5], keys[4]);

  // Where the log shows it, it is not in the box; what was typed meanwhile is.
  await cut(true);
  await say("shown by the log");
  await becomes(() => keys.length, 7);
  await becomes(events, 8);
  await mend();
  await page.reload();
  await quiet(8);
  await becomes(() => box.inputValue(), "");
  server.shut();
  let held;
  await context.route("**/run_sse*", (route) => void (held = route));
  await say("still going");
  await becomes(() => held !== undefined, true);
  await box.fill("and more");
  await page.reload();
  await becomes(() => box.inputValue(), "still going\nand more");
  await mend();
  await button("Send").waitFor();
});

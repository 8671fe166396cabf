// Agents that were called and nodes of graphs: their events lie below the call, in chat, list and
// waterfall, and say where they are.

import { assert, becomes, scenario } from "../harness.mjs";

await scenario({ tolerated: ["503"] }, async ({ page, shown, server, shot, say, tab, quiet, button }) => {
  const cards = () =>
    page.locator("article.card").evaluateAll((all) =>
      all.map((one) => [Number(one.dataset.depth), one.getAttribute("aria-label")]),
    );
  const left = (name) =>
    page.getByRole("article", { name }).evaluate((one) => one.getBoundingClientRect().left);
  const named = (label) => label.replace(/ [0-9a-f]{4}(?=, event|$)/, " ID");

  await page.getByLabel("Agent", { exact: true }).selectOption("office");

  // An agent as a tool: seen live below its call, a piece of what it says too, and afterwards whole.
  await say("research");
  await shown("It is", { exact: true }).waitFor();
  const alike = async () => (await cards()).map(([depth, label]) => [depth, named(label)]);
  await becomes(alike, [
    [0, "user, event 1"],
    [0, "root, event 2"],
    [1, "research in research ID"],
    [1, "research in research ID"],
    [1, "research in research ID"],
  ]);
  await shot("live");
  server.open();
  await quiet(4);
  const answered = [
    [0, "root, event 3"],
    [0, "root, event 4"],
  ];
  await becomes(async () => (await alike()).slice(5), answered);
  await becomes(() => page.locator("p.text, .prose > p").allTextContents(), ["research", "It is sunny.", "It is sunny."]);
  await becomes(() => shown("seen live, in no log here").count(), 3);

  // Two at a time: each one's events lie below its own call's row, not as they came in the log.
  await say("clerks");
  await quiet(14);
  const numbered = (label) => Number(/, event (\d+)$/.exec(label)?.[1] ?? 0);
  const fromFive = async () => (await cards()).filter(([, label]) => numbered(label) >= 5);
  const depthsOf = async () => (await fromFive()).map(([depth]) => depth);
  await becomes(depthsOf, [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]);
  const scopes = (await fromFive()).slice(2, 8).map(([, label]) => /in (clerk [0-9a-f]{4}), event/.exec(label)[1]);
  assert.equal(new Set(scopes.slice(0, 3)).size, 1);
  assert.equal(new Set(scopes.slice(3)).size, 1);
  assert.notEqual(scopes[0], scopes[3]);
  assert.ok((await left(/^clerk.*, event 7$/)) > (await left("root, event 6")) + 10);

  // A task, and the answer to it outside again.
  await say("book");
  await quiet(22);
  const task = async () => (await alike()).filter(([, label]) => label.startsWith("booker in booker ID"));
  await becomes(async () => (await task()).map(([depth]) => depth), [1, 1, 1, 1]);
  await shot("chat-light");

  await tab("Timeline").click();
  const depths = () =>
    page.locator("button.event").evaluateAll((all) => all.map((one) => one.dataset.depth).join(""));
  await becomes(() => depths(), /^00111000011111100/);
  // The waterfall: the calls of the agent that was called lie below the tool's.
  await page.locator("button.event").nth(1).click();
  const bars = () =>
    page.locator("button.bar-row").evaluateAll((all) =>
      all.map((one) => `${one.dataset.depth} ${one.querySelector(".bar-name").textContent}`),
    );
  await page.locator("button.bar-row").getByText("agent research").waitFor();
  const open = (await bars()).filter((one, at, all) => one.startsWith("0") || at < all.indexOf("0 ▸  clerks"));
  assert.deepEqual(open, [
    "0 ▾  research",
    "1 agent root",
    "2 model root",
    "2 tool research",
    "3  invocation",
    "4 agent research",
    "5 model research",
    "5 tool lookup",
    "5 model research",
    "2 model root",
    "0 ▸  clerks",
    "0 ▸  book",
  ]);
  await page.locator("button.bar-row").getByText("model research").first().click();
  await becomes(() => page.locator("button.event.chosen").getAttribute("data-depth"), "1");
  await page.locator("button.bar-row.chosen").getByText("model research").waitFor();
  await tab("Request").click();
  await shot("timeline-light");
  await button("Close details").click();
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("timeline-dark");
  await tab("Chat").click();
  await shot("chat-dark");

  // After a reload what is stored lies where it was.
  await page.reload();
  await page.getByRole("article", { name: /^booker in booker/ }).first().waitFor();
  await page.locator("section.view .list").evaluate((list) => (list.scrollTop = 0));
  await page.getByRole("article", { name: "user, event 1", exact: true }).waitFor();
  await becomes(() => shown("seen live, in no log here").count(), 0);

  // A graph: nodes by their path.
  await page.getByLabel("Agent", { exact: true }).selectOption("flow");
  await say("tea");
  await quiet(4);
  await becomes(cards, [
    [0, "user, event 1"],
    [1, "flow in flow / plan, event 2"],
    [1, "draft in flow / draft, event 3"],
    [2, "review in flow / review / check, event 4"],
  ]);
  await shown("checked drafted").waitFor();
  await shot("graph-dark");

  // On a telephone each event's menu stays within reach.
  await page.setViewportSize({ width: 390, height: 844 });
  const rights = () => page.locator(".card .menu > summary").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
  await becomes(async () => (await rights()).filter((right) => right > 390), []);
  assert.ok((await rights()).length >= 3);
  await shot("graph-narrow");
});

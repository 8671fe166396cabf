// Marks of direction are shown as what they are in every view: none turns a name or a text around.

import { assert, scenario } from "../harness.mjs";

const EVIL = "pay\u202eeht\u2066x";
const MARKS = /[\u202a-\u202e\u2066-\u2069]/;

/** The views, and what each has drawn when it can be looked at. */
const SHOWN = {
  Timeline: ".bar-row.chosen, .bar-row .failed", Agents: "#view svg", State: ".state-view h2", Effects: "#view .quiet", Compare: ".view select", Live: "#view button",
};

const event = (id, author, parts, more = {}) => ({
  id, invocationId: "i1", author, timestamp: 1.7e9 + Number(id.slice(1)), content: { role: author === "user" ? "user" : "model", parts }, ...more,
});

/** Texts, and what a person is told on pointing or by a screen reader, that hold such a mark. */
const raw = (source) => {
  const marks = new RegExp(source);
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ALL);
  for (let node = walk.currentNode; node; node = walk.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE && marks.test(node.data)) found.push(`${node.parentElement.className}: ${node.data}`);
    for (const { name, value } of node.attributes ?? []) {
      if (/^(title|aria-label|placeholder)$/.test(name) && marks.test(value)) found.push(`${node.className} ${name}: ${value}`);
    }
  }
  return found;
};

await scenario({ tolerated: ["503"] }, async ({ page, server, shot, tab }) => {
  const base = "/apps/desk/users/user/sessions";
  const call = { id: "c1", name: "pay", args: { [EVIL]: EVIL } };
  const events = [
    event("e1", "user", [{ text: `Find ${EVIL}` }]),
    event("e2", "desk", [{ functionCall: call }]),
    event("e3", "desk", [{ functionResponse: { id: "c1", name: "pay", response: { result: EVIL } } }]),
    event("e4", "desk", [{ text: `Found ${EVIL}` }, { text: EVIL, thought: true }], { actions: { stateDelta: { note: EVIL } } }),
    event("e5", "desk", [], { errorCode: "BAD", errorMessage: EVIL }),
    event("e6", "desk", [], { output: EVIL }),
  ];
  for (const sessionId of ["s1", "s2"]) await server.ask("POST", base, { sessionId, events });
  const span = { invocationId: "i1", start: 1.7e9, end: 1.7e9 + 3, attributes: { "gen_ai.agent.name": EVIL, "gen_ai.tool.name": EVIL } };
  const spans = [
    { ...span, id: "1", name: `invoke_agent ${EVIL}`, operation: "invoke_agent", error: EVIL },
    { ...span, id: "2", parentId: "1", name: `execute_tool ${EVIL}`, operation: "execute_tool", error: EVIL },
    { ...span, id: "3", parentId: "1", name: `chat ${EVIL}`, operation: "chat", contents: [], texts: {} },
  ];
  await page.route(/\/spans(\?|$)/, (route) => route.fulfill({ json: { spans } }));
  await page.route(/\/spans\/3/, (route) => route.fulfill({ json: spans[2] }));
  await page.goto(`${server.url}/page/#app=desk&user=user&session=s1&event=2`);
  await page.reload();
  await page.locator("header.bar").getByText("6 events").waitFor();
  const found = [];
  const check = async (where) => found.push(...(await page.evaluate(raw, MARKS.source)).map((one) => `${where}: ${one}`));
  await check("chat");
  await shot("chat");
  for (const view of Object.keys(SHOWN)) {
    await tab(view).first().click();
    await page.locator(SHOWN[view]).first().waitFor();
    await check(view);
    await shot(view);
  }
  for (const name of ["Event", "Request", "State", "Tokens"]) {
    await page.getByRole("complementary").getByRole("tab", { name, exact: true }).click();
    await page.locator("[role=tabpanel]").last().waitFor();
    await check(name);
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Found");
  await page.locator(".hit.event").first().waitFor();
  await check("finder");
  await shot("finder");
  assert.deepEqual(found, []);
});

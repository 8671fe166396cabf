// What Chromium tells a screen reader: every control has a role and a name, rows say where they are
// among how many, and answers and what waits for approval are read out.

import { assert, scenario } from "../harness.mjs";

// Roles of things that take keys or clicks; anything else that can have focus is a container.
const CONTROLS = new Set([
  "button",
  "checkbox",
  "combobox",
  "DisclosureTriangle",
  "link",
  "option",
  "searchbox",
  "tab",
  "textbox",
]);
const CONTAINERS = new Set(["RootWebArea", "dialog", "feed", "group", "list", "listitem", "main", "MenuListPopup", "tabpanel"]);

await scenario({ tolerated: ["503"] }, async ({ page, shown, context, say, tab, button, menu, quiet }) => {
  const chrome = await context.newCDPSession(page);
  await chrome.send("Accessibility.enable");
  const tree = async () => (await chrome.send("Accessibility.getFullAXTree")).nodes;
  const property = (node, name) => node.properties?.find((one) => one.name === name)?.value.value;
  const attributes = async (node) => {
    const { node: found } = await chrome.send("DOM.describeNode", { backendNodeId: node.backendDOMNodeId });
    const pairs = found.attributes ?? [];
    return Object.fromEntries(pairs.flatMap((name, at) => (at % 2 ? [] : [[name, pairs[at + 1]]])));
  };
  /** All text below a node. */
  const text = (nodes, node) => {
    const children = nodes.filter((one) => one.parentId === node.nodeId);
    return children.map((one) => (one.role?.value === "StaticText" ? one.name.value : text(nodes, one))).join("");
  };

  let looked = 0;
  /** Every control has a role and a name; every row of a long list says where it is. */
  const check = async (where) => {
    const nodes = await tree();
    let controls = 0;
    for (const node of nodes.filter((one) => !one.ignored)) {
      const role = node.role.value;
      const name = node.name?.value.trim() ?? "";
      if (CONTROLS.has(role)) {
        controls += 1;
        assert.ok(name, `${where}: a ${role} has no name: ${JSON.stringify(await attributes(node))}`);
      } else if (property(node, "focusable")) {
        assert.ok(CONTAINERS.has(role), `${where}: ${role} ${name} can have focus, and is no control`);
        if (role !== "listitem") assert.ok(name, `${where}: a ${role} with focus has no name`);
      }
    }
    assert.ok(controls >= 5, `${where}: ${controls} controls`);
    const lists = nodes.filter((one) => ["feed", "list"].includes(one.role?.value) && one.name?.value);
    for (const list of lists) {
      const all = await attributes(list);
      if (!all.class?.split(" ").includes("list")) continue; // a plain list counts for itself
      const wanted = list.role.value === "feed" ? "article" : "listitem";
      const below = nodes.filter((one) => one.role?.value === wanted && isIn(nodes, one, list));
      assert.ok(below.length, `${where}: ${list.name.value} has no ${wanted}`);
      let last = 0;
      for (const row of below) {
        const { "aria-posinset": place, "aria-setsize": size } = await attributes(row);
        assert.ok(Number(place) >= last && Number(place) <= Number(size), `${where}: ${place} of ${size}`);
        if (wanted === "listitem") assert.equal(Number(place), last + 1);
        last = Number(place);
      }
      looked += below.length;
    }
  };
  const isIn = (nodes, node, outer) => {
    const byId = new Map(nodes.map((one) => [one.nodeId, one]));
    for (let at = node; at; at = byId.get(at.parentId)) if (at === outer) return true;
    return false;
  };
  /** Wait until the live region says this. */
  const readOut = async (wanted) => {
    await page.locator("[role=status]").getByText(wanted).waitFor({ state: "attached" });
    let nodes = await tree();
    const status = () => nodes.find((one) => one.role?.value === "status");
    for (let tries = 0; !status() && tries < 50; tries++) nodes = await tree(); // Chromium is behind
    const region = status();
    assert.equal(property(region, "live"), "polite");
    assert.match(text(nodes, region), wanted);
  };

  await shown("Write a message to begin", { exact: false }).waitFor();
  await check("start");
  await say("hello");
  await readOut(/^desk: You said: hello/);
  await quiet(2);
  await say("draw it");
  await readOut(/^desk: draw gave/);
  await say("wire it");
  await button("Approve").waitFor();
  await readOut(/^wire_money asks for approval$/);
  await check("chat");
  await button("Edit arguments").click();
  await check("edited arguments");
  await button("Back").click();
  await page.getByLabel("More for event 1", { exact: true }).click();
  await check("menu");
  await page.keyboard.press("Escape");
  await menu("event 1", "Edit and run again");
  await check("edited message");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();

  await tab("Timeline").click();
  await page.locator("button.event").nth(3).click();
  await page.locator("button.bar-row").first().waitFor();
  for (const name of ["Event", "Request", "State", "Tokens"]) {
    await page.getByRole("complementary", { name: "Selected event" }).getByRole("tab", { name }).click();
    await check(`timeline, ${name}`);
  }
  await button("Close details").click();
  for (const name of ["Agents", "State", "Artifacts"]) {
    await tab(name).click();
    await check(name);
  }
  await page.getByRole("button", { name: "square.png" }).click();
  await page.getByRole("img", { name: "square.png" }).waitFor();
  await check("an artifact");
  await button("Waiting 1").click();
  await check("inbox");
  await button("Reject").locator("visible=true").last().click();
  await readOut(/^desk: /);

  await button("New session").click();
  await quiet(0);
  await menu(await page.locator(".sessions .name").last().textContent(), "Compare");
  await page.getByRole("feed", { name: "Two sessions side by side" }).waitFor();
  await check("compare");
  assert.ok(looked > 40, `${looked} rows were looked at`);

  // What goes wrong is read out at once.
  await page.getByLabel("Agent", { exact: true }).selectOption("broken");
  const nodes = await tree();
  const alert = nodes.find((one) => one.role?.value === "alert");
  assert.equal(property(alert, "live"), "assertive");
  await page.getByRole("alert").getByText("never closed", { exact: false }).waitFor();
  await check("a problem");
});

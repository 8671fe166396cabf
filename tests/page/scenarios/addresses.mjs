// Every screen has an address: a reload, a copied link, and back and forward show the same, whatever
// letters the session's id and the user's name have; with `ostinato web`, and `serve` of the built page.

import { fileURLToPath } from "node:url";
import { assert, becomes, scenario } from "../harness.mjs";

const BUILT = fileURLToPath(new URL("../../../src/ostinato/server/page", import.meta.url));
const USER = "ann+b&c=d é";
const ODD = "a?b:c#d&e=f%20+g é漢😀 'q'\"<i>";
const WAYS = [
  { command: "web", home: "/page/" },
  { command: "serve", home: "/dev-ui/", server: ["--ui-dir", BUILT] },
];

for (const { command, home, server: more } of WAYS) {
  await scenario({ command, home, server: more, tolerated: ["503", "404"] }, async ({ page, server, context, shot, tab, button, quiet, box }) => {
    const enc = encodeURIComponent;
    const sessions = `/apps/desk/users/${enc(USER)}/sessions`;
    for (const [id, text] of [["plain", "What is the weather?"], [ODD, "What is the weather?"], [ODD, "wire it"]]) {
      if (text !== "wire it") await server.ask("POST", `${sessions}/${enc(id)}`);
      await server.ask("POST", "/run", {
        appName: "desk", userId: USER, sessionId: id, newMessage: { role: "user", parts: [{ text }] },
      });
    }
    const { events } = await server.ask("GET", `${sessions}/${enc(ODD)}`);
    const address = (rest) => `${server.url}${home}#${new URLSearchParams({ app: "desk", user: USER, ...rest })}`;
    const details = page.getByRole("complementary", { name: "Selected event" });
    const finder = page.getByRole("dialog", { name: "Find" });
    const inbox = page.getByRole("dialog", { name: "Waiting for you" });
    const selected = (where, name) => where.getByRole("tab", { name, exact: true, selected: true }).waitFor();
    const found = (where) => where.getByRole("dialog", { name: "Find" });

    /** The screens: how a person gets there, and what must be seen, on whatever page. */
    const screens = {
      chat: [() => page.locator(".sessions .entry").first().click(),
        (one) => one.getByRole("article", { name: /, event 6$/ }).waitFor()],
      timeline: [() => tab("Timeline").click(), (one) => selected(one, "Timeline")],
      event: [() => page.locator("button.event").nth(1).click(),
        (one) => one.locator("button.event[aria-pressed=true]").getByText("lookup", { exact: false }).first().waitFor()],
      request: [() => details.getByRole("tab", { name: "Request" }).click(),
        (one) => selected(one.getByRole("complementary", { name: "Selected event" }), "Request")],
      graph: [async () => { await button("Close details").click(); await tab("Agents").click(); },
        (one) => one.getByRole("group", { name: "Graph of the app" }).waitFor()],
      state: [async () => { await tab("State").click(); await page.getByLabel("Show what changed").check(); },
        (one) => becomes(() => one.getByLabel("Show what changed").isChecked(), true)],
      effects: [async () => { await tab("Effects").click(); await page.getByLabel("Tool").fill("lookup"); },
        (one) => becomes(() => one.getByLabel("Tool").inputValue(), "lookup")],
      artifacts: [() => tab("Artifacts").click(), (one) => selected(one, "Artifacts")],
      live: [() => tab("Live").click(), (one) => selected(one, "Live")],
      compare: [async () => {
        await tab("Compare").click();
        await page.getByLabel("Compare with").selectOption("plain");
        await page.getByLabel("only differences").check();
      }, async (one) => {
        await one.getByText("only in this session", { exact: false }).waitFor();
        await becomes(() => one.getByLabel("only differences").isChecked(), true);
      }],
      ledger: [() => button("Effects").click(), (one) => one.getByRole("heading", { name: "What the tools of desk did" }).waitFor()],
      evaluation: [() => button("Evaluation").click(), (one) => one.getByRole("heading", { name: "Evaluation of desk" }).waitFor()],
      results: [() => tab("Results").click(), (one) => selected(one, "Results")],
      replay: [() => tab("Replay").click(), (one) => selected(one, "Replay")],
      inbox: [() => page.getByRole("button", { name: /^Waiting/ }).click(),
        (one) => one.getByRole("dialog", { name: "Waiting for you" }).getByText("wire_money").first().waitFor()],
      finder: [async () => {
        await inbox.getByLabel("Close").click();
        await page.keyboard.press("Control+k");
        await finder.getByRole("combobox", { name: /^Find sessions/ }).fill("weather");
        await finder.getByLabel("Tool that was called").selectOption("wire_money");
        await finder.getByLabel("all users").check();
      }, async (one) => {
        await becomes(() => found(one).getByRole("combobox", { name: /^Find sessions/ }).inputValue(), "weather");
        await becomes(() => found(one).getByLabel("Tool that was called").inputValue(), "wire_money");
        await becomes(() => found(one).getByLabel("all users").isChecked(), true);
      }],
    };

    // There, one after the other; each is told by the address.
    await page.goto("about:blank");
    await page.goto(address({}));
    const known = new Map();
    let before = "";
    for (const [name, [go, seen]] of Object.entries(screens)) {
      await go();
      await seen(page);
      await becomes(() => Promise.resolve(page.url() !== before), true);
      if (name === "effects" || name === "finder") {
        await becomes(() => Promise.resolve(page.url()), name === "effects" ? /tool=lookup/ : /q=weather&q\.tool=wire_money&q\.everyone=yes/);
      }
      known.set(name, (before = page.url()));
    }
    assert.equal(new URLSearchParams(new URL(known.get("chat")).hash.slice(1)).get("session"), ODD);
    assert.equal(new Set(known.values()).size, known.size);

    // A reload, and the link in a browser that knows nothing.
    const other = await context.newPage();
    for (const [name, [, seen]] of Object.entries(screens)) {
      await other.goto("about:blank");
      await other.goto(known.get(name));
      await seen(other);
      await becomes(() => Promise.resolve(other.url()), known.get(name));
      await other.reload();
      await seen(other);
      await becomes(() => Promise.resolve(other.url()), known.get(name));
    }
    await other.close();

    // Back through what was seen, and forward again.
    const path = [known.get("finder")];
    while (path[0] !== known.get("chat")) {
      await page.goBack();
      await becomes(() => Promise.resolve(page.url() !== path[0]), true);
      path.unshift(page.url());
      const here = [...known].find(([, url]) => url === path[0]);
      if (here) await screens[here[0]][1](page);
    }
    for (const name of known.keys()) assert.ok(path.includes(known.get(name)), `back did not lead to ${name}`);
    await page.goForward();
    await screens.timeline[1](page);
    await page.goBack();
    await page.goBack();
    await page.getByText("Write a message to begin", { exact: false }).waitFor();

    // Other sessions, another agent, and what is not there.
    await page.goForward();
    await quiet(events.length);
    await page.locator(".sessions .entry").nth(1).click();
    await quiet(4);
    await page.goBack();
    await quiet(events.length);
    await page.getByLabel("Agent", { exact: true }).selectOption("gallery");
    await page.getByRole("heading", { name: "gallery" }).waitFor();
    await page.goBack();
    await quiet(events.length);
    await box.waitFor();
    await page.goto(address({ session: "never", view: "nonsense" }));
    await page.locator(".problem").getByText("not found", { exact: false }).first().waitFor();
    await page.goto(address({ session: ODD, event: "2", view: "timeline" }));
    await screens.event[1](page);
    await shot(command);
  });
}

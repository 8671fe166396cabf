// Hostile texts in every field that a model, a tool, a user, a file or an agent can fill: none runs,
// and the page neither asks anybody for anything nor has to be saved by its policy.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, becomes, scenario } from "../harness.mjs";
import { PAYLOADS } from "../payloads.mjs";

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.__ran=1"><script>window.__ran=1</script></svg>`;
const b64 = (text) => Buffer.from(text).toString("base64");

const flat = (text) => text.replace(/\s+/g, " "); // names have no line breaks

/** An event whose every field holds a text. */
const event = (text, number) => ({
  id: `e${number}`,
  invocationId: `i${number}`,
  author: number % 3 ? `agent ${flat(text)}`.slice(0, 200) : "user",
  branch: `a@${flat(text)}`.slice(0, 100),
  nodeInfo: { path: `flow@1/${flat(text).slice(0, 150)}` },
  timestamp: 1.7e9 + number,
  content: {
    role: "model",
    parts: [
      { text },
      { text, thought: true },
      { functionCall: { id: `c${number}`, name: flat(text).slice(0, 120), args: { [text]: text, deep: [{ [text]: text }] } } },
      { functionResponse: { id: `c${number}`, name: flat(text).slice(0, 120), response: { error: text, [text]: { [text]: text } } } },
      { executableCode: { code: text, language: "PYTHON" } },
      { codeExecutionResult: { output: text, outcome: "OUTCOME_OK" } },
      { inlineData: { mimeType: "image/svg+xml", data: b64(SVG), displayName: flat(text).slice(0, 200) } },
      { inlineData: { mimeType: "text/html", data: b64(text), displayName: flat(text).slice(0, 200) } },
      { fileData: { fileUri: `javascript:window.__ran=1//${text}`, mimeType: "text/html" } },
    ],
  },
  errorCode: flat(text).slice(0, 200),
  errorMessage: text,
  modelVersion: flat(text).slice(0, 200),
  output: { [text]: text },
  actions: { stateDelta: { [flat(text).slice(0, 200)]: text }, transferToAgent: flat(text).slice(0, 200) },
});

/** Elements and attributes that could run something. */
const dangers = () =>
  [...document.querySelectorAll("*")].flatMap((one) => {
    const found = [];
    const code = one.localName === "script" && !one.src.startsWith(location.origin);
    if (code || /^(iframe|object|embed|base|style|math|animate|form\[action\])$/.test(one.localName)) {
      found.push(one.localName);
    }
    for (const { name, value } of one.attributes) {
      if (/^on/i.test(name) || (/^(href|src|action|xlink:href)$/.test(name) && /^\s*(javascript|vbscript|data:text\/html)/i.test(value) && !one.hasAttribute("download"))) {
        found.push(`${one.localName} ${name}`);
      }
    }
    return found;
  });

await scenario(
  {
    tolerated: ["503"],
    before: (server) => {
      const folder = join(server.agents, "evil");
      mkdirSync(folder);
      const text = JSON.stringify(PAYLOADS[2]);
      writeFileSync(
        join(folder, "agent.py"),
        [
          "from ostinato.agents import Agent",
          "from ostinato.apps import App",
          `root_agent = Agent(name='evil', model='offline', description=${text}, instruction=${text})`,
          `app = App(name='evil', root_agent=root_agent, examples=[${text}])`,
        ].join("\n"),
      );
      writeFileSync(join(server.agents, "broken", "agent.py"), `x = ${text}\nraise ValueError(x)\n`);
    },
  },
  async ({ page, server, tab, shot }) => {
    assert.ok(PAYLOADS.length >= 200, `${PAYLOADS.length} payloads`);
    let dialogs = 0;
    page.on("dialog", (dialog) => void (dialogs++, dialog.dismiss()));
    const check = async (where) => {
      assert.deepEqual(await page.evaluate(dangers), [], where);
      assert.equal(await page.evaluate(() => window.__ran), undefined, where);
    };
    await page.getByRole("heading", { name: /cannot be loaded/ }).waitFor();
    await page.getByLabel("Agent", { exact: true }).selectOption("evil");
    await page.locator(".examples button").waitFor();
    await check("start");
    await shot("start");
    await page.getByLabel("Agent", { exact: true }).selectOption("gallery");

    const base = "/apps/gallery/users/user/sessions";
    const events = PAYLOADS.map((text, at) => event(text, at + 1));
    for (let at = 0; at < events.length; at += 40) {
      const some = events.slice(at, at + 40);
      await server.ask("POST", base, {
        sessionId: `s${at}`,
        state: { __session_metadata__: { displayName: PAYLOADS[at] }, [flat(PAYLOADS[at + 1]).slice(0, 200)]: PAYLOADS[at + 2] },
        events: some,
      });
      const { newest } = await server.ask("GET", `${base}/s${at}/events?limit=1`); // open calls are closed
      await page.goto(`${server.url}/page/#app=gallery&user=user&session=s${at}`);
      await page.reload();
      await page.locator("header.bar").getByText(`${newest} events`).waitFor();
      // Everything that folds is opened, from the first event to the last.
      const list = page.locator(".list").first();
      for (let number = 1; number <= some.length; number += 2) {
        await page.goto(`${server.url}/page/#app=gallery&user=user&session=s${at}&event=${number}`);
        await page.getByRole("article", { name: new RegExp(`, event ${number}$`) }).waitFor();
        await list.evaluate((box) => box.querySelectorAll("details:not(.menu)").forEach((one) => (one.open = true)));
        await becomes(() => list.locator(".tree .fold").count().then((found) => found > 0), true);
        await check(`event ${number} of s${at}`);
      }
      for (const name of ["Event", "Request", "State", "Tokens"]) {
        await page.getByRole("tab", { name, exact: true }).last().click();
        await check(`${name} of s${at}`);
      }
      for (const name of ["Timeline", "Agents", "State", "Artifacts", "Chat"]) {
        await tab(name).first().click();
        await check(`${name} of s${at}`);
      }
    }
    await shot("chat");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("window");
    await page.locator(".hit.event").first().waitFor();
    await check("finder");
    await shot("finder");
    await page.keyboard.press("Escape");

    // Said by a person, and repeated by a model.
    const box = page.getByRole("textbox", { name: /^Message to/ });
    await page.getByRole("button", { name: "New session", exact: true }).click();
    await page.locator("header.bar").getByText("0 events").waitFor();
    for (const [at, text] of PAYLOADS.filter((_, at) => at % 12 === 0).entries()) {
      await box.fill(`Echo ${text}`);
      await box.press("Enter");
      await page.locator("header.bar").getByText(`${2 * at + 2} events`, { exact: true }).waitFor();
      await check(`said ${text}`);
    }
    assert.equal(dialogs, 0);
  },
);

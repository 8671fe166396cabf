// Hostile texts in every field that a model, a tool, a user, a file or an agent can fill: none runs,
// and the page neither asks anybody for anything nor has to be saved by its policy.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, becomes, scenario } from "../harness.mjs";
import { PAYLOADS } from "../payloads.mjs";

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.__ran=1"><script>window.__ran=1</script></svg>`;
const b64 = (text) => Buffer.from(text).toString("base64");

const flat = (text) => text.replace(/\s+/g, " "); // names have no line breaks

/** A request for a credential whose consent lies at an address that could run something. */
const credential = (text, number) => ({
  functionCallId: `c${number}`,
  authConfig: {
    authScheme: { type: "oauth2", name: text, in: text, scheme: text },
    credentialKey: text,
    exchangedAuthCredential: { authType: "oauth2", oauth2: { authUri: `javascript:window.__ran=1//${text}`, redirectUri: text } },
  },
});

/** A report of a replay whose every field holds a text. */
const report = (texts) => ({
  format: 1,
  agent: texts[0],
  skipped: { [texts[1]]: 1 },
  invocations: texts.map((text) => ({
    app_name: text, user_id: text, session_id: text, invocation_id: text, message: text, outcome: "calls",
    change: { step: 1, expected: [[text, { [text]: text }]], actual: [[text, { [text]: [text] }]] },
    recorded: { answer: text }, new: { answer: `${text} ${text}`, error: text },
  })),
});

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
      { functionCall: { id: `q${number}`, name: "adk_request_credential", args: credential(text, number) } },
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
  customMetadata: {
    policy: { [`c${number}`]: { verdict: flat(text), rule: text, by: "person" } },
    guardrail: { name: text, of: text, stage: text, tripwire: true, info: { [text]: text } },
  },
  output: { [text]: text },
  actions: { stateDelta: { [flat(text).slice(0, 200)]: text }, transferToAgent: flat(text).slice(0, 200) },
});

/** Elements and attributes that could run something; in formulas, all that does not belong there. */
const dangers = () =>
  [...document.querySelectorAll("*")].flatMap((one) => {
    const found = [];
    if (one.closest(".formula math")) {
      if (one.namespaceURI !== "http://www.w3.org/1998/Math/MathML") return [`${one.localName} in a formula`];
      if (!/^(math|m(row|i|n|o|text|space|s|frac|sqrt|root|sub|sup|subsup|under|over|underover|multiscripts|prescripts|table|tr|td|padded|phantom|style|enclose)|none)$/.test(one.localName)) {
        found.push(`${one.localName} in a formula`);
      }
      for (const { name } of one.attributes) {
        if (/^(on.*|href|src|style|id|action.*|xlink:.*)$/i.test(name)) found.push(`${one.localName} ${name} in a formula`);
      }
      return found;
    }
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
    let [dialogs, formulas] = [0, 0];
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
        formulas += await list.locator(".formula math").count();
      }
      for (const name of ["Event", "Request", "State", "Tokens"]) {
        await page.getByRole("tab", { name, exact: true }).last().click();
        await check(`${name} of s${at}`);
      }
      for (const name of ["Timeline", "Agents", "State", "Artifacts", "Effects", "Chat"]) {
        await tab(name).first().click();
        await check(`${name} of s${at}`);
      }
    }
    assert.ok(formulas > 10, `${formulas} formulas were drawn`);
    await shot("chat");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("window");
    await page.locator(".hit.event").first().waitFor();
    await check("finder");
    await shot("finder");
    await page.keyboard.press("Escape");

    // Cases made of such turns, and a report of a replay.
    await server.ask("POST", "/dev/apps/gallery/eval_sets/evil");
    for (const at of [0, 160, 320]) {
      const turns = PAYLOADS.slice(at, at + 20).flatMap((text, n) => [
        { id: `u${n}`, invocationId: `i${n}`, author: "user", timestamp: 1.7e9 + 2 * n, content: { role: "user", parts: [{ text }] } },
        {
          id: `a${n}`, invocationId: `i${n}`, author: "gallery", timestamp: 1.7e9 + 2 * n + 1,
          content: { role: "model", parts: [{ functionCall: { id: `f${n}`, name: flat(text).slice(0, 120), args: { [text]: text } } }] },
        },
        { id: `b${n}`, invocationId: `i${n}`, author: "gallery", timestamp: 1.7e9 + 2 * n + 1.5, content: { role: "model", parts: [{ text }] } },
      ]);
      await server.ask("POST", base, { sessionId: `turns${at}`, events: turns });
      await server.ask("POST", "/dev/apps/gallery/eval-sets/evil/add-session", { evalId: `case${at}`, sessionId: `turns${at}`, userId: "user" });
    }
    await page.getByRole("button", { name: "Evaluation", exact: true }).click();
    const cases = page.getByRole("list", { name: "Cases", exact: true });
    await cases.locator("summary").nth(2).waitFor();
    await cases.evaluate((list) => list.querySelectorAll("details").forEach((one) => (one.open = true)));
    await check("cases");
    await page.getByRole("button", { name: "Run all 3" }).click();
    const outcomes = page.getByRole("list", { name: "Cases of the result" });
    await outcomes.locator("summary").nth(2).waitFor();
    await outcomes.evaluate((list) => list.querySelectorAll("details").forEach((one) => (one.open = true)));
    await check("results");
    await page.getByRole("tab", { name: "Replay" }).click();
    const texts = PAYLOADS.filter((_, at) => at % 9 === 0);
    const file = { name: "report.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(report(texts))) };
    await page.locator("main input[type=file]").setInputFiles(file);
    const replayed = page.getByRole("list", { name: "Replayed invocations" });
    await replayed.locator("summary").first().waitFor();
    await replayed.evaluate((list) => list.querySelectorAll("details").forEach((one) => (one.open = true)));
    await check("replay");
    await shot("replay");
    await page.getByRole("button", { name: "Back to the session" }).click();

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

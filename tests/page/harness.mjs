// What the scenarios stand on: a server of ours in a process, and a page of Chromium at it.
// A scenario is a program: `node scenarios/NAME.mjs`; it ends with 0 where all holds.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const HERE = dirname(fileURLToPath(import.meta.url));
const PYTHON = process.env.OSTINATO_TEST_PYTHON;
const CHROMIUM = process.env.OSTINATO_TEST_CHROMIUM;
const SHOTS = process.env.OSTINATO_TEST_SHOTS;
const SLOW = Number(process.env.OSTINATO_TEST_PATIENCE ?? 120_000); // milliseconds after which something that should happen counts as missing

/** The files of one scenario, and the server over them. */
export class Server {
  constructor(folder, options, command = "web") {
    this.folder = folder;
    this.agents = join(folder, "agents");
    this.db = join(folder, "data", "sessions.db");
    this.options = options;
    this.command = command;
    this.port = 0;
  }

  async start() {
    this.process = spawn(
      PYTHON,
      ["-m", "ostinato", this.command, this.agents, "--db", this.db, "--port", String(this.port),
        "--grace", "0", ...this.options],
      {
        env: { ...process.env, OSTINATO_TEST_GATE: this.gate },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    this.gone = new Promise((done) => this.process.once("exit", done));
    for await (const line of createInterface({ input: this.process.stdout })) {
      const found = /Serving on (http:\/\/[^/]+:(\d+).*)/.exec(line);
      if (!found) continue;
      this.port = Number(found[2]);
      this.url = found[1];
      return;
    }
    throw new Error("The server ended before it served.");
  }

  async stop() {
    this.process.kill("SIGTERM");
    await this.gone;
  }

  get gate() {
    return join(this.folder, "gate");
  }

  open() {
    writeFileSync(this.gate, "");
  }

  shut() {
    rmSync(this.gate, { force: true });
  }

  /** Ask the server as a program does. */
  async ask(method, path, body) {
    const response = await fetch(this.url + path, {
      method,
      headers: body ? { "Content-Type": "application/json" } : {},
      body: body && JSON.stringify(body),
    });
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${await response.clone().text()}`);
    return response.json();
  }
}

/**
 * Run a scenario; end the process with 1 where it fails.
 *
 * options: `server`, more options of `ostinato web`, or of another `command`; `before`, done with the folder before the
 * server starts; `home`, the path to open; `args`, `scheme`, `viewport` of the browser;
 * `tolerated`, texts of console errors that belong to the scenario; `foreign`, for a page of
 * somebody else's, which may ask other machines and gets no answer.
 */
export async function scenario(options, steps) {
  const name = basename(process.argv[1], ".mjs");
  const folder = mkdtempSync(join(tmpdir(), "ostinato-page-"));
  const server = new Server(folder, options.server ?? [], options.command);
  cpSync(join(HERE, "agents"), server.agents, { recursive: true });
  mkdirSync(join(server.agents, "broken"));
  writeFileSync(join(server.agents, "broken", "agent.py"), "root_agent = (\n");
  let browser;
  let failed;
  let page;
  try {
    await options.before?.(server);
    await server.start();
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", ...(options.args ?? [])],
    });
    const context = await browser.newContext({
      viewport: options.viewport ?? { width: 1400, height: 860 },
      colorScheme: options.scheme ?? "light",
    });
    context.setDefaultTimeout(SLOW);
    const complaints = [];
    context.on("page", (one) => listen(one, server, complaints, options));
    if (options.foreign) await context.route((url) => url.origin !== server.url, (route) => route.abort());
    page = await context.newPage();
    await page.goto(server.url + (options.home ?? "/page/"));
    const shot = (what) => page.screenshot({ path: join(SHOTS, `${name}-${what}.png`) });
    await steps({ page, server, context, shot, ...helpers(page) });
    assert.deepEqual(complaints, []);
  } catch (error) {
    failed = error;
    await page?.screenshot({ path: join(SHOTS, `${name}-FAILED.png`) }).catch(() => undefined);
  } finally {
    await browser?.close();
    if (server.process) {
      server.process.kill("SIGKILL");
      await server.gone;
    }
    rmSync(folder, { recursive: true, force: true });
  }
  if (failed) {
    console.error(failed);
    process.exit(1);
  }
}

/** Note what the page complains about, and what it asks other machines for. */
function listen(page, server, complaints, { tolerated = [], foreign = false }) {
  const note = (text) => tolerated.some((one) => text.includes(one)) || complaints.push(text);
  page.on("console", (m) => m.type() === "error" && note(`${m.text()} ${m.location().url}`));
  page.on("pageerror", (error) => note(`uncaught: ${error.stack}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!foreign && !url.startsWith(server.url) && !/^(data|blob):/.test(url)) note(`asked ${url}`);
  });
}

function helpers(page) {
  const box = page.getByRole("textbox", { name: /^Message to/ });
  return {
    box,
    /** What can be seen of a text: answers are in the region for screen readers, too. */
    shown: (text, options) => page.locator(".page > :not(.unseen)").getByText(text, options),
    button: (name) => page.getByRole("button", { name, exact: true }),
    tab: (name) => page.getByRole("tab", { name, exact: true }),
    event: (number) => page.getByRole("article", { name: new RegExp(`, event ${number}$`) }),
    /** Send a message. */
    say: async (text) => {
      await box.fill(text);
      await box.press("Enter");
    },
    /** Wait until nothing runs, with this many events in the session. */
    quiet: (count) => page.locator("header.bar").getByText(`${count} events`, { exact: true }).waitFor(),
    /** Choose an entry of the menu that belongs to something. */
    menu: async (of, entry) => {
      await page.getByLabel(`More for ${of}`, { exact: true }).click();
      await page.getByRole("button", { name: entry, exact: true }).locator("visible=true").click();
    },
    sessionIds: () => page.locator(".sessions .entry").count(),
  };
}

/** Wait until what is asked for is as wanted: deeply equal, or matching where that is a RegExp. */
export async function becomes(ask, wanted) {
  const end = Date.now() + SLOW;
  for (;;) {
    const found = await ask();
    try {
      if (wanted instanceof RegExp) assert.match(found, wanted);
      else assert.deepEqual(found, wanted);
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((goOn) => setTimeout(goOn, 50));
  }
}

export { assert };

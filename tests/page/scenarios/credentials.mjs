// A call that waits for a credential is answered once from the page, in the chat or in the inbox;
// the secret is in no storage of the browser, no log and no event. A person may refuse it, once.

import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { assert, becomes, scenario } from "../harness.mjs";

const home = "/page/#app=vault&user=ann";
const SECRETS = ["sk-secret-key-0123", "secret-token-45678", "secret-pass-999", "secret-access-7"];

await scenario({ tolerated: ["503", "400 (Bad Request)", "409 (Conflict)"], home }, async ({ page, server, shown, shot, say, button, quiet }) => {
  const sent = [];
  page.on("request", (one) => {
    if (one.method() === "POST" && one.url().includes("/approvals/")) sent.push(one.postDataJSON());
  });
  const asks = page.getByRole("group", { name: "Credential for fetch_news" });
  const give = (where) => where.getByRole("button", { name: "Give the credential" });

  // A key, in the chat; nothing is sent without it, and twice sends once.
  await say("key");
  await asks.getByText("fetch_news asks for an API key (header X-Key)").waitFor();
  await give(asks).click();
  await asks.getByText("The key is needed.").waitFor();
  const field = asks.getByLabel("API key");
  assert.equal(await field.getAttribute("type"), "password");
  await field.fill(SECRETS[0]);
  await shot("key");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("key-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await give(asks).evaluate((one) => {
    one.click();
    one.click();
  });
  await shown(`'length': ${SECRETS[0].length}`, { exact: false }).waitFor();
  assert.deepEqual(sent, [{ action: "credential", credential: { authType: "apiKey", apiKey: SECRETS[0] } }]);
  await shown("credential given", { exact: true }).first().waitFor();
  await asks.getByText("asked for", { exact: false }).waitFor();
  await becomes(() => give(page).count(), 0);
  await shot("given");

  // A name and a password, in the inbox.
  await button("New session").click();
  await quiet(0);
  await say("password");
  await give(asks).waitFor();
  await page.getByRole("button", { name: /^Waiting/ }).click();
  const inbox = page.getByRole("dialog", { name: "Waiting for you" });
  await inbox.getByText("1 credential").waitFor();
  await inbox.getByLabel("Name").fill("ann");
  await inbox.getByLabel("Password").fill(SECRETS[2]);
  await shot("inbox");
  await give(inbox).click();
  await shown(`'length': ${SECRETS[2].length}`, { exact: false }).waitFor();

  // A token; and consent elsewhere, or an access token in its place.
  await button("New session").click();
  await quiet(0);
  await say("token");
  await asks.getByLabel("Token").fill(SECRETS[1]);
  await give(asks).click();
  await shown(`'length': ${SECRETS[1].length}`, { exact: false }).waitFor();
  await button("New session").click();
  await quiet(0);
  await say("login");
  const link = asks.getByRole("link", { name: "Consent at login.test" });
  assert.match(await link.getAttribute("href"), /^https:\/\/login\.test\/authorize\?.*client_id=me/);
  assert.equal(await link.getAttribute("rel"), "noopener noreferrer");
  await asks.getByLabel("The whole address", { exact: false }).fill("nonsense");
  await give(asks).click();
  await asks.getByText("That is no address.", { exact: false }).waitFor();
  await shot("consent");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("consent-dark");
  await asks.getByText("An access token instead").click();
  await asks.getByLabel("Access token").fill(SECRETS[3]);
  await give(asks).click();
  await shown(`'length': ${SECRETS[3].length}`, { exact: false }).waitFor();

  // Refused, once: the model reads it, and another page shows what became of it.
  await button("New session").click();
  await quiet(0);
  await say("key");
  await give(asks).waitFor();
  const other = await page.context().newPage();
  await other.goto(page.url());
  const asksThere = other.getByRole("group", { name: "Credential for fetch_news" });
  await give(asksThere).waitFor();
  const before = sent.length;
  await asks.getByRole("button", { name: "Refuse" }).evaluate((one) => {
    one.click();
    one.click();
  });
  await shown("The user refused to give the credential", { exact: false }).first().waitFor();
  await shown("credential refused", { exact: true }).first().waitFor();
  assert.deepEqual(sent.slice(before), [{ action: "reject" }]);
  await shot("refused");
  await becomes(() => give(other).count(), 0);
  await other.close();
  const { approvals } = await server.ask("GET", "/apps/vault/approvals");
  assert.deepEqual(approvals, []);
  await page.getByRole("button", { name: /^Waiting/ }).click();
  await inbox.getByText("Decided in this session: 1").click();
  await inbox.getByText("credential refused").waitFor();
  await inbox.getByLabel("Close").click();

  // No secret is left: in the browser's storage, in the document, or in a file of the server.
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.body.outerHTML]));
  const folder = dirname(server.db);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), "latin1"));
  assert.ok(files.length > 0);
  for (const secret of [...SECRETS, "hush"]) {
    assert.ok(!stored.includes(secret), `the browser keeps ${secret}`);
    assert.ok(!files.some((one) => one.includes(secret)), `the server keeps ${secret}`);
  }
});

// What a card tells and asks: all of a long argument, a form for any of them with errors at their
// fields, and a turn that was refused, was stopped, or has nothing to say.

import { assert, becomes, scenario } from "../harness.mjs";

const tolerated = ["400 (Bad Request)", "ERR_", "503"];
const ORDER = {
  day: "2026-12-01", zip: "12345", items: [{ sku: "A", qty: 2 }, { sku: "B", qty: 1 }], pay: { kind: "card", number: "4111" },
};

await scenario({ tolerated, home: "/page/#app=shop&user=user" }, async ({ page, context, server, shown, shot, say, tab, button, quiet, event }) => {
  const fresh = async () => (await button("New session").click(), await quiet(0));
  await page.locator(".about strong").getByText("everything").waitFor(); // the description is Markdown

  // Beginning and end of a long value are in sight, and what is hidden is said beside the buttons.
  await say(`delete_file ${JSON.stringify({ path: `/safe/${"a/b c ".repeat(400)}/etc/passwd` })}`);
  const asks = page.getByRole("group", { name: "Approve delete_file" });
  await asks.getByText("The middle of path is hidden: 1,917 of 2,417 characters.").waitFor();
  for (const [width, height, colorScheme] of [[1400, 860, "light"], [390, 844, "dark"]]) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    const value = asks.locator("dd");
    assert.match(await value.innerText(), /^\/safe[^]*characters hidden[^]*\/etc\/passwd$/);
    assert.deepEqual(await value.evaluate((one) => [one.scrollHeight - one.clientHeight, getComputedStyle(one).overflowY]), [0, "visible"]);
    const box = await asks.boundingBox();
    assert.ok(box.height < height - 150, `the card is ${box.height} high`);
    await shot(`long-${width}`);
  }
  await button("Show everything").focus();
  await page.keyboard.press("Enter");
  await becomes(async () => (await asks.locator("dd").innerText()).length, 2417);
  await button("Show less").click();
  await page.setViewportSize({ width: 1400, height: 860 });
  await page.emulateMedia({ colorScheme: "light" });

  // A rejection is no failure; the agent's end is not drawn.
  await button("Reject").click();
  await shown("did not run", { exact: true }).waitFor();
  assert.equal(await page.locator(".call.failed").count(), 0);
  await quiet(8);
  assert.equal(await event(8).count(), 0);
  await tab("Timeline").click();
  await page.getByText("shop has ended").waitFor();
  await tab("Chat").click();

  // The form keeps what is not changed, tells all problems at once, and those of the server at their fields.
  await fresh();
  await say(`place_order ${JSON.stringify({ order: ORDER })}`);
  await button("Edit arguments").click();
  const form = page.locator(".decision form");
  const at = (path) => form.locator(`[data-path="answer.order.${path}"]`);
  await at("day").fill("tomorrow");
  await at("zip").fill("12");
  await at("items.0.qty").fill("0");
  await button("Approve with these").click();
  await becomes(() => form.locator(".error").allInnerTexts(), [
    "A date is written YYYY-MM-DD.", "This has to fit the pattern ^\\d{5}$.", "At least 1.",
  ]);
  const inSight = (path) => at(path).evaluate((one) => {
    const [box, list] = [one.getBoundingClientRect(), one.closest(".list").getBoundingClientRect()];
    return one === document.activeElement && box.top >= list.top && box.bottom <= list.bottom;
  });
  await becomes(() => inSight("day"), true);
  await shot("problems");
  await at("day").fill("2027-01-31");
  await at("zip").fill("54321");
  await at("items.0.qty").fill("3");
  await button("Remove item 2").click();
  await form.getByLabel("Kind of pay").selectOption("bank");
  await form.getByLabel("iban").fill("DE1");
  await form.getByLabel("Kind of note").selectOption("whole number");
  await at("note.1").fill("12345678901234567890");
  await button("Add entry").click();
  await form.getByLabel("Name").fill("k");
  await form.getByLabel("Value").fill('{"a": 1.0}');
  await shot("form");
  const detail = "The edited arguments do not fit: \norder: expected Order, got {} (dict)\n  zip: There is no such place\nThe call stays open.";
  await context.route("**/approvals/*", (route) => route.fulfill({ status: 400, json: { detail } }));
  await button("Approve with these").click();
  await becomes(() => form.locator(".error").allInnerTexts(), ["There is no such place"]);
  await becomes(() => inSight("zip"), true);
  await context.unrouteAll();
  const request = page.waitForRequest((one) => one.method() === "POST" && one.url().includes("/approvals/"));
  await button("Approve with these").click();
  assert.equal(
    (await request).postData(),
    '{"action":"edit","args":{"order":{"day":"2027-01-31","zip":"54321","items":[{"sku":"A","qty":3}],' +
      '"pay":{"kind":"bank","iban":"DE1"},"note":12345678901234567890,"extra":{"k":{"a":1.0}}}}}',
  );
  await shown("approved with changes", { exact: true }).waitFor();

  // A number that JavaScript cannot hold is shown with all its digits, and comes back with them.
  await fresh();
  await say(`place_order ${JSON.stringify({ order: { ...ORDER, note: 0 } }).replace('"note":0', '"note":12345678901234567890')}`);
  const order = page.getByRole("group", { name: "Approve place_order" });
  await order.locator("dd").getByText('"note":12345678901234567890').waitFor();
  await shot("digits");
  await button("Edit arguments").click();
  await becomes(() => at("note.1").inputValue(), "12345678901234567890");
  await button("Edit as JSON").click();
  await becomes(() => order.getByLabel("Arguments as JSON").inputValue(), /"note": 12345678901234567890/);
  await button("Back").click();
  await page.reload();
  await order.locator("dd").getByText('"note":12345678901234567890').waitFor();
  await page.getByRole("button", { name: /^Waiting/ }).click();
  await page.getByRole("dialog").locator("dd").getByText('"note":12345678901234567890').waitFor();
  await page.keyboard.press("Escape");
  await button("Reject").click();
  await shown("did not run", { exact: true }).waitFor();

  // A very long answer folds; marks that turn a text around are shown as what they are.
  await fresh();
  await say("report please");
  await page.getByRole("button", { name: /^Show all [\d.]+ KB$/ }).click();
  await shown("Paragraph 399:", { exact: false }).waitFor();
  await fresh();
  await say("say \u202eevil");
  await page.locator("h1").getByText("say \\u202eevil").waitFor();
  await event(1).locator(".hidden-character").getByText("\\u202e").waitFor();

  // What was streamed stays: where the run is stopped in another tab, and where the server dies.
  await fresh();
  await say("count");
  await shown("one two", { exact: true }).waitFor();
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByRole("button", { name: "Stop", exact: true }).click();
  for (const each of [page, other]) {
    await each.getByText("This turn was stopped.").locator("visible=true").last().waitFor();
    await each.locator(".card").getByText("one two", { exact: true }).waitFor();
    assert.equal(await each.getByText("idempotency key").count(), 0);
  }
  await other.close();
  assert.equal(await button("add as a case").count(), 0);
  await fresh();
  await say("count again");
  await shown("one two", { exact: true }).waitFor();
  server.process.kill("SIGKILL");
  await page.getByText("cut off", { exact: false }).waitFor();
  await shown("one two", { exact: true }).waitFor();
  await shot("killed");
  await server.gone;
  server.open();
  await server.start();
  await shown("one two three", { exact: true }).waitFor();
  await becomes(() => page.getByText("cut off", { exact: false }).count(), 0);
});

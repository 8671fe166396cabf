// A workflow's question: a form made from its schema, answered there, in the inbox, and in words.

import { assert, becomes, scenario } from "../harness.mjs";

const tolerated = ["400 (Bad Request)", "422"];

await scenario({ tolerated, home: "/page/#app=survey&user=user" }, async ({ page, shown, shot, say, box, button, quiet }) => {
  await page.getByRole("textbox", { name: "Message to survey" }).waitFor();
  const form = page.getByRole("form", { name: "Answer to ask" });

  // A form with errors at its fields; nothing is sent before they are mended.
  let sent = 0;
  page.on("request", (one) => (sent += one.method() === "POST" && one.url().includes("/approvals/") ? 1 : 0));
  await say("trip to the sea");
  await shown("What about trip to the sea?", { exact: true }).first().waitFor();
  assert.equal(await form.getByLabel("nights").inputValue(), "2");
  await form.getByLabel("nights").fill("many");
  await form.getByRole("button", { name: "Answer" }).click();
  await form.getByText("many is no number.").waitFor();
  await becomes(() => form.getByText("This is needed.").count(), 5);
  assert.equal(sent, 0);
  await shot("errors");
  await form.getByLabel("city").fill("Oslo");
  await becomes(() => form.getByText("This is needed.").count(), 4);
  await form.getByLabel("nights").fill("3");
  await form.getByLabel("budget").fill("99.5");
  await form.getByLabel("season").selectOption("winter");
  await form.getByLabel("refundable").selectOption("no");
  await form.getByLabel("stops").fill("Bergen\nVoss");
  const hotel = form.getByRole("group", { name: "hotel" });
  await hotel.getByLabel("name").fill("Inn");
  await shot("form");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("form-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await form.getByRole("button", { name: "Answer" }).dblclick();
  await shown("'nights': 3, 'budget': 99.5, 'season': 'winter', 'refundable': False", { exact: false }).first().waitFor();
  await shown("'stops': ['Bergen', 'Voss'], 'hotel': {'name': 'Inn'}", { exact: false }).first().waitFor();
  await becomes(() => form.count(), 0);
  assert.equal(sent, 1, "a double click sends one answer");

  // A decision has two buttons.
  await button("New session").click();
  await quiet(0);
  await say("decide this");
  await button("Yes").click();
  await shown("It is True.", { exact: false }).first().waitFor();

  // Words answer the open question; wrong ones stay to be mended.
  await button("New session").click();
  await quiet(0);
  await say("number of rooms");
  await form.waitFor();
  await say("plenty");
  await page.getByRole("form", { name: "Message" }).getByText("not of type integer", { exact: false }).waitFor();
  assert.equal(await box.inputValue(), "plenty");
  await shot("words");
  await say("12");
  await shown("It is 12.", { exact: false }).first().waitFor();

  // Where two questions are open, the person says which one.
  await button("New session").click();
  await quiet(0);
  await say("tell both");
  await shown("And the second?", { exact: true }).first().waitFor();
  await becomes(() => form.count(), 1);
  await say("as you like");
  const which = page.getByRole("group", { name: "Which question do these words answer?" });
  await which.waitFor();
  await shot("which");
  await which.getByRole("button", { name: "What about tell both?" }).click();
  await shown("It is 'as you like'.", { exact: false }).first().waitFor();

  // The inbox shows the second question, with its words.
  await button("Waiting 1").click();
  const inbox = page.getByRole("dialog", { name: "Waiting for you" });
  await inbox.getByText("And the second?").waitFor();
  await shot("inbox");
  await inbox.getByRole("textbox", { name: "Answer" }).fill("no");
  await inbox.getByRole("button", { name: "Answer" }).click();
  await inbox.waitFor({ state: "hidden" });
  await button("Waiting 0").waitFor();
});

// How answers read: Markdown, code with a copy button, results as trees, turns with their tokens.

import { assert, becomes, scenario } from "../harness.mjs";

await scenario(
  { tolerated: ["503"], home: "/page/#app=gallery&user=user" },
  async ({ page, context, shown, shot, say, quiet, event, button }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    await shown("Shows everything that the page can render.").waitFor();
    await button("Show me markdown").dblclick(); // an example prompt, sent once
    await event(2).getByRole("table").waitFor();
    await quiet(2);
    assert.equal(await event(2).getByRole("row").count(), 4);
    await event(2).getByRole("heading", { name: "The ferries to Lisbon" }).waitFor();
    const link = event(2).getByRole("link", { name: "the timetable" });
    assert.equal(await link.getAttribute("rel"), "noopener noreferrer nofollow");
    await event(2).locator(".of-keyword").getByText("def").waitFor(); // loaded when it is needed
    await event(2).getByRole("button", { name: "Copy code" }).click();
    await becomes(clipboard, /^def price/);
    await event(2).getByText("1,285 tokens").waitFor();
    await page.getByRole("heading", { name: "Show me markdown" }).waitFor();
    await shot("markdown");

    await say("Look up the long report");
    await quiet(6);
    assert.equal(await event(5).locator(".tree").count(), 0); // folded, it is not in the document
    await event(5).locator("summary").filter({ hasText: "result" }).click();
    await event(5).getByRole("button", { name: "rows, 120 items" }).click();
    await event(5).getByRole("button", { name: "Show 70 of 70 more" }).click();
    await event(5).getByRole("button", { name: /^119, / }).click();
    await event(5).getByText("row 119").waitFor();
    await event(5).getByRole("button", { name: "Show all 1.0 KB" }).click();
    await event(5).getByRole("button", { name: "Show less" }).waitFor();
    await shot("tree");
    await say("Please fail");
    await event(9).locator(".tag.failed").getByText("failed").waitFor();
    await quiet(10);

    // A link to an event, in another tab.
    await page.getByLabel("More for event 6", { exact: true }).click();
    await button("Copy a link to this").locator("visible=true").click();
    await becomes(clipboard, /event=6/);
    const other = await context.newPage();
    await other.goto(await clipboard());
    await other.locator("article.chosen").getByText("That is the report").waitFor();
    assert.equal(await other.locator("article.chosen").getAttribute("aria-label"), "gallery, event 6");
  },
);

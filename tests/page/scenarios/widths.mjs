// Between a telephone and a wide screen: nothing scrolls sideways, and no button is cut.

import { assert, becomes, scenario } from "../harness.mjs";

/** What is wider than its place: the page, or the words of a button of the sidebar. */
const wide = () => {
  const found = document.documentElement.scrollWidth > innerWidth ? [`the page: ${document.documentElement.scrollWidth}`] : [];
  for (const one of document.querySelectorAll(".side button:not(.entry), .middle, .bar")) {
    if (one.scrollWidth > one.clientWidth + 1) found.push(`${one.className} ${one.innerText}: ${one.scrollWidth} in ${one.clientWidth}`);
  }
  return found;
};

await scenario({ tolerated: ["503"] }, async ({ page, server, shot, say, tab, button }) => {
  for (const [app, text] of [["till", "refund 500"], ["survey", "trip to the sea"]]) {
    const { id } = await server.ask("POST", `/apps/${app}/users/user/sessions`, {});
    await server.ask("POST", "/run", { appName: app, userId: "user", sessionId: id, newMessage: { role: "user", parts: [{ text }] } });
  }
  await page.reload();
  await say("wire it, and then tell me at length what you did");
  await button("Approve").waitFor();
  await page.locator(".badge").getByText("+2").waitFor();
  const found = [];
  for (const view of ["Chat", "Timeline", "Compare"]) {
    await tab(view).first().click();
    for (const width of [390, 704, 712, 720, 768, 800, 900, 1024, 1040, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      for (const one of await page.evaluate(wide)) found.push(`${view} ${width}: ${one}`);
      if ([720, 1024].includes(width)) await shot(`${view}-${width}`);
    }
  }
  assert.deepEqual(found, []);
});

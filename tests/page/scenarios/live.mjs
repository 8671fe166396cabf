// A live conversation: the microphone is heard, both sides are transcribed, tools run meanwhile, and
// what was said is in the session afterwards.

import { assert, becomes, scenario } from "../harness.mjs";

const args = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];

await scenario({ args, tolerated: ["503"] }, async ({ page, context, shot, tab, button, shown }) => {
  await context.grantPermissions(["microphone"]);
  await page.getByLabel("Agent", { exact: true }).selectOption("speaker");
  await button("New session").click();
  await tab("Live").click();
  const lines = page.getByRole("list", { name: "Transcript" });
  await button("Start talking").evaluate((one) => {
    one.click();
    one.click(); // twice: there is one conversation
  });
  await page.getByText("the agent listens").waitFor();
  await lines.getByText("hear me", { exact: true }).waitFor();
  await lines.getByText("I hear a sound of audio/pcm;rate=16000").waitFor();
  await shot("talking");
  assert.equal(await lines.getByText("hear me", { exact: true }).count(), 1);

  const words = page.getByRole("textbox", { name: "Say it in words" });
  await words.fill("weather");
  await words.press("Enter");
  await lines.getByText('lookup: {"report":"sunny in Rome"}').waitFor();
  await lines.getByText("You said result").waitFor();
  await words.fill("stop");
  await words.press("Enter");
  await lines.getByText("interrupted").waitFor();

  await button("Microphone on").click();
  await becomes(() => button("Microphone off").getAttribute("aria-pressed"), "true");
  await button("End the conversation").click();
  await button("Start talking").waitFor();
  await tab("Chat").click();
  await shown("You said result").waitFor();
  await shot("kept");

  // A conversation that fails says why, and another one can begin.
  await tab("Live").click();
  await page.getByLabel("use the microphone").uncheck();
  await button("Start talking").click();
  await words.fill("boom");
  await words.press("Enter");
  await page.getByRole("alert").getByText("RuntimeError", { exact: false }).waitFor();
  await shot("failed");
  await page.emulateMedia({ colorScheme: "dark" });
  await button("Start talking").click();
  await words.fill("again");
  await words.press("Enter");
  await lines.getByText("You said again").waitFor();
  await shot("dark");
});

// Every screen in both themes and four widths: axe finds nothing wrong (WCAG 2.2 AA), nothing
// scrolls sideways or lies on something else, and motion respects the system's setting.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { assert, scenario } from "../harness.mjs";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const WIDTHS = [390, 1024, 1440, 2560];

const audit = (rules) =>
  window.axe.run(document, { runOnly: rules, resultTypes: ["violations"] }).then(({ violations }) =>
    violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 4).join(" | ")}`),
  );

/** Buttons and fields whose middle is covered by something that is not theirs. */
const covered = () => {
  const top = document.querySelector("dialog[open]") ?? document;
  return [...top.querySelectorAll("button, input, select, textarea, a[href]")].flatMap((one) => {
    const box = one.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const seen = box.width && box.height && x > 0 && y > 0 && x < innerWidth && y < innerHeight;
    if (!seen || !one.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return [];
    for (let above = one.parentElement; above; above = above.parentElement) {
      const { overflow, overflowY, overflowX } = getComputedStyle(above);
      if (!/auto|scroll|hidden|clip/.test(overflow + overflowX + overflowY)) continue;
      const edge = above.getBoundingClientRect();
      if (x < edge.left || x > edge.right || y < edge.top || y > edge.bottom) return [];
    }
    const hit = document.elementFromPoint(x, y);
    return !hit || one.contains(hit) || hit.contains(one) || hit.closest("label")?.contains(one)
      ? []
      : [`${one.ariaLabel ?? one.textContent} under ${hit.className || hit.localName}`];
  });
};

await scenario(
  { tolerated: ["503"], home: "/page/#app=gallery&user=user" },
  async ({ page, shot, say, quiet, tab, button, event }) => {
    const wrong = [];
    await page.emulateMedia({ reducedMotion: "reduce" });
    const look = async (what, width, theme) => {
      const where = `${what}, ${theme}, ${width}`;
      await page.evaluate(AXE);
      const found = await page.evaluate(audit, RULES);
      if (found.length) wrong.push(`${where}: ${found.join("; ")}`);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (sideways > 0) wrong.push(`${where} scrolls sideways by ${sideways}`);
      const below = await page.evaluate(covered);
      if (below.length) wrong.push(`${where}: ${below.join("; ")}`);
      assert.equal(await page.evaluate(() => document.getAnimations().length), 0, where);
      await shot(`${what}-${theme}-${width}`);
    };
    const dialog = async (open, name, width, theme) => {
      await open();
      await page.getByRole("dialog", { name, exact: true }).waitFor();
      if (name === "Find") await page.locator(".hit").first().waitFor();
      await look(name.toLowerCase().replaceAll(" ", "-"), width, theme);
      await page.keyboard.press("Escape");
    };
    for (const theme of ["light", "dark"]) {
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
        await page.evaluate((chosen) => localStorage.setItem("ostinato-theme", chosen), theme);
        await page.goto(`${page.url().split("#")[0]}#app=gallery&user=user`);
        await page.reload();
        await page.locator(".examples button").first().waitFor();
        await look("start", width, theme);
        await say("Show me markdown");
        await event(2).locator(".of-keyword").first().waitFor();
        await say("Look up the long report");
        await quiet(6);
        await page.locator(".list").first().evaluate((list) => (list.scrollTop = 0));
        await look("answer", width, theme);
        await page.locator(".list").first().evaluate((list) => (list.scrollTop = 1e6));
        await event(5).locator("summary").filter({ hasText: "result" }).click();
        await event(5).locator(".fold").first().waitFor();
        await look("chat", width, theme);
        await dialog(() => page.keyboard.press("Control+k"), "Find", width, theme);
        const main = page.locator("#middle");
        await dialog(async () => (await main.focus(), page.keyboard.press("?")), "Keys", width, theme);
        await dialog(async () => (await main.focus(), page.keyboard.press("w")), "Waiting for you", width, theme);
        if (width < 500) {
          await button("Unfold the sidebar").click();
          await look("sidebar", width, theme);
          await button("Fold the sidebar").click();
        }
        await tab("Artifacts").click();
        await look("artifacts", width, theme);
      }
    }
    assert.deepEqual(wrong, []);
  },
);

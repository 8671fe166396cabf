// Markdown becomes elements of the page, and nothing else.

import { render } from "preact";
import { describe, expect, test } from "vitest";
import { Markdown, safeLink } from "../src/markdown";

function shown(text: string): HTMLElement {
  const box = document.createElement("div");
  render(<Markdown text={text} />, box);
  return box;
}

const ELEMENTS = new Set(
  "a blockquote br button code del div em figcaption figure hr img li ol p path pre span strong svg table tbody td th thead tr ul".split(" "),
);

describe("what is rendered", () => {
  test("a table with its sides", () => {
    const cells = shown("|a|b|\n|-|-:|\n|1|2|").querySelectorAll("td");
    expect([...cells].map((one) => [one.textContent, one.className])).toEqual([
      ["1", ""],
      ["2", "to-right"],
    ]);
  });
  test("lists, tasks and numbers", () => {
    const box = shown("3. three\n4. four\n   - inner\n\n- [x] done");
    expect(box.querySelector("ol")!.getAttribute("start")).toBe("3");
    expect(box.querySelector("li li")!.textContent).toBe("inner");
    expect(box.querySelector(".task span")!.getAttribute("aria-label")).toBe("done");
  });
  test("headings leave the first level to the page", () => {
    expect(shown("# One").querySelector("[role=heading]")!.getAttribute("aria-level")).toBe("2");
  });
  test("formulas are no emphasis, on lines of their own no list", () => {
    expect(shown("$a_b_c$ and \\(x*y*z\\)").querySelectorAll("em").length).toBe(0);
    const box = shown("The sum:\n$$\n- a\n+ b\n$$\nends.");
    expect([...box.querySelectorAll(".math")].map((one) => one.textContent)).toEqual(["$$\n- a\n+ b\n$$"]);
    expect(box.querySelector("ul")).toBeNull();
    expect(box.lastElementChild!.lastElementChild!.textContent).toBe("ends.");
    expect(shown("It costs $5 or $6.").querySelector(".math")).toBeNull();
  });
  test("code keeps its characters", () => {
    expect(shown("`a &lt; b <i>`").querySelector("code")!.textContent).toBe("a &lt; b <i>");
    expect(shown("```\n<b>&amp;\n```").querySelector("pre")!.textContent).toBe("<b>&amp;");
  });
  test("long code is folded", () => {
    const box = shown(`\`\`\`\n${"line\n".repeat(100)}\`\`\``);
    expect(box.querySelector("pre")!.textContent!.split("\n").length).toBe(24);
    expect(box.querySelector(".unfold")!.textContent).toBe("Show all 100 lines");
  });
  test("HTML is its text", () => {
    const text = "<b>bold</b>\n\n<div onclick=alert(1)>x</div>";
    expect(shown(text).textContent).toContain("<b>bold</b>");
    expect(shown(text).querySelector("b, [onclick]")).toBeNull();
  });
});

describe("links", () => {
  test.each([
    ["https://example.com/a?b=c", "https://example.com/a?b=c"],
    ["mailto:ann@example.com", "mailto:ann@example.com"],
    ["javascript:alert(1)", undefined],
    ["JaVaScRiPt:alert(1)", undefined],
    ["java\nscript:alert(1)", undefined],
    ["data:text/html,<script>", undefined],
    ["vbscript:x", undefined],
    ["file:///etc/passwd", undefined],
    ["//example.com", undefined],
    ["/apps", undefined],
    ["#app=x", undefined],
    ["blob:https://example.com/1", undefined],
  ])("%s", (href, wanted) => expect(safeLink(href)).toBe(wanted));

  test("a link to another machine does not tell where it comes from", () => {
    const link = shown("[a](https://example.com)").querySelector("a")!;
    expect(link.rel).toContain("noreferrer");
    expect(link.target).toBe("_blank");
  });
  test("a picture of another machine is not loaded", () => {
    const box = shown("![a](https://example.com/x.png) ![b](data:image/svg+xml;base64,PHN2Zz4=)");
    expect(box.querySelector("img")).toBeNull();
    expect(shown("![a](data:image/png;base64,AAAA)").querySelector("img")).not.toBeNull();
  });
});

describe("odd texts", () => {
  test.each([
    ["[".repeat(20_000)],
    ["*".repeat(20_000)],
    ["> ".repeat(3_000)],
    ["- ".repeat(2_000)],
    ["`".repeat(20_000)],
    ["$".repeat(20_000)],
    ["![".repeat(10_000)],
    ["<".repeat(20_000)],
    ["|".repeat(20_000)],
    ["\\(".repeat(10_000)],
    [`${"a ".repeat(10_000)}\n|-|\n`],
    ["_a".repeat(10_000)],
  ])("%#: nothing takes long, and no element comes that is not known", (text) => {
    const begun = performance.now();
    const box = shown(text);
    expect(performance.now() - begun).toBeLessThan(5_000); // milliseconds; a trap takes minutes
    for (const one of box.querySelectorAll("*")) {
      expect(ELEMENTS.has(one.localName), one.localName).toBe(true);
    }
  });
});

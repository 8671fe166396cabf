// Formulas become MathML of known names; anything else stays as it was written.

import { describe, expect, it } from "vitest";
import { readMath } from "../src/math";
import type { MathNode } from "../src/math";
import { unmarked } from "../src/parts/Formula";

const written = (node: MathNode | undefined): string =>
  node === undefined
    ? "nothing"
    : typeof node === "string"
      ? node
      : `${node.name}(${node.children.map(written).join(" ")})`;
const names = (node: MathNode | undefined): string[] =>
  node === undefined || typeof node === "string" ? [] : [...Object.keys(node.attributes), ...node.children.flatMap(names)];

describe("a formula", () => {
  it("becomes MathML", () => {
    expect(written(readMath("x^2", false))).toBe("math(msup(mi(x) mn(2)))");
    expect(written(readMath("\\frac{a}{b}", true))).toContain("mfrac(mi(a) mi(b))");
  });

  it("has texts that are texts", () => {
    expect(written(readMath("\\text{<img src=x onerror=1>}", false))).toContain("<img");
    expect(written(readMath("a < b > c", false))).toContain("mo(<)");
  });

  it("has no styles, ids or addresses", () => {
    for (const tex of ["\\color{red} x", "\\begin{pmatrix}a&b\\end{pmatrix}", "\\hat{x}", "\\boxed{x}"]) {
      for (const name of names(readMath(tex, true))) expect(["style", "id", "href", "src"]).not.toContain(name);
    }
  });

  it("that is refused stays as it was written", () => {
    const refused = ["\\href{javascript:1}{x}", "\\class{a}{x}", "\\includegraphics{x}", "\\def\\a{\\a\\a}\\a", "\\frac{", "x".repeat(3000)];
    for (const tex of refused) expect(written(readMath(tex, false)), tex.slice(0, 20)).toBe("nothing");
  });

  it("defines nothing for another", () => {
    readMath("\\gdef\\frac#1#2{evil}x", false);
    expect(written(readMath("\\frac{a}{b}", false))).toContain("mfrac");
  });
});

it("takes formulas out of their marks", () => {
  expect(unmarked("$$\na\n$$")).toEqual({ tex: "a", display: true });
  expect(unmarked("\\(b\\)")).toEqual({ tex: "b", display: false });
  expect(unmarked("\\[c\\]")).toEqual({ tex: "c", display: true });
  expect(unmarked("$d$")).toEqual({ tex: "d", display: false });
});

import { expect, test } from "vitest";
import { edits, lines, words } from "../src/diff";
import { compare, countChanges, equal } from "../src/jsondiff";

const text = (found: { kind: string; text: string }[]) =>
  found.map((one) => ({ same: " ", added: "+", removed: "-" })[one.kind] + one.text);

test("lines that were inserted are not a change of those after them", () => {
  expect(text(lines("a\nb\nc", "a\nx\nb\nc"))).toEqual([" a", "+x", " b", " c"]);
  expect(text(lines("a\nb", "a"))).toEqual([" a", "-b"]);
  expect(text(lines("", ""))).toEqual([" "]);
});

test("words of one kind are joined", () => {
  expect(text(words("It is sunny in Rome.", "It is not sunny in Oslo."))).toEqual([
    " It is ", "+not ", " sunny in ", "-Rome", "+Oslo", " .",
  ]);
});

test("an edit script makes one sequence out of the other", () => {
  for (const [a, b] of [["abcabba", "cbabac"], ["", "x"], ["same", "same"], ["abc", "xyz"]]) {
    const found = edits([...a!], [...b!]);
    expect(found.filter((one) => one.kind !== "added").map((one) => one.left).join("")).toBe(a);
    expect(found.filter((one) => one.kind !== "removed").map((one) => one.right).join("")).toBe(b);
  }
});

test("two long sequences that share nothing are replaced at once", () => {
  const [a, b] = [0, 1].map((side) => Array.from({ length: 3000 }, (_, at) => `${side} ${at}`));
  expect(edits(a!, b!)).toHaveLength(6000);
});

test("values are compared whatever the order of their keys", () => {
  expect(equal({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBe(true);
  expect(equal({ a: undefined as never }, {})).toBe(false);
  expect(equal({ __proto__: 1 } as never, {})).toBe(true);
  expect(equal([1], { 0: 1 })).toBe(false);
});

test("a changed value names what changed within it", () => {
  const found = compare({ a: 1, b: { c: 2, d: 3 }, e: 4 }, { a: 1, b: { c: 2, d: 5 }, f: null });
  expect(countChanges(found)).toBe(3);
  const kinds = Object.fromEntries(found.children.map((one) => [one.key, one.kind]));
  expect(kinds).toEqual({ a: "same", b: "changed", e: "removed", f: "added" });
});

test("an entry that was inserted into a list does not change the others", () => {
  const found = compare([1, 2, 3], [0, 1, 2, 3]);
  expect(found.children.map((one) => one.kind)).toEqual(["added", "same", "same", "same"]);
  const replaced = compare([{ a: 1 }, { b: 1 }], [{ a: 2 }, { b: 1 }]);
  expect(replaced.children.map((one) => [one.key, one.kind])).toEqual([["0", "changed"], ["1", "same"]]);
  expect(compare([1, 2, 3], [3]).children.map((one) => [one.key, one.kind])).toEqual([
    ["0", "removed"], ["1", "removed"], ["0", "same"],
  ]);
});

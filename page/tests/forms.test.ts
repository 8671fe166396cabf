// Forms of JSON schemas: what is edited comes back as it was, and problems stand at their fields.

import { describe, expect, test } from "vitest";
import { initialOf, keeps, problemsOf, valueOf } from "../src/filled";
import { limitOf } from "../src/limits";
import { fieldOf } from "../src/schema";
import type { Field, Filled, Problems } from "../src/schema";
import type { Json } from "../src/types";

const ITEM = {
  type: "object",
  required: ["sku", "qty"],
  properties: {
    sku: { type: "string" },
    qty: { type: "integer", minimum: 1, maximum: 99 },
    tags: { type: "array", items: { type: "string" }, default: [] },
  },
};
const kind = (name: string, key: string) => ({
  type: "object",
  title: name,
  required: ["kind", key],
  properties: { kind: { const: name, type: "string" }, [key]: { type: "string" } },
});
const ORDER = {
  type: "object",
  required: ["customer", "items", "pay"],
  $defs: { Item: ITEM, Card: kind("card", "number"), Bank: kind("bank", "iban") },
  properties: {
    customer: { type: "string" },
    day: { type: "string", format: "date" },
    zip: { type: "string", pattern: "^\\d{5}$" },
    discount: { anyOf: [{ type: "number", minimum: 0, maximum: 0.5 }, { type: "null" }], default: null },
    express: { type: "boolean", default: false },
    items: { type: "array", items: { $ref: "#/$defs/Item" } },
    pay: { oneOf: [{ $ref: "#/$defs/Card" }, { $ref: "#/$defs/Bank" }] },
    note: { anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }], default: null },
    extra: { type: "object", additionalProperties: true, default: {} },
  },
} as { [key: string]: Json };
const order = (): Field => fieldOf(ORDER);
const GIVEN: Json = {
  customer: "Ann",
  items: [{ sku: "A", qty: 2, tags: ["x", "y"] }, { sku: "B", qty: 1 }],
  pay: { kind: "card", number: "4111" },
};

/** Fill in a form that begins with a value; return what comes back, and the problems. */
function edit(given: Json, changes: Filled): [Json | undefined, Problems] {
  const problems: Problems = {};
  const value = valueOf(order(), { ...initialOf(order(), "", given), ...changes }, problems);
  return [value, problems];
}

describe("a form", () => {
  test("has rows, kinds, names and dates", () => {
    const kinds = Object.fromEntries(order().fields.map((one) => [one.name, one.kind]));
    expect(kinds).toMatchObject({ items: "rows", pay: "union", note: "union", extra: "map", day: "string" });
    const [pay, note] = ["pay", "note"].map((name) => order().fields.find((one) => one.name === name)!);
    expect(pay!.fields.map((one) => one.label)).toEqual(["card", "bank"]);
    expect([note!.nullable, note!.fields.map((one) => one.label)]).toEqual([true, ["text", "whole number"]]);
  });

  const whole = [
    GIVEN,
    { ...(GIVEN as object), note: 5 },
    { ...(GIVEN as object), note: "5" },
    { ...(GIVEN as object), note: null, extra: {}, express: true, discount: 0.25 },
    { ...(GIVEN as object), extra: { a: 1, b: [true, null], "": "x", c: { d: "e" } }, items: [] },
    { ...(GIVEN as object), customer: "", pay: { kind: "bank", iban: " " } },
  ] as Json[];
  test.each(whole)("gives back %j", (given) => {
    expect(keeps(order(), given)).toBe(true);
    expect(edit(given, {})[0]).toEqual(given);
  });

  const lost = [
    { ...(GIVEN as object), unknown: 1 },
    { ...(GIVEN as object), items: [{ sku: "A", qty: 2, unknown: 1 }] },
    { ...(GIVEN as object), express: "yes" },
    { ...(GIVEN as object), pay: { kind: "cash" } },
    { ...(GIVEN as object), items: [{ sku: "A", qty: 1, tags: ["two\nlines"] }] },
  ] as Json[];
  test.each(lost)("is not offered where it would lose something of %j", (given) => {
    expect(keeps(order(), given)).toBe(false);
  });

  test("adds and removes rows, and takes the other kind", () => {
    const changes = {
      ...{ "answer.items": "[1,7]", "answer.items.7.sku": "C", "answer.items.7.qty": "3" },
      ...{ "answer.pay": "1", "answer.pay.1.iban": "DE1" },
    };
    expect(edit(GIVEN, changes)).toEqual([
      { customer: "Ann", items: [{ sku: "B", qty: 1 }, { sku: "C", qty: 3 }], pay: { kind: "bank", iban: "DE1" } },
      {},
    ]);
  });

  test("rounds no number", () => {
    const big = "12345678901234567890";
    const [value, problems] = edit(GIVEN, { "answer.note": "1", "answer.note.1": big });
    expect(JSON.stringify(value) ?? Object.values(problems)[0]).toContain(big); // by age of the browser
    expect(edit(GIVEN, { "answer.discount": "0x1" })[1]).toEqual({ "answer.discount": "0x1 is no number." });
  });

  test("tells all problems at once", () => {
    const changes = {
      ...{ "answer.customer": "", "answer.day": "31.1.2027", "answer.zip": "12", "answer.discount": "0.9" },
      ...{ "answer.items.0.qty": "0", "answer.extra": "[0,1]", "answer.extra.0 name": "a", "answer.extra.0": "1" },
      ...{ "answer.extra.1 name": "a", "answer.extra.1": "{" },
    };
    expect(edit(GIVEN, changes)[1]).toEqual({
      "answer.customer": "This is needed.",
      "answer.day": "A date is written YYYY-MM-DD.",
      "answer.zip": "This has to fit the pattern ^\\d{5}$.",
      "answer.discount": "At most 0.5.",
      "answer.items.0.qty": "At least 1.",
      "answer.extra.1": "This is not JSON.",
      "answer.extra.1 name": 'The name "a" is there twice.',
    });
  });

  test("does not grow without end where a schema names itself", () => {
    const node = { type: "object", properties: {} as { [key: string]: Json } };
    for (let at = 0; at < 30; at += 1) node.properties[`n${at}`] = { $ref: "#/$defs/Node" };
    const size = (field: Field): number => field.fields.reduce((sum, one) => sum + size(one), 1);
    expect(size(fieldOf({ $ref: "#/$defs/Node", $defs: { Node: node } }))).toBeLessThan(3000);
  });
});

describe("what the server says", () => {
  const filled = { ...initialOf(order(), "", GIVEN), "answer.items": "[1,0]" };
  test("stands at the fields that it names", () => {
    const message =
      "The edited arguments do not fit:\nitems: expected list, got [...] (list)\n  1.qty: Input is too small\n" +
      "pay: expected Card, got {} (dict)\n  card.number: Field required\nYou could retry. The call stays open.";
    expect(problemsOf(message, order(), filled)).toEqual({
      "answer.items.0.qty": "Input is too small",
      "answer.pay.0.number": "Field required",
    });
  });
  test("of a schema, too", () => {
    const message = "The edited arguments of call 'c' do not fit tool 't': args.items[0].qty is 0, less than 1. The call stays open.";
    expect(problemsOf(message, order(), filled)).toEqual({ "answer.items.1.qty": "is 0, less than 1." });
  });
  test("stands by the buttons if it names none", () => {
    expect(problemsOf("It is gone.", order(), filled)).toEqual({ answer: "It is gone." });
  });
});

test("limits that make no sense are left to the server", () => {
  expect(limitOf("aaaa", { pattern: "(a+)+$" })).toBe("");
  expect(limitOf("x", { pattern: "(" })).toBe("");
  expect(limitOf("2026-02-30", { format: "date" })).not.toBe("");
  expect(limitOf("2026-02-28T10:00", { format: "date-time" })).toBe("");
  expect(limitOf([1], { minItems: 2 })).toBe("At least 2 entries.");
});

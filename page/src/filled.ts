// What is filled into a form, as JSON: a value that is edited comes back as it was, but for what was changed.

import { limitOf } from "./limits";
import { isRaw, readJson, readNumber } from "./numbers";
import { chosenOf, entriesOf, entryOf, isFixed, isObject, namePath, pathOf } from "./schema";
import type { Field, Filled, Problems } from "./schema";
import type { Json } from "./types";

/** What an empty field stands for if it was empty in what is edited. */
const emptyPath = (path: string) => `${path} empty`;

/** Return what a field holds before anybody fills it in; `given` is the value that is edited. */
export function initialOf(field: Field, above = "", given = field.initial): Filled {
  const path = pathOf(above, field);
  if (given === null) return { [path]: "", [emptyPath(path)]: "null" };
  const isGone = given === undefined;
  if (field.kind === "object") {
    const values = isObject(given) ? given : undefined;
    const empty = values && !Object.keys(values).length ? { [emptyPath(path)]: "{}" } : {};
    const parts = field.fields.map((one) =>
      values && !(one.name in values) ? { [pathOf(path, one)]: "" } : initialOf(one, path, values?.[one.name]),
    );
    return Object.assign(empty, ...parts);
  }
  if (field.kind === "union") {
    const at = isGone ? -1 : field.fields.findIndex((one) => keeps({ ...one, required: true }, given));
    const own = at < 0 ? {} : initialOf(field.fields[at]!, path, given);
    return { ...own, [path]: at < 0 ? "" : String(at) };
  }
  if ((field.kind === "rows" && Array.isArray(given)) || (field.kind === "map" && isObject(given))) {
    const entries = Object.entries(given);
    const parts = entries.map(([key, one], id) => ({
      ...initialOf(entryOf(field, id), path, one),
      [namePath(`${path}.${id}`)]: key,
    }));
    return Object.assign({ [path]: JSON.stringify(entries.map((_, id) => id)) }, ...parts);
  }
  if (isGone || field.kind === "rows" || field.kind === "map") return { [path]: "" };
  const list = field.kind === "list" && Array.isArray(given);
  if (list && !given.length) return { [path]: "", [emptyPath(path)]: "[]" };
  if (typeof given === "string" && !given.trim()) return { [path]: given, [emptyPath(path)]: JSON.stringify(given) };
  if (field.kind === "choice") return { [path]: JSON.stringify(given) };
  if (list) return { [path]: given.map(String).join("\n") };
  const plain = field.kind !== "json" && typeof given !== "object";
  return { [path]: plain ? String(given) : JSON.stringify(given, null, 2) };
}

/** Whether a form of a field would give back a value as it is. */
export function keeps(field: Field, value: Json): boolean {
  const problems: Problems = {};
  const back = valueOf(field, initialOf(field, "", value), problems, "", false);
  return sorted(back) === sorted(value);
}

const sorted = (value: Json | undefined): string | undefined =>
  JSON.stringify(value, (_, one: Json) =>
    isObject(one) && !isRaw(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one,
  );

/** Return the value of a field; undefined if it is left out. Problems are noted by path. */
export function valueOf(
  field: Field,
  filled: Filled,
  problems: Problems,
  above = "",
  checks = true,
): Json | undefined {
  const path = pathOf(above, field);
  const text = filled[path] ?? "";
  const inner = (one: Field, noted: Problems) => valueOf(one, filled, noted, path, checks);
  if (isFixed(field)) return field.choices[0];
  if (field.kind === "object") return objectOf(field, filled, problems, path, inner);
  if (text.trim() === "") {
    const empty = filled[emptyPath(path)];
    if (empty !== undefined) return JSON.parse(empty) as Json;
    if (!field.required) return undefined;
    if (field.kind === "list" || field.kind === "rows") return [];
    if (field.kind === "map") return {};
    if (field.nullable) return null;
    problems[path] = "This is needed.";
    return undefined;
  }
  try {
    const holds = ["union", "rows", "map"].includes(field.kind);
    const value = holds ? entries(field, filled, problems, path, inner) : read(field, text);
    const wrong = checks && limitOf(value, field.rules);
    if (wrong) problems[path] = wrong;
    return value;
  } catch (error) {
    problems[path] = (error as Error).message;
    return undefined;
  }
}

type Inner = (field: Field, problems: Problems) => Json | undefined;

/** Return the value of a union, a list or a map; what has a problem is null in it. */
function entries(field: Field, filled: Filled, problems: Problems, path: string, inner: Inner): Json {
  const text = filled[path];
  if (field.kind === "union") return inner({ ...chosenOf(field, text)!, required: true }, problems) ?? null;
  if (field.kind === "rows") return entriesOf(text).map((id) => inner(entryOf(field, id), problems) ?? null);
  const found = new Map<string, Json>();
  for (const id of entriesOf(text)) {
    const at = namePath(`${path}.${id}`);
    const name = filled[at] ?? "";
    if (found.has(name)) problems[at] = `The name ${JSON.stringify(name)} is there twice.`;
    found.set(name, inner(entryOf(field, id), problems) ?? null);
  }
  return Object.fromEntries(found);
}

function objectOf(field: Field, filled: Filled, problems: Problems, path: string, inner: Inner): Json | undefined {
  const before = Object.keys(problems).length;
  const own: Problems = {};
  const found = field.fields.map((one) => [one.name, inner(one, own)] as const);
  const untouched = Object.entries(filled).every(
    ([key, text]) => !key.startsWith(`${path}.`) || text === "",
  );
  const empty = filled[emptyPath(path)];
  if (untouched && empty !== undefined) return JSON.parse(empty) as Json;
  if (untouched && !field.required) return undefined;
  if (untouched && field.nullable) return null;
  Object.assign(problems, own);
  const whole = found.filter((one): one is [string, Json] => one[1] !== undefined);
  return Object.keys(problems).length > before ? undefined : Object.fromEntries(whole);
}

function read(field: Field, text: string): Json {
  switch (field.kind) {
    case "string":
      return text;
    case "boolean":
      return text === "true";
    case "integer":
    case "number":
      return readNumber(text, field.kind);
    case "choice":
      if (!field.choices.some((one) => JSON.stringify(one) === text)) throw new Error("This is none of the choices.");
      return JSON.parse(text) as Json;
    case "list": {
      const { kind } = field.fields[0]!;
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      return lines.map((line) => (kind === "integer" || kind === "number" ? readNumber(line, kind) : line));
    }
    default:
      return readJson(text);
  }
}

/** Find the fields that an error of the server is about: "order.items.0.qty: ...", "the answer.age is ...". */
export function problemsOf(message: string, field: Field, filled: Filled): Problems {
  const found: Problems = {};
  const root = pathOf("", field);
  const [part, named] = /\b(?:the answer|args)((?:\.\w+|\[\d+\])*)(?= )/.exec(message) ?? [];
  if (part) {
    const words = part.startsWith("args") ? message.slice(message.indexOf(part) + part.length + 1) : message;
    const steps = (named ?? "").split(/[.[\]]+/).filter(Boolean);
    return { [fieldAt(field, root, steps, filled)]: words.replace(/\.? The call stays open\.$/, ".") };
  }
  let outer = "";
  for (const line of message.split("\n")) {
    const [, space, place, words] = /^(\s*)([\w.-]+): (.+)$/.exec(line) ?? [];
    if (!place || !words) continue;
    const at = fieldAt(field, root, `${space ? `${outer}.` : ""}${place}`.split("."), filled);
    if (space) delete found[outerPath(field, root, outer, filled)]; // it only says what is inside
    else outer = place;
    if (at !== root) found[at] = found[at] ? `${found[at]} ${words}` : words;
  }
  return Object.keys(found).length ? found : { [root]: message };
}

const outerPath = (field: Field, root: string, outer: string, filled: Filled) =>
  fieldAt(field, root, outer.split("."), filled);

/** Return the path of the deepest field that steps lead to; a step may name a kind of a union. */
function fieldAt(field: Field, path: string, steps: string[], filled: Filled): string {
  const [step, ...rest] = steps;
  if (field.kind === "union") {
    const option = chosenOf(field, filled[path]);
    const inner = option && fieldAt(option, pathOf(path, option), step === option.label ? rest : steps, filled);
    return inner ?? path;
  }
  if (step === undefined) return path;
  if (field.kind === "object") {
    const next = field.fields.find((one) => one.name === step);
    return next ? fieldAt(next, pathOf(path, next), rest, filled) : path;
  }
  if (field.kind !== "rows" && field.kind !== "map") return path;
  const ids = entriesOf(filled[path]);
  const id = field.kind === "rows" ? ids[Number(step)] : ids.find((one) => filled[namePath(`${path}.${one}`)] === step);
  return id === undefined ? path : fieldAt(entryOf(field, id), `${path}.${id}`, rest, filled);
}

// JSON schemas as fields of a form, and what was filled in as JSON again.

import type { Json, JsonObject } from "./types";

type Schema = { [key: string]: Json };

export interface Field {
  name: string;
  label: string;
  help: string;
  kind: "string" | "integer" | "number" | "boolean" | "choice" | "list" | "object" | "json";
  required: boolean;
  nullable: boolean;
  initial: Json | undefined;
  choices: Json[];
  /** The kind of a list's entries. */
  item: "string" | "integer" | "number";
  fields: Field[];
}

/** What is filled in: text by the path of its field. */
export type Filled = { [path: string]: string };
export type Problems = { [path: string]: string };

const DEEPEST = 4;
const MOST = 40; // fields of an object

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const kindOf = (schema: Schema): string | undefined =>
  typeof schema["type"] === "string" ? schema["type"].toLowerCase() : undefined;

/** Follow references, and take the only choice beside null. */
function resolved(schema: Schema, root: Schema): [Schema, boolean] {
  let [found, nullable] = [schema, false];
  for (let step = 0; step < 10; step++) {
    const reference = found["$ref"];
    const choices = found["anyOf"] ?? found["oneOf"];
    if (typeof reference === "string") {
      const all = root["$defs"] ?? root["definitions"];
      const next = isObject(all) ? all[reference.split("/").pop()!] : undefined;
      if (!isObject(next)) return [{}, nullable];
      found = next;
    } else if (Array.isArray(choices)) {
      const rest = choices.filter(isObject).filter((one) => kindOf(one) !== "null");
      nullable ||= rest.length < choices.length;
      if (rest.length !== 1) return [{}, nullable];
      found = rest[0]!;
    } else break;
  }
  const types = found["type"];
  if (Array.isArray(types)) {
    const rest = types.filter((one) => String(one).toLowerCase() !== "null");
    nullable ||= rest.length < types.length;
    found = rest.length === 1 ? { ...found, type: rest[0]! } : {};
  }
  return [found, nullable || found["nullable"] === true];
}

export function fieldOf(schema: Schema, root = schema, name = "", required = true, depth = 0): Field {
  const [found, nullable] = resolved(schema, root);
  const text = (key: string) => String(schema[key] ?? found[key] ?? "");
  const field: Field = {
    name,
    label: name || text("title") || "Answer",
    help: text("description"),
    kind: "json",
    required,
    nullable,
    initial: schema["default"] ?? found["default"],
    choices: [],
    item: "string",
    fields: [],
  };
  const kind = kindOf(found);
  if (Array.isArray(found["enum"])) return { ...field, kind: "choice", choices: found["enum"] };
  if (found["const"] !== undefined) return { ...field, kind: "choice", choices: [found["const"]] };
  if (kind === "string" || kind === "integer" || kind === "number" || kind === "boolean") {
    return { ...field, kind };
  }
  if (kind === "array" && isObject(found["items"])) {
    const [items] = resolved(found["items"], root);
    const item = items["enum"] ? undefined : kindOf(items);
    if (item === "string" || item === "integer" || item === "number") {
      return { ...field, kind: "list", item };
    }
  }
  const properties = found["properties"];
  if (kind === "object" && isObject(properties) && depth < DEEPEST) {
    const names = Object.keys(properties);
    const wanted = Array.isArray(found["required"]) ? found["required"] : [];
    if (names.length && names.length <= MOST && names.every((one) => isObject(properties[one]))) {
      const fields = names.map((one) =>
        fieldOf(properties[one] as Schema, root, one, wanted.includes(one), depth + 1),
      );
      return { ...field, kind: "object", fields };
    }
  }
  return field;
}

export const pathOf = (above: string, field: Field): string =>
  above ? `${above}.${field.name}` : field.name || "answer";

/** Return what a field holds before anybody fills it in. */
export function initialOf(field: Field, above = "", given = field.initial): Filled {
  const path = pathOf(above, field);
  if (field.kind === "object") {
    const values = isObject(given) ? given : {};
    return Object.assign(
      {},
      ...field.fields.map((one) => initialOf(one, path, values[one.name] ?? one.initial)),
    );
  }
  if (given === undefined || given === null) return { [path]: "" };
  if (field.kind === "choice") return { [path]: JSON.stringify(given) };
  if (field.kind === "list" && Array.isArray(given)) return { [path]: given.map(String).join("\n") };
  const plain = field.kind !== "json" && typeof given !== "object";
  return { [path]: plain ? String(given) : JSON.stringify(given, null, 2) };
}

/** Return the value of a field; undefined if it is left out. Problems are noted by path. */
export function valueOf(field: Field, filled: Filled, problems: Problems, above = ""): Json | undefined {
  const path = pathOf(above, field);
  if (field.kind === "object") return objectOf(field, filled, problems, path);
  const text = filled[path] ?? "";
  if (text.trim() === "") {
    if (field.kind === "list" && field.required) return [];
    if (!field.required) return undefined;
    if (field.nullable) return null;
    problems[path] = "This is needed.";
    return undefined;
  }
  try {
    return read(field, text);
  } catch (error) {
    problems[path] = (error as Error).message;
    return undefined;
  }
}

function objectOf(field: Field, filled: Filled, problems: Problems, path: string): Json | undefined {
  const found: JsonObject = {};
  const before = Object.keys(problems).length;
  const own: Problems = {};
  for (const one of field.fields) {
    const value = valueOf(one, filled, own, path);
    if (value !== undefined) found[one.name] = value;
  }
  const untouched = Object.entries(filled).every(
    ([key, text]) => !key.startsWith(`${path}.`) || text === "",
  );
  if (untouched && !field.required) return undefined;
  if (untouched && field.nullable) return null;
  Object.assign(problems, own);
  return Object.keys(problems).length > before ? undefined : found;
}

function read(field: Field, text: string): Json {
  switch (field.kind) {
    case "string":
      return text;
    case "boolean":
      return text === "true";
    case "integer":
    case "number":
      return number(text, field.kind);
    case "choice":
      return JSON.parse(text) as Json;
    case "list": {
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      return lines.map((line) => (field.item === "string" ? line : number(line, field.item)));
    }
    default:
      try {
        return JSON.parse(text) as Json;
      } catch {
        throw new Error("This is not JSON.");
      }
  }
}

function number(text: string, kind: "integer" | "number"): number {
  const found = Number(text.trim());
  if (text.trim() === "" || !Number.isFinite(found)) throw new Error(`${text.trim()} is no number.`);
  if (kind === "integer" && !Number.isSafeInteger(found)) {
    throw new Error(`${text.trim()} is no whole number.`);
  }
  return found;
}

/** Find the field that an error of the server is about: "the answer.age is ...". */
export function problemAt(message: string, field: Field): string {
  const named = /the answer((?:\.\w+)*)/.exec(message)?.[1];
  const root = pathOf("", field);
  return named ? `${root}${named}` : root;
}

// JSON schemas as fields of a form.

import type { Json, JsonObject } from "./types";

export type Schema = { [key: string]: Json };

type Plain = "string" | "integer" | "number" | "boolean";

export interface Field {
  name: string;
  label: string;
  help: string;
  /** `list` is a list of plain values, one on each line; `rows` one of anything; `map` has any names. */
  kind: Plain | "choice" | "list" | "object" | "rows" | "map" | "union" | "json";
  required: boolean;
  nullable: boolean;
  initial: Json | undefined;
  choices: Json[];
  /** The schema, for its limits. */
  rules: Schema;
  /** The fields of an object, the kinds of a union, or the one of every entry. */
  fields: Field[];
}

/** What is filled in: text by the path of its field; for entries their numbers, for a union that of its kind. */
export type Filled = { [path: string]: string };
export type Problems = { [path: string]: string };

const DEEPEST = 6;
const MOST = 40; // fields of an object
const MOST_FIELDS = 400; // of a form

/** Where the name of a map's entry is filled in. */
export const namePath = (path: string) => `${path} name`;

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const kindOf = (schema: Schema): string | undefined =>
  typeof schema["type"] === "string" ? schema["type"].toLowerCase() : undefined;

/** Follow references, and take the only choice beside null; several choices stay as `anyOf`. */
function resolved(schema: Schema, root: Schema): [Schema, boolean] {
  let found: Schema = schema;
  let nullable = false;
  for (let step = 0; step < 10; step++) {
    const { $ref: reference, allOf: all } = found;
    const types = Array.isArray(found["type"]) ? found["type"].map((type): Json => ({ ...found, type })) : undefined;
    const choices: Json | undefined = found["anyOf"] ?? found["oneOf"] ?? types;
    if (typeof reference === "string") {
      const known = root["$defs"] ?? root["definitions"];
      const next = isObject(known) ? known[reference.split("/").pop()!] : undefined;
      if (!isObject(next)) return [{}, nullable];
      found = next;
    } else if (Array.isArray(choices)) {
      const rest = choices.filter(isObject).filter((one) => kindOf(one) !== "null");
      nullable ||= rest.length < choices.length;
      if (rest.length !== 1) return [{ anyOf: rest }, nullable];
      found = rest[0]!;
    } else if (Array.isArray(all) && all.length === 1 && isObject(all[0])) found = all[0] as Schema;
    else break;
  }
  return [found, nullable || found["nullable"] === true];
}

interface Root {
  schema: Schema;
  /** How many fields there may still be: a schema may name itself again and again. */
  left: number;
}

export function fieldOf(
  schema: Schema,
  root: Root = { schema, left: MOST_FIELDS },
  name = "",
  required = true,
  depth = 0,
): Field {
  const [found, nullable] = resolved(schema, root.schema);
  const text = (key: string) => String(schema[key] ?? found[key] ?? "");
  const label = name || text("title") || "Answer";
  const initial = schema["default"] ?? found["default"];
  const field: Field = {
    ...{ name, label, help: text("description"), kind: "json", required, nullable, initial },
    ...{ choices: [], rules: found, fields: [] },
  };
  const kind = kindOf(found);
  root.left -= 1;
  if (Array.isArray(found["enum"])) return { ...field, kind: "choice", choices: found["enum"] };
  if (found["const"] !== undefined) return { ...field, kind: "choice", choices: [found["const"]] };
  if (kind === "string" || kind === "integer" || kind === "number" || kind === "boolean") {
    return { ...field, kind };
  }
  if (depth >= DEEPEST || root.left < 0) return field;
  const inner = (one: Schema, key: string, needed = true) => fieldOf(one, root, key, needed, depth + 1);
  const { anyOf: options, items, properties, additionalProperties: others } = found;
  if (Array.isArray(options) && options.length > 1 && options.length <= MOST) {
    const fields = (options as Schema[]).map((one, at) => {
      const [option] = resolved(one, root.schema);
      const made = inner(one, String(at));
      return { ...made, label: labelOf(made, String(one["title"] ?? option["title"] ?? "")) };
    });
    return fields.every((one) => one.kind === "json") ? field : { ...field, kind: "union", fields };
  }
  if (kind === "array" && isObject(items)) {
    const item = inner(items, "0");
    const plain = !item.nullable && ["string", "integer", "number"].includes(item.kind);
    return { ...field, kind: plain ? "list" : "rows", fields: [item] };
  }
  if (kind !== "object") return field;
  if (isObject(properties) && Object.keys(properties).length) {
    const wanted = Array.isArray(found["required"]) ? found["required"] : [];
    const all = Object.entries(properties);
    if (all.length > MOST || !all.every(([, one]) => isObject(one))) return field;
    const fields = all.map(([key, one]) => inner(one as Schema, key, wanted.includes(key)));
    return { ...field, kind: "object", fields };
  }
  if (others === false) return field;
  return { ...field, kind: "map", fields: [inner(isObject(others) ? others : {}, "0")] };
}

const KINDS: { [kind in Field["kind"]]?: string } = {
  string: "text", integer: "whole number", boolean: "yes or no", rows: "list", map: "names and values", json: "JSON",
};

/** What a kind of a union is called: by the value that tells it apart, its title, or its type. */
function labelOf(field: Field, title: string): string {
  const told = field.fields.find(isFixed)?.choices[0];
  return field.kind === "object" && told !== undefined ? String(told) : title || (KINDS[field.kind] ?? field.kind);
}

/** Whether a field has but one value, so that there is nothing to fill in. */
export const isFixed = (field: Field): boolean =>
  field.kind === "choice" && field.choices.length === 1 && field.required && !field.nullable;

export const pathOf = (above: string, field: Field): string =>
  above ? `${above}.${field.name}` : field.name || "answer";

/** The field of an entry of a list or a map. */
export const entryOf = (field: Field, id: number): Field => ({ ...field.fields[0]!, name: String(id) });

/** The numbers of a field's entries. */
export const entriesOf = (text: string | undefined): number[] => (text ? (JSON.parse(text) as number[]) : []);

/** The kind of a union that is chosen. */
export const chosenOf = (field: Field, text: string | undefined): Field | undefined =>
  text ? field.fields[Number(text)] : undefined;

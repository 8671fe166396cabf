// What model calls cost: list prices from the server, those of the app's budget, those of the person.

import { signal } from "@preact/signals";
import type { Event, ModelPrice, Prices, Span, Usage } from "./types";

const KEPT = "ostinato-prices";
const MILLION = 1e6;

/** The server's prices of the open app; undefined until they are there. */
export const listed = signal<Prices | undefined>(undefined);

/** Prices that the person gave, by model: "in, cached, out" for a million tokens. */
export const given = signal<{ [model: string]: string }>(keptPrices());

/** The models of the open app's agents, by the agent's name. */
export const agentModels = signal<{ [agent: string]: string }>({});

/** Tokens of model calls; `input` includes those from the cache. */
export interface Tokens {
  input: number;
  cached: number;
  thoughts: number;
  output: number;
}

function keptPrices(): { [model: string]: string } {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    const isRecord = kept !== null && typeof kept === "object" && !Array.isArray(kept);
    return isRecord ? kept : {};
  } catch {
    return {};
  }
}

/** Keep a person's prices of a model; an empty text forgets them. */
export function keepPrice(model: string, text: string): void {
  const { [model]: _, ...others } = given.value;
  given.value = text.trim() ? { ...others, [model]: text } : others;
  localStorage.setItem(KEPT, JSON.stringify(given.value));
}

/** Read "in, cached, out"; undefined if it is not three numbers. */
export function readPrice(text: string): ModelPrice | undefined {
  const found = text.split(/[\s,/]+/).filter(Boolean).map(Number);
  if (found.length !== 3 || !found.every((one) => Number.isFinite(one) && one >= 0)) return undefined;
  const [input, cached, output] = found as [number, number, number];
  return { input, cached, output };
}

export const writePrice = (price: ModelPrice): string =>
  [price.input, price.cached ?? price.input, price.output].join(", ");

const pick = <T>(record: { [key: string]: T }, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

const ENDING =
  /(?:@[a-z0-9-]{1,20}|-(?:latest|preview|exp|\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|0\d\d|v\d:\d))$/;

/** The list price of a model, as `find_list_price` of the server finds it. */
function findListPrice(model: string, prices: Prices["prices"]): ModelPrice | undefined {
  const own = (name: string) => pick(prices, name);
  let name = model.toLowerCase();
  if (own(name)) return own(name);
  name = name.split("/").pop()!.split("anthropic.").pop()!;
  const colon = name.indexOf(":");
  if (colon > 0 && !own(name.slice(0, colon)) && !/^\d+$/.test(name.slice(colon + 1))) {
    name = name.slice(colon + 1);
  }
  for (let step = 0; step < 4; step += 1) {
    if (own(name)) return own(name);
    const shorter = name.replace(ENDING, "");
    if (shorter === name) return undefined;
    name = shorter;
  }
  return undefined;
}

/** The price of a model: the person's, else the budget's, else the list's. */
export function priceOf(model: string): ModelPrice | undefined {
  const mine = pick(given.value, model);
  if (mine !== undefined) return readPrice(mine);
  const found = listed.value;
  if (!found) return undefined;
  if (Object.keys(found.own).length) return pick(found.own, model);
  return findListPrice(model, found.prices);
}

/** Where the price of a model comes from, in words. */
export function originOf(model: string): string {
  if (pick(given.value, model) !== undefined) return "your price";
  const found = listed.value;
  if (!found) return "";
  if (Object.keys(found.own).length) return pick(found.own, model) ? "price of the app's budget" : "";
  return findListPrice(model, found.prices) ? `list price of ${found.asOf}` : "";
}

/** The sign before an amount: list prices are dollars, a budget's have any currency. */
export const money = (amount: number, most = 6): string => {
  const own = Object.keys(listed.value?.own ?? {}).length > 0;
  // The sum of single calls and that of their tokens may differ in the last bit: half rounds up in both.
  const digits = amount >= 1 ? 2 : amount >= 0.01 ? 4 : amount >= 1e-4 ? most : 6;
  return `${own ? "" : "$"}${(amount * (1 + 1e-12)).toFixed(digits)}`;
};

export const tokensOfUsage = (usage: Usage | undefined): Tokens => ({
  input: usage?.promptTokenCount ?? 0,
  cached: usage?.cachedContentTokenCount ?? 0,
  thoughts: usage?.thoughtsTokenCount ?? 0,
  output: usage?.candidatesTokenCount ?? 0,
});

/** Tokens of a model call, from its span; those of thoughts are in the output. */
export function tokensOfSpan(span: Span): Tokens {
  const number = (key: string) => {
    const found = span.attributes[`gen_ai.usage.${key}`];
    return typeof found === "number" ? found : 0;
  };
  return {
    input: number("input_tokens"),
    cached: number("cache_read.input_tokens"),
    thoughts: 0,
    output: number("output_tokens"),
  };
}

export const addTokens = (one: Tokens, other: Tokens): Tokens => ({
  input: one.input + other.input,
  cached: one.cached + other.cached,
  thoughts: one.thoughts + other.thoughts,
  output: one.output + other.output,
});

export const NO_TOKENS: Tokens = { input: 0, cached: 0, thoughts: 0, output: 0 };

export const countTokens = (tokens: Tokens): number => tokens.input + tokens.thoughts + tokens.output;

/** What tokens cost; undefined if the model has no price, 0 for none. */
export function costOf(tokens: Tokens, model: string): number | undefined {
  if (countTokens(tokens) === 0) return 0;
  const price = priceOf(model);
  if (!price) return undefined;
  const fresh = Math.max(0, tokens.input - tokens.cached);
  const made = tokens.output + tokens.thoughts;
  const cached = price.cached ?? price.input;
  return (fresh * price.input + tokens.cached * cached + made * price.output) / MILLION;
}

/** The sum of costs; undefined if one of them is not known. */
export const addCosts = (costs: readonly (number | undefined)[]): number | undefined =>
  costs.reduce<number | undefined>(
    (sum, one) => (sum === undefined || one === undefined ? undefined : sum + one),
    0,
  );

/** The model of an event: as it was asked for, as it calls itself, or its agent's; one with a price, if any has. */
export function modelOf(event: Event, span?: Span): string {
  const asked = span?.attributes["gen_ai.request.model"];
  const names = [asked, event.modelVersion, agentModels.value[event.author]].filter(
    (name): name is string => typeof name === "string" && name !== "",
  );
  return names.find(priceOf) ?? names[0] ?? "";
}

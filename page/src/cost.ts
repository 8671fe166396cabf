// What tokens cost, by the prices that a person set for each model.

import type { Usage } from "./turns";

const PRICES = "ostinato-prices";

/** Return dollars, or undefined if the prices of one of the models are not known. */
export function costOf(usage: Usage[] | undefined): number | undefined {
  if (!usage?.length) return undefined;
  let kept: { [model: string]: unknown };
  try {
    kept = JSON.parse(localStorage.getItem(PRICES) ?? "{}");
  } catch {
    return undefined;
  }
  let sum = 0;
  for (const one of usage) {
    const given = String(kept?.[one.model] ?? "").split(/[\s,/]+/).filter(Boolean).map(Number);
    const [input, cached, output] = given as [number, number, number];
    if (given.length !== 3 || !given.every(Number.isFinite)) return undefined;
    sum += (one.prompt - one.cached) * input + one.cached * cached + one.output * output;
  }
  return sum / 1e6;
}

export const dollars = (value: number): string =>
  value >= 0.01 || value === 0 ? `$${value.toFixed(2)}` : `$${value.toPrecision(2)}`;

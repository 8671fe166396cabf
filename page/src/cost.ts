// What tokens cost, by the prices of each model.

import { addCosts, costOf as costOfTokens } from "./prices";
import type { Usage } from "./turns";

/** Return what calls cost, or undefined if the prices of one of the models are not known. */
export function costOf(usage: Usage[] | undefined): number | undefined {
  if (!usage?.length) return undefined;
  return addCosts(
    usage.map((one) => {
      const tokens = { input: one.prompt, cached: one.cached, thoughts: 0, output: one.output };
      return costOfTokens(tokens, one.model);
    }),
  );
}

export { money as dollars } from "./prices";

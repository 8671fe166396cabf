// Tokens, cost and time of the selected event, its turn, and what is loaded of the session.

import { duration, count } from "../format";
import * as prices from "../prices";
import { spanOf } from "../spans";
import * as s from "../state";
import type { Event, Numbered } from "../types";
import { sumUsage } from "../waterfall";

const KINDS = [
  ["prompt", "input"],
  ["cached", "cached"],
  ["thoughts", "thoughts"],
  ["output", "output"],
] as const;

export function CostTab({ one }: { one: Numbered }) {
  const spanOfEvent = (event: Event) => spanOf(event, s.spans.value);
  const turn = s.events.value.filter((x) => x.event.invocationId === one.event.invocationId);
  const parts = [[one], turn, s.events.value];
  const columns = (["event", "turn", "loaded"] as const).map(
    (name, index) => [name, sumUsage(parts[index]!, spanOfEvent)] as const,
  );
  const span = spanOfEvent(one.event);
  const first = span?.attributes["gen_ai.response.time_to_first_chunk"];
  return (
    <>
      <table class="state numbers" aria-label="Tokens and cost">
        <thead>
          <tr>
            <th>tokens</th>
            {columns.map(([name]) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {KINDS.map(([kind, key]) => (
            <tr key={kind}>
              <th>{kind}</th>
              {columns.map(([name, { tokens }]) => (
                <td key={name}>{count(tokens[key])}</td>
              ))}
            </tr>
          ))}
          <tr>
            <th>cost</th>
            {columns.map(([name, { cost }]) => (
              <td key={name}>{cost === undefined ? "–" : prices.money(cost)}</td>
            ))}
          </tr>
        </tbody>
      </table>
      {one.event.usageMetadata && <Price model={prices.modelOf(one.event, span)} />}
      {span && (
        <dl class="args">
          <Fact name={span.name} value={span.end ? duration(span.end - span.start) : "runs"} />
          {typeof first === "number" && <Fact name="first chunk after" value={duration(first)} />}
          {one.event.modelVersion && <Fact name="model" value={one.event.modelVersion} />}
        </dl>
      )}
    </>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** The price of a model, and a field for another one. */
function Price({ model }: { model: string }) {
  const known = prices.priceOf(model);
  const origin = prices.originOf(model);
  const name = `Prices of ${model || "this model"}: dollars for a million tokens in, cached, out`;
  return (
    <p class="price">
      <label>
        <span class="quiet">{name}</span>
        <input
          class="prices"
          value={prices.given.value[model] ?? ""}
          placeholder={known ? prices.writePrice(known) : "in, cached, out"}
          onInput={(event) => prices.keepPrice(model, event.currentTarget.value)}
        />
      </label>
      <span class="quiet">
        {origin || "No price is known: the cost is left out until you give one."}
        {origin === "your price" && !known && ": write three numbers, such as 0.3, 0.03, 2.5"}
      </span>
    </p>
  );
}

// Which sessions the finder looks at.

import type { Filters } from "../finding";
import * as s from "../state";

interface Props {
  filters: Filters;
  change: (filters: Filters) => void;
}

export function FinderFilters({ filters, change }: Props) {
  const set = (name: keyof Filters) => (event: Event) =>
    change({ ...filters, [name]: (event.currentTarget as HTMLInputElement).value });
  const agents = Object.keys(s.tree.value?.agents ?? {});
  const tools = [
    ...new Set(
      Object.values(s.tree.value?.agents ?? {}).flatMap((agent) =>
        agent.tools.flatMap((tool) => (tool.functionDeclarations ?? []).map((one) => one.name)),
      ),
    ),
  ];
  return (
    <div class="filters" role="group" aria-label="Filters">
      <select aria-label="State" value={filters.state} onChange={set("state")}>
        <option value="">any state</option>
        <option value="running">running</option>
        <option value="waiting">waits for you</option>
        <option value="failed">failed</option>
        <option value="error">with an error</option>
        <option value="stuck">stuck</option>
      </select>
      <select aria-label="Time" value={filters.days} onChange={set("days")}>
        <option value="">any time</option>
        <option value="1">last day</option>
        <option value="7">last week</option>
        <option value="30">last month</option>
      </select>
      <select aria-label="Agent that spoke" value={filters.agent} onChange={set("agent")}>
        <option value="">any agent</option>
        {agents.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select aria-label="Tool that was called" value={filters.tool} onChange={set("tool")}>
        <option value="">any tool</option>
        {tools.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <label>
        <input
          type="checkbox"
          checked={filters.everyone}
          onChange={(event) => change({ ...filters, everyone: event.currentTarget.checked })}
        />
        all users
      </label>
    </div>
  );
}

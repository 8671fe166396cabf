// Which sessions the finder looks at.

import { filters } from "../finding";
import * as s from "../state";
import { Check } from "./Check";

export function FinderFilters() {
  const set = (name: "agent" | "tool" | "state" | "days") => (event: Event) =>
    (filters[name].value = (event.currentTarget as HTMLSelectElement).value);
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
      <select aria-label="State" value={filters.state.value} onChange={set("state")}>
        <option value="">any state</option>
        <option value="running">running</option>
        <option value="waiting">waits for you</option>
        <option value="failed">failed</option>
        <option value="error">with an error</option>
        <option value="stuck">stuck</option>
      </select>
      <select aria-label="Time" value={filters.days.value} onChange={set("days")}>
        <option value="">any time</option>
        <option value="1">last day</option>
        <option value="7">last week</option>
        <option value="30">last month</option>
      </select>
      <select aria-label="Agent that spoke" value={filters.agent.value} onChange={set("agent")}>
        <option value="">any agent</option>
        {agents.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select aria-label="Tool that was called" value={filters.tool.value} onChange={set("tool")}>
        <option value="">any tool</option>
        {tools.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <Check flag={filters.everyone}>all users</Check>
    </div>
  );
}

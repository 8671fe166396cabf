// The session's state as it is now, by scope.

import * as s from "../state";
import type { Json } from "../types";

export function StateView() {
  const state = s.session.value?.state ?? {};
  const entries = Object.entries(state).sort(([a], [b]) => a.localeCompare(b));
  if (!entries.length) return <p class="quiet">The state is empty.</p>;
  return (
    <table class="state" aria-label="State of the session">
      <thead>
        <tr>
          <th>key</th>
          <th>value</th>
        </tr>
      </thead>
      <tbody>
        {entries.map(([key, value]) => (
          <tr key={key}>
            <th>{key}</th>
            <td>
              <Value value={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Value({ value }: { value: Json }) {
  const text = JSON.stringify(value, null, 2);
  if (text.length < 200) return <code>{text}</code>;
  return (
    <details>
      <summary>{text.slice(0, 80)}…</summary>
      <pre class="code">{text}</pre>
    </details>
  );
}

// A box to tick, for a setting that the address tells.

import type { Signal } from "@preact/signals";

interface Props {
  flag: Signal<"" | "yes">;
  children: string;
}

export function Check({ flag, children }: Props) {
  return (
    <label>
      <input
        type="checkbox"
        checked={flag.value === "yes"}
        onChange={(event) => (flag.value = event.currentTarget.checked ? "yes" : "")}
      />{" "}
      {children}
    </label>
  );
}

// What a person has set on the screen and the page's address tells: a view, a filter, a tab.

import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

interface Options<T extends string> {
  /** The values that there are; anything if it is left out. */
  among?: readonly T[];
  /** Whether it can be seen now; else the address does not tell it. */
  shown?: () => boolean;
  /** Whether it is typed, so that a change is no step back to which the browser leads. */
  typed?: boolean;
}

interface Setting extends Options<string> {
  name: string;
  initial: string;
  value: Signal<string>;
}

/** Whether what is changed now is no step to which the browser leads back. */
export let quiet = false;

/** Change something without such a step. */
export function inPlace(change: () => void): void {
  quiet = true;
  try {
    change();
  } finally {
    quiet = false;
  }
}

export const settings: Setting[] = [];

/** Make a setting: its name in the address, and the value that the address does not tell. */
export function setting<T extends string = string>(
  name: string,
  initial: NoInfer<T>,
  options: Options<T> = {},
): Signal<T> {
  const value = signal<T>(initial);
  settings.push({ name, initial, value, ...options } as unknown as Setting);
  return value;
}

/** A setting that is on or off. */
export const flag = (name: string, shown: () => boolean): Signal<"" | "yes"> =>
  setting(name, "", { among: ["", "yes"], shown });

/** Take the settings from an address; those that can be seen and that it does not name are as at first. */
export function take(wanted: URLSearchParams): void {
  for (const { name, initial, value, among, shown } of settings) {
    const given = wanted.get(name);
    if (given !== null) value.value = !among || among.includes(given) ? given : initial;
    else if (shown?.() ?? true) value.value = initial;
  }
}

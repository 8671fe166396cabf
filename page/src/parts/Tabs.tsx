// Tabs as everywhere: one stop for the Tab key, arrows, Home and End between them.

import { useEffect, useRef } from "preact/hooks";

interface Props<T extends string> {
  label: string;
  tabs: readonly (readonly [T, string])[];
  chosen: T;
  choose: (tab: T) => void;
  /** Id of the element that shows what was chosen. */
  panel: string;
}

export function Tabs<T extends string>({ label, tabs, chosen, choose, panel }: Props<T>) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>("[aria-selected=true]");
    if (list.current && tab) list.current.scrollLeft = tab.offsetLeft - (list.current.clientWidth - tab.offsetWidth) / 2;
  }, [chosen]);
  const onKey = (event: KeyboardEvent) => {
    const at = tabs.findIndex(([name]) => name === chosen);
    const to = {
      ArrowRight: (at + 1) % tabs.length,
      ArrowLeft: (at + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(tabs[to]![0]);
    (event.currentTarget as HTMLElement).querySelectorAll("button")[to]!.focus();
  };
  return (
    <div ref={list} class="tabs" role="tablist" aria-label={label} onKeyDown={onKey}>
      {tabs.map(([name, text]) => (
        <button
          key={name}
          role="tab"
          id={`${panel}-${name}`}
          aria-selected={name === chosen}
          aria-controls={panel}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => choose(name)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

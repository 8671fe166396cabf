// A menu of actions: closed by Escape, by a choice, and when focus goes elsewhere.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  const close = () => box.current?.removeAttribute("open");
  return (
    <details
      class="menu"
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !box.current!.open) return;
        event.preventDefault();
        close();
        box.current!.querySelector("summary")!.focus();
      }}
      onFocusOut={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) close();
      }}
    >
      <summary aria-label={label}>⋯</summary>
      <div onClick={close} onMouseDown={(event) => event.preventDefault()}>
        {children}
      </div>
    </details>
  );
}

// A dialog: it keeps focus within, and gives it back to where it was.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface Props {
  label: string;
  /** What Escape and a click beside it do; without it the dialog stays. */
  close?: () => void;
  children: ComponentChildren;
}

export function Dialog({ label, close, children }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const [dialog, before] = [box.current!, document.activeElement];
    dialog.showModal();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      class="dialog"
      ref={box}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
      onClick={(event) => event.target === box.current && close?.()}
    >
      {children}
    </dialog>
  );
}

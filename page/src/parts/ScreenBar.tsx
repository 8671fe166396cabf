// The bar of a screen that is about all sessions, with a way back to the open one.

import type { ComponentChildren } from "preact";
import * as s from "../state";
import { Icon } from "./Icon";

export function ScreenBar({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <header class="bar">
      <h1>{title}</h1>
      {children}
      <button class="icon" aria-label="Back to the session" title="Back to the session" onClick={() => (s.screen.value = "session")}>
        <Icon name="close" />
      </button>
    </header>
  );
}

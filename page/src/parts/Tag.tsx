// A short word with its drawing that tells what something is.

import type { ComponentChildren } from "preact";
import { Icon } from "./Icon";
import type { IconName } from "./Icon";

export type TagKind = "" | "done" | "failed" | "waits" | "acts";

interface Props {
  kind?: TagKind;
  icon: IconName;
  children: ComponentChildren;
}

export function Tag({ kind = "", icon, children }: Props) {
  return (
    <span class={`tag ${kind}`}>
      <Icon name={icon} />
      {children}
    </span>
  );
}

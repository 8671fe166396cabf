// The session as a conversation.

import * as act from "../actions";
import * as s from "../state";
import type { Numbered } from "../types";
import { VirtualList } from "../virtual";
import { EventCard } from "./EventCard";

const keyOf = (one: Numbered) => (one.number ? one.event.id : `open-${one.event.author} ${one.event.branch}`);

export function Chat() {
  return (
    <VirtualList
      key={s.session.value?.id}
      items={s.rows.value}
      keyOf={keyOf}
      guess={72}
      label="Conversation"
      stick
      show={s.selected.value}
      onTop={() => void act.loadOlder()}
      render={(one) => <EventCard one={one} actions />}
    />
  );
}

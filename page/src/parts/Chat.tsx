// The session as a conversation.

import * as act from "../actions";
import * as s from "../state";
import { VirtualList } from "../virtual";
import { EventCard } from "./EventCard";

export function Chat() {
  return (
    <VirtualList
      key={s.session.value?.id}
      items={s.shownRows.value}
      keyOf={(row) => row.key}
      guess={72}
      label="Conversation"
      stick
      end={s.sent.value}
      show={s.selected.value}
      onTop={() => void act.loadOlder()}
      before={s.unloaded.value}
      render={(row, at) => <EventCard row={row} at={at} actions />}
    />
  );
}

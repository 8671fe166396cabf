// Beside a call: who let it run or refused it, and when; and what a policy said.

import { decisions } from "../decisions";
import { clock, day } from "../format";
import { revealed } from "../hidden";
import { policyOn } from "../rules";
import * as s from "../state";
import type { Numbered } from "../types";
import { Exact } from "./Exact";
import { Tag } from "./Tag";

export const when = (seconds: number): string => {
  const date = day(seconds);
  return date.includes(":") ? clock(seconds) : `${date} ${clock(seconds)}`; // today has no date
};

export function WhoDecided({ call, one }: { call: string | undefined; one: Numbered }) {
  const known = call === undefined ? undefined : decisions.value.get(call);
  const made = known && known.one.number < one.number ? known : undefined; // not beside what asked
  const policy = policyOn(one.event.customMetadata, call);
  if (!made && !policy) return null;
  return (
    <p class="decided-by">
      {made && (
        <>
          <Tag kind={made.approved ? "done" : "failed"} icon={made.approved ? "check" : "close"}>
            {made.edited ? "approved with changes" : revealed(made.outcome)}
          </Tag>{" "}
          <span class="quiet">
            by <Exact text={s.session.value?.userId ?? ""} />, {when(made.one.event.timestamp)}
          </span>
        </>
      )}
      {policy && <span class="chip">policy: {revealed(policy)}</span>}
    </p>
  );
}

// Where the developer's code failed: file, line and the lines around it; the rest of the stack folds.

import { useEffect, useState } from "preact/hooks";
import * as s from "../state";
import { readTracebacks, tracebackOf } from "../tracebacks";
import type { Traceback as Traced, TracebackFrame, TracedError } from "../wire";
import { Copy } from "./Copy";
import { Exact } from "./Exact";
import { SourceLines } from "./SourceLines";

interface Props {
  invocation: string;
  /** The call that failed; without it, the error that ended the run. */
  call?: string | undefined;
  type?: string | undefined;
}

export function Traceback({ invocation, call, type }: Props) {
  const [found, setFound] = useState<Traced | undefined>();
  const [open, setOpen] = useState(false);
  const running = s.running.value;
  useEffect(() => {
    if (found) return;
    let current = true;
    const again = !running; // what a run did last is known when it has ended
    void readTracebacks(invocation, again).then((all) => current && setFound(tracebackOf(all, call, type)));
    return () => {
      current = false;
    };
  }, [invocation, call, running]);
  if (!found) return null;
  const own = lastOwn(found);
  return (
    <details class="traceback" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Where it failed
        {own && (
          <span class="quiet">
            {" "}
            {own.file}:{own.line}, in {own.function}
          </span>
        )}
      </summary>
      {open &&
        found.errors.map((error, at) => (
          <OneError key={at} error={error} cause={at > 0} told={at === 0 && (call !== undefined || error.type === type)} />
        ))}
    </details>
  );
}

/** The innermost frame of the developer's code. */
function lastOwn(found: Traced): TracebackFrame | undefined {
  for (const error of found.errors) {
    const own = error.frames.findLast((frame) => frame.isOwn);
    if (own) return own;
  }
  return undefined;
}

interface OneProps {
  error: TracedError;
  cause: boolean;
  /** Whether the error stands above already. */
  told: boolean;
}

function OneError({ error, cause, told }: OneProps) {
  return (
    <section>
      {!told && (
        <p class="error">
          <span>
            {cause && "caused by "}
            <strong>{error.type}</strong> <Exact text={error.message} />
          </span>
        </p>
      )}
      {groupsOf(error.frames).map((group, at) =>
        group[0]!.isOwn ? (
          group.map((frame, n) => <Own key={`${at} ${n}`} frame={frame} />)
        ) : (
          <Foreign key={at} frames={group} />
        ),
      )}
    </section>
  );
}

/** Frames in a row that are all the developer's, or none of them. */
export function groupsOf(frames: TracebackFrame[]): TracebackFrame[][] {
  const found: TracebackFrame[][] = [];
  for (const frame of frames) {
    const last = found[found.length - 1];
    if (last?.[0]?.isOwn === frame.isOwn) last.push(frame);
    else found.push([frame]);
  }
  return found;
}

function Own({ frame }: { frame: TracebackFrame }) {
  const place = `${frame.file}:${frame.line}`;
  return (
    <figure class="code-block">
      <figcaption>
        <span class="quiet">
          {place}, in {frame.function}
        </span>
        <Copy text={place} what="file and line" />
      </figcaption>
      {frame.lines.length > 0 && (
        <SourceLines label={`${place}, in ${frame.function}`} lines={frame.lines} first={frame.first} line={frame.line} />
      )}
    </figure>
  );
}

function Foreign({ frames }: { frames: TracebackFrame[] }) {
  return (
    <details class="foreign">
      <summary class="quiet">
        {frames.length} {frames.length === 1 ? "frame" : "frames"} of other code
      </summary>
      <ul>
        {frames.map((frame, at) => (
          <li key={at} class="quiet">
            <code>
              {frame.file}:{frame.line}
            </code>{" "}
            in {frame.function}
          </li>
        ))}
      </ul>
    </details>
  );
}

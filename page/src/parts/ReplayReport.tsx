// A report of `ostinato replay`: what came out differently, and the recorded session at that step.

import { useRef, useState } from "preact/hooks";
import { compare } from "../jsondiff";
import * as replay from "../replay";
import type { Outcome, Replayed } from "../replay";
import * as s from "../state";
import { Changes } from "./Changes";
import { Check } from "./Check";
import { OneCall } from "./EvalTurns";
import { Exact } from "./Exact";
import { Tag } from "./Tag";

export function ReplayReport() {
  const [wrong, setWrong] = useState("");
  const found = replay.report.value;
  const picker = useRef<HTMLInputElement>(null);
  const take = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    const file = input.files?.[0];
    input.value = "";
    if (!file) return;
    void file.text().then((content) => {
      try {
        replay.keepReport(file.name, content);
        setWrong("");
      } catch (error) {
        setWrong((error as Error).message);
      }
    });
  };
  return (
    <>
      <div class="row wraps">
        <button onClick={() => picker.current?.click()}>Open a report</button>
        <input ref={picker} type="file" accept="application/json,.json" hidden onChange={take} />
        <span class="quiet">
          Write one with <code>ostinato replay {s.app.value || "AGENT"} --json report.json</code>
        </span>
      </div>
      {wrong && (
        <p class="error" role="alert">
          {wrong}
        </p>
      )}
      {found && <Invocations key={found.file} report={found} />}
    </>
  );
}

const ORDER = Object.keys(replay.OUTCOMES) as Outcome[];

function Invocations({ report }: { report: replay.Report }) {
  const whole = replay.whole.value === "yes";
  const all = report.invocations.toSorted((a, b) => ORDER.indexOf(a.outcome) - ORDER.indexOf(b.outcome));
  const shown = whole ? all : all.filter((one) => one.outcome !== "same");
  const counts = ORDER.map((outcome) => [outcome, all.filter((one) => one.outcome === outcome).length] as const);
  const skipped = report.skipped.reduce((sum, [, many]) => sum + many, 0);
  return (
    <>
      <h2>
        <Exact text={report.agent.split("/").findLast(Boolean) ?? ""} />{" "}
        <span class="quiet">
          <Exact text={report.file} />
        </span>
      </h2>
      <p class="compare-note">
        {all.length} {all.length === 1 ? "invocation" : "invocations"} replayed: {counts.filter(([, many]) => many).map(([outcome, many]) => `${many} ${replay.OUTCOMES[outcome]}`).join(", ")}.
        {skipped > 0 && ` ${skipped} left out.`}
        {report.interrupted && " The replay was interrupted."}{" "}
        <Check flag={replay.whole}>also those that are the same</Check>
      </p>
      {shown.length === 0 && <p class="quiet">Nothing came out differently.</p>}
      <ul class="rows" aria-label="Replayed invocations">
        {shown.map((one, at) => (
          <Invocation key={`${one.session} ${one.invocation} ${at}`} one={one} />
        ))}
      </ul>
    </>
  );
}

function Invocation({ one }: { one: Replayed }) {
  const [busy, setBusy] = useState(false);
  const go = () => {
    setBusy(true);
    void replay.openAt(one).finally(() => setBusy(false));
  };
  const bad = one.outcome === "diverged" || one.outcome === "failed";
  const at = one.step === undefined ? "" : `, from step ${one.step} on`;
  return (
    <li>
      <details>
        <summary>
          <Tag kind={one.outcome === "same" ? "done" : bad ? "failed" : "waits"} icon={one.outcome === "same" ? "check" : bad ? "alert" : "rows"}>
            {replay.OUTCOMES[one.outcome]}
          </Tag>{" "}
          <span class="clip">
            <Exact text={one.message || one.invocation} />
          </span>
          {one.noise && <span class="chip">noise</span>}
        </summary>
        <div class="inner">
          {one.error && <p class="error">{one.error}</p>}
          {(one.expected.length > 0 || one.actual.length > 0) && (
            <table class="beside">
              <thead>
                <tr>
                  <th scope="col">Recorded{at}</th>
                  <th scope="col">Replayed</th>
                </tr>
              </thead>
              <tbody>
                <tr class="changed">
                  <td>{one.expected.length ? one.expected.map((call, n) => <p key={n}><OneCall call={call} /></p>) : <span class="quiet">no call</span>}</td>
                  <td>{one.actual.length ? one.actual.map((call, n) => <p key={n}><OneCall call={call} /></p>) : <span class="quiet">no call</span>}</td>
                </tr>
              </tbody>
            </table>
          )}
          {one.answer && one.recorded !== one.answer && <Changes label="Answers" change={compare(one.recorded, one.answer)} />}
          <p class="buttons">
            <button disabled={busy || !one.session} onClick={go}>
              Open the session at this step
            </button>
          </p>
        </div>
      </details>
    </li>
  );
}

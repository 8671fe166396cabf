// Evaluation of the chosen agent: sets and cases, results, two results compared, reports of replays.

import { useEffect } from "preact/hooks";
import * as evals from "../evaluation";
import * as s from "../state";
import { EvalCases } from "./EvalCases";
import { EvalCompare } from "./EvalCompare";
import { EvalResults } from "./EvalResults";
import { ReplayReport } from "./ReplayReport";
import { ScreenBar } from "./ScreenBar";
import { Tabs } from "./Tabs";

const TABS: [evals.Tab, string][] = [
  ["cases", "Cases"],
  ["results", "Results"],
  ["compare", "Compare results"],
  ["replay", "Replay"],
];

export function Evaluation() {
  useEffect(() => void evals.load(), [s.app.value]);
  useEffect(() => void evals.loadCases(), [evals.set.value]);
  const { tab } = evals;
  const seeResult = () => (tab.value = "results");
  return (
    <>
      <ScreenBar title={`Evaluation of ${s.app.value}`}>
        <Tabs label="Parts of the evaluation" tabs={TABS} chosen={tab.value} choose={(one) => (tab.value = one)} panel="eval" />
      </ScreenBar>
      <section class="view evaluation" role="tabpanel" id="eval" aria-labelledby={`eval-${tab.value}`} tabIndex={0}>
        <div class="sheet">
          {tab.value === "cases" && <EvalCases seeResult={seeResult} />}
          {tab.value === "results" && <EvalResults />}
          {tab.value === "compare" && <EvalCompare />}
          {tab.value === "replay" && <ReplayReport />}
        </div>
      </section>
    </>
  );
}

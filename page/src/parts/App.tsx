// The page: sessions to the left, the session in the middle, what is selected to the right.

import { useEffect, useState } from "preact/hooks";
import { keepToken } from "../api";
import { listSessions, refreshWaiting } from "../actions";
import { onKey } from "../keys";
import { begin, followAddress } from "../address";
import * as s from "../state";
import { visible } from "../visible";
import { Artifacts } from "./Artifacts";
import { Chat } from "./Chat";
import { Compare } from "./Compare";
import { Composer } from "./Composer";
import { Dialog } from "./Dialog";
import { AllEffects, SessionEffects } from "./Effects";
import { Evaluation } from "./Evaluation";
import { Finder } from "./Finder";
import { Graph } from "./Graph";
import { Inbox } from "./Inbox";
import { Inspector } from "./Inspector";
import { Live } from "./Live";
import { ProblemLog, Problems } from "./Problems";
import { Shortcuts } from "./Shortcuts";
import { Sidebar } from "./Sidebar";
import { Start } from "./Start";
import { StateView } from "./StateView";
import { Tabs } from "./Tabs";
import { Timeline } from "./Timeline";

const LIST_AGAIN = 5000; // milliseconds: others change sessions, too

const NAMES: { [screen in s.Screen]: string } = {
  session: "Session",
  evaluation: "Evaluation",
  effects: "Effects",
};

/** Keep what a person chose, and show it. */
function useChoices(): void {
  useEffect(() => {
    const root = document.documentElement;
    root.dataset["theme"] = s.theme.value;
    root.dataset["density"] = s.density.value;
    localStorage.setItem("ostinato-theme", s.theme.value);
    localStorage.setItem("ostinato-density", s.density.value);
    if (!s.narrow.matches) localStorage.setItem("ostinato-folded", s.folded.value ? "yes" : "");
    localStorage.setItem("ostinato-letters", s.letters.value ? "yes" : "no");
  }, [s.theme.value, s.density.value, s.folded.value, s.letters.value]);
}

export function App() {
  useChoices();
  useEffect(() => {
    const timer = setInterval(refreshWaiting, 15_000);
    const again = setInterval(() => visible.value && void listSessions("again"), LIST_AGAIN);
    document.addEventListener("keydown", onKey);
    window.addEventListener("hashchange", followAddress);
    return () => {
      clearInterval(timer);
      clearInterval(again);
      document.removeEventListener("keydown", onKey);
      window.removeEventListener("hashchange", followAddress);
    };
  }, []);
  useEffect(() => void (visible.value && listSessions("again")), [visible.value]);
  const screen = s.app.value ? s.screen.value : "session"; // without an agent there is only the start
  return (
    <div
      class={`page ${s.folded.value ? "narrow-side" : ""}`}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) s.selected.value = undefined;
      }}
    >
      <a class="skip" href="#middle" onClick={skip}>
        Skip to the session
      </a>
      <Sidebar />
      <main id="middle" class="middle" tabIndex={-1} aria-label={NAMES[screen]}>
        {screen === "evaluation" && <Evaluation />}
        {screen === "effects" && <AllEffects />}
        {screen === "session" && (
          <>
            {s.session.value ? <Open /> : <Start />}
            <Notice />
            <Composer />
          </>
        )}
      </main>
      {s.screen.value === "session" && <Inspector />}
      {s.dialog.value === "inbox" && <Inbox />}
      {s.dialog.value === "find" && <Finder />}
      {s.dialog.value === "keys" && <Shortcuts />}
      {s.dialog.value === "problems" && <ProblemLog />}
      {s.needsToken.value && <Token />}
      <div class="unseen" role="status" aria-live="polite">
        {s.told.value}
      </div>
      <Problems />
    </div>
  );
}

/** Go to the session; the address, which names it, stays as it is. */
function skip(event: MouseEvent) {
  event.preventDefault();
  document.getElementById("middle")?.focus();
}

function Open() {
  return (
    <>
      <header class="bar">
        <h1 title={s.session.value!.id}>{s.openTitle.value}</h1>
        <Tabs
          label="Views of the session"
          tabs={s.VIEWS}
          chosen={s.view.value}
          choose={(view) => (s.view.value = view)}
          panel="view"
        />
        <span class="quiet" aria-live="polite">
          {s.gone.value ? "deleted" : s.lost.value
            ? "connection lost, trying again"
            : s.running.value
              ? "running"
              : `${s.total.value} events`}
        </span>
      </header>
      <section class="view" role="tabpanel" id="view" aria-labelledby={`view-${s.view.value}`}>
        {s.view.value === "chat" && <Chat />}
        {s.view.value === "timeline" && <Timeline />}
        {s.view.value === "graph" && <Graph />}
        {s.view.value === "state" && <StateView />}
        {s.view.value === "artifacts" && <Artifacts />}
        {s.view.value === "effects" && <SessionEffects />}
        {s.view.value === "compare" && <Compare />}
        {s.view.value === "live" && <Live />}
      </section>
    </>
  );
}

function Notice() {
  const notice = s.apps.value.find((one) => one.name === s.app.value)?.notice;
  const [open, setOpen] = useState(false);
  if (!notice) return null;
  const folds = s.narrow.matches;
  return (
    <p class={`notice ${folds && !open ? "folded" : ""}`} role="note">
      <span>{notice}</span>
      {folds && (
        <button class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "less" : "more"}
        </button>
      )}
    </p>
  );
}

function Token() {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    keepToken(String(new FormData(event.target as HTMLFormElement).get("token")));
    s.needsToken.value = "";
    void begin();
  };
  return (
    <Dialog label="Token">
      <form onSubmit={submit}>
        <h2>This server asks for a token</h2>
        {s.needsToken.value === "other" && <p class="error">That token was refused.</p>}
        <p class="row">
          <input class="grow" name="token" type="password" aria-label="Token" autocomplete="off" />
          <button class="primary">Go on</button>
        </p>
      </form>
    </Dialog>
  );
}

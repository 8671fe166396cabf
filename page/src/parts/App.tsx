// The page: sessions to the left, the session in the middle, what is selected to the right.

import { useEffect } from "preact/hooks";
import { keepToken } from "../api";
import { refreshApprovals, start } from "../actions";
import * as s from "../state";
import { Artifacts } from "./Artifacts";
import { Chat } from "./Chat";
import { Compare } from "./Compare";
import { Composer } from "./Composer";
import { Dialog } from "./Dialog";
import { Graph } from "./Graph";
import { Inbox } from "./Inbox";
import { Inspector } from "./Inspector";
import { Live } from "./Live";
import { Sidebar } from "./Sidebar";
import { StateView } from "./StateView";
import { Tabs } from "./Tabs";
import { Timeline } from "./Timeline";

const VIEWS: [s.View, string][] = [
  ["chat", "Chat"],
  ["timeline", "Timeline"],
  ["graph", "Agents"],
  ["state", "State"],
  ["artifacts", "Artifacts"],
  ["live", "Live"],
  ["compare", "Compare"],
];

export function App() {
  useEffect(() => {
    document.documentElement.dataset["theme"] = s.theme.value;
    localStorage.setItem("ostinato-theme", s.theme.value);
  }, [s.theme.value]);
  useEffect(() => {
    const timer = setInterval(refreshApprovals, 15_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <div
      class="page"
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) s.selected.value = undefined;
      }}
    >
      <a class="skip" href="#middle">
        Skip to the session
      </a>
      <Sidebar />
      <main id="middle" class="middle" tabIndex={-1} aria-label="Session">
        {s.session.value ? <Open /> : <Nothing />}
        <Notice />
        <Composer />
      </main>
      <Inspector />
      {s.showInbox.value && <Inbox />}
      {s.needsToken.value && <Token />}
      <div class="unseen" role="status" aria-live="polite">
        {s.told.value}
      </div>
      <div class="problems" role="alert" aria-live="assertive">
        {s.problem.value && (
          <div class="problem">
            <span>{s.problem.value}</span>
            <button onClick={() => (s.problem.value = undefined)} aria-label="Close the message">
              ×
            </button>
          </div>
        )}
      </div>
    </div>
  );
}

function Open() {
  return (
    <>
      <header class="bar">
        <h1 title={s.session.value!.id}>{s.openTitle.value}</h1>
        <Tabs
          label="Views of the session"
          tabs={VIEWS}
          chosen={s.view.value}
          choose={(view) => (s.view.value = view)}
          panel="view"
        />
        <span class="quiet" aria-live="polite">
          {s.lost.value
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
        {s.view.value === "compare" && <Compare />}
        {s.view.value === "live" && <Live />}
      </section>
    </>
  );
}

function Notice() {
  const notice = s.apps.value.find((one) => one.name === s.app.value)?.notice;
  return notice ? (
    <p class="notice" role="note">
      {notice}
    </p>
  ) : null;
}

function Nothing() {
  const broken = s.apps.value.filter((one) => one.error);
  return (
    <section class="nothing">
      <h1>{s.app.value || "Ostinato"}</h1>
      {s.apps.value.length === 0 && <p>No agents were found in the folder that is served.</p>}
      {s.app.value && <p>Write a message to begin a session, or choose one to the left.</p>}
      {broken.map((one) => (
        <div class="broken" key={one.name}>
          <strong>{one.name} cannot be loaded</strong>
          <pre>{one.error}</pre>
        </div>
      ))}
    </section>
  );
}

function Token() {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    keepToken(String(new FormData(event.target as HTMLFormElement).get("token")));
    s.needsToken.value = "";
    void start();
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

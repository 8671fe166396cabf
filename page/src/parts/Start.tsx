// What is shown while no session is open: the agent and how to begin, or what is in the way.

import { useEffect, useState } from "preact/hooks";
import * as act from "../actions";
import { awaitAgents, begin } from "../address";
import { Markdown } from "../markdown";
import * as s from "../state";
import type { AppInfo } from "../types";
import { Copy } from "./Copy";
import { Icon } from "./Icon";
import { SourceLines } from "./SourceLines";

const LOOK_AGAIN = 3000; // milliseconds, while there is no agent

export function Start() {
  const current = s.apps.value.find((one) => one.name === s.app.value);
  const broken = s.apps.value.filter((one) => one.error);
  return (
    <section class="nothing">
      {s.apps.value.length === 0 && <NoAgents />}
      {current && !current.error && <Agent app={current} />}
      {broken.map((one) => (
        <Broken key={one.name} app={one} />
      ))}
    </section>
  );
}

function NoAgents() {
  useEffect(() => {
    const timer = setInterval(awaitAgents, LOOK_AGAIN);
    return () => clearInterval(timer);
  }, []);
  const command = "ostinato create my_agent";
  return (
    <>
      <h1>Ostinato</h1>
      <p>No agents were found in {s.folder.value ? <code class="path">{s.folder.value}</code> : "the folder that is served"}.</p>
      <p>Create one there, in a terminal; this page finds it by itself:</p>
      <p class="row command">
        <code>{command}</code>
        <Copy text={command} what="the command" />
      </p>
      <p class="quiet">An agent is a folder with an agent.py that defines root_agent.</p>
    </>
  );
}

function Agent({ app }: { app: AppInfo }) {
  const [busy, setBusy] = useState(false);
  const say = (text: string) => {
    if (busy) return;
    setBusy(true); // a second click sends nothing more
    void act.send([{ text }]).finally(() => setBusy(false));
  };
  return (
    <>
      <h1>
        <Icon name="bot" /> {app.name}
      </h1>
      {app.description && (
        <div class="about">
          <Markdown text={app.description} />
        </div>
      )}
      <p class="quiet">Write a message to begin a session, or open an earlier one.</p>
      {app.examples && (
        <div class="examples" role="group" aria-label="Messages to begin with">
          {app.examples.map((text) => (
            <button key={text} disabled={busy} onClick={() => say(text)}>
              {text}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

function Broken({ app }: { app: AppInfo }) {
  const source = app.source;
  return (
    <div class="broken">
      <h2>
        <Icon name="alert" /> {app.name} cannot be loaded
      </h2>
      <pre>{app.error}</pre>
      {source && (
        <figure class="code-block">
          <figcaption>
            <span class="quiet">
              {source.file}:{source.line}
            </span>
            <Copy text={`${source.file}:${source.line}`} what="file and line" />
          </figcaption>
          <SourceLines
            label={`Where it fails: line ${source.line}`}
            lines={source.lines}
            first={source.first}
            line={source.line}
          />
        </figure>
      )}
      <p class="quiet">
        Mend it and{" "}
        <button class="link" onClick={() => void begin()}>
          load it again
        </button>
        .
      </p>
    </div>
  );
}

// A live conversation: microphone, speaker, what is said on both sides, and tools meanwhile.

import { useEffect, useState } from "preact/hooks";
import { graph } from "../appfacts";
import * as s from "../state";
import * as talk from "../talk";

const OPENAI = /^(?:openai-realtime:|gpt-(?:4o-)?(?:realtime|live))/;

const rootNode = () => graph.value?.nodes.find((node) => node.id === graph.value?.root);

/** The rate that the root agent's model hears. */
const rateOfModel = (): number => (OPENAI.test(rootNode()?.model ?? "") ? 24_000 : 16_000);

export function Live() {
  const [speaks, setSpeaks] = useState(true);
  const [listens, setListens] = useState(true);
  useEffect(() => () => talk.stopTalk(), [s.session.value?.id]);
  const state = talk.talkState.value;
  const root = rootNode();
  const mute = root?.model !== undefined && !root.isLive;
  const start = () =>
    void talk.startTalk({ modality: speaks ? "AUDIO" : "TEXT", rate: rateOfModel(), microphone: listens });
  return (
    <div class="live">
      <div class="live-bar" role="group" aria-label="Live conversation">
        {state === "off" ? (
          <button class="primary" disabled={mute} onClick={start}>
            Start talking
          </button>
        ) : (
          <button class="danger" onClick={talk.stopTalk}>
            {state === "connecting" ? "Cancel" : "End the conversation"}
          </button>
        )}
        {state === "on" && (
          <button aria-pressed={talk.muted.value} onClick={() => (talk.muted.value = !talk.muted.value)}>
            {talk.muted.value ? "Microphone off" : "Microphone on"}
          </button>
        )}
        {state === "off" && (
          <>
            <label>
              <input type="checkbox" checked={listens} onChange={(e) => setListens(e.currentTarget.checked)} />{" "}
              use the microphone
            </label>
            <label>
              <input type="checkbox" checked={speaks} onChange={(e) => setSpeaks(e.currentTarget.checked)} />{" "}
              answers as sound
            </label>
          </>
        )}
        <span class="quiet" role="status">
          {state === "on" ? "the agent listens" : state === "connecting" ? "connecting…" : ""}
        </span>
        {state === "on" && <Level />}
      </div>
      {talk.talkProblem.value && (
        <p class="error" role="alert">
          {talk.talkProblem.value}
        </p>
      )}
      {state === "off" && !talk.lines.value.length && (
        <p class={mute ? "live-help" : "quiet live-help"}>
          {mute && `${root.model}, the model of ${root.name}, is not live. `}
          Talk with an agent whose model is live, such as a Gemini Live or an OpenAI Realtime model. The
          conversation is kept in this session.
        </p>
      )}
      <ol class="live-lines" aria-label="Transcript" aria-live="polite">
        {talk.lines.value.map((line, index) => (
          <li key={index} class={`${line.kind} ${line.whole ? "" : "open"} ${line.who === "user" ? "mine" : ""}`}>
            <strong>{line.who}</strong> <bdi>{line.text}</bdi>
          </li>
        ))}
      </ol>
      {state === "on" && <SayWords />}
    </div>
  );
}

function Level() {
  return (
    <meter min={0} max={1} value={talk.level.value} aria-label="Loudness of the microphone">
      {Math.round(talk.level.value * 100)} %
    </meter>
  );
}

function SayWords() {
  const [text, setText] = useState("");
  return (
    <form
      class="row live-words"
      onSubmit={(event) => {
        event.preventDefault();
        if (talk.sayWords(text)) setText("");
      }}
    >
      <input
        class="grow"
        aria-label="Say it in words"
        placeholder="Say it in words"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button>Say</button>
    </form>
  );
}

// Where the user writes: words, files and images; stop while something runs.

import { useEffect, useRef, useState } from "preact/hooks";
import * as act from "../actions";
import { keepDraft, loadDraft } from "../drafts";
import { oneLine } from "../format";
import * as s from "../state";
import type { Approval, Part } from "../types";
import { Icon } from "./Icon";

export function Composer() {
  const [text, setText, restore] = useDraft();
  const [files, setFiles] = useState<File[]>([]);
  const [wrong, setWrong] = useState("");
  /** Whether the person has to say which of several open questions the words answer. */
  const [choosing, setChoosing] = useState(false);
  /** Keys of the questions that the person leaves open to send a message instead. */
  const [left, setLeft] = useState<string[]>([]);
  const picker = useRef<HTMLInputElement>(null);
  if (!s.app.value) return null;
  const open = () => s.questions.value.filter((one) => !left.includes(act.keyOf(one)));
  const respond = async (one: Approval) => {
    setChoosing(false);
    const told = await act.answer(one, { action: "respond", text });
    setWrong(told ?? "");
    if (!told) setText("");
  };
  const submit = async () => {
    if (!text.trim() && !files.length) return;
    setWrong("");
    if (!files.length && s.session.value) {
      if (!open().length && act.mayBeAsked()) await act.refreshApprovals();
      const [one, ...more] = open();
      if (one && more.length) return setChoosing(true);
      if (one) return respond(one);
    }
    const parts: Part[] = await Promise.all(files.map(asPart));
    if (text.trim()) parts.unshift({ text });
    const [words, added] = [text, files];
    const from = { app: s.app.value, user: s.user.value, session: s.session.value?.id };
    setText("");
    setFiles([]);
    s.selected.value = undefined;
    if (await act.send(parts)) return;
    restore(words, from); // the server did not take it: nothing that was typed is lost
    setFiles((now) => (now.length ? now : added));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void submit();
    }
  };
  const add = (list: FileList | null | undefined) =>
    list?.length && setFiles((before) => [...before, ...list]);
  return (
    <form
      class="composer"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        add(event.dataTransfer?.files);
      }}
    >
      {files.length > 0 && (
        <p class="effects">
          {files.map((file, index) => (
            <button
              type="button"
              class="chip"
              key={file.name}
              aria-label={`Leave out ${file.name}`}
              onClick={() => setFiles(files.filter((_, at) => at !== index))}
            >
              {file.name} ×
            </button>
          ))}
        </p>
      )}
      {choosing && (
        <div role="group" aria-label="Which question do these words answer?">
          <p class="quiet">Which question do these words answer?</p>
          <p class="buttons">
            {open().map((one) => (
              <button type="button" key={act.keyOf(one)} onClick={() => void respond(one)}>
                <bdi>{oneLine(one.message || one.asker || one.tool, 80)}</bdi>
              </button>
            ))}
          </p>
        </div>
      )}
      {!choosing && open().length > 0 && (
        <p class="quiet answers">
          Your words answer:{" "}
          <bdi>{open().length > 1 ? "one of the open questions" : oneLine(open()[0]!.message, 80)}</bdi>{" "}
          <button
            type="button"
            class="link"
            onClick={() => setLeft([...left, ...open().map(act.keyOf)])}
          >
            Send a new message instead
          </button>
        </p>
      )}
      {wrong && (
        <p class="error" role="alert">
          {wrong}
        </p>
      )}
      <div class="row">
        <button type="button" class="icon" aria-label="Add files" onClick={() => picker.current?.click()}>
          <Icon name="plus" />
        </button>
        <input ref={picker} type="file" multiple hidden onChange={(e) => add(e.currentTarget.files)} />
        <textarea
          class="grow"
          rows={Math.min(8, text.split("\n").length)}
          placeholder={`Message to ${s.app.value}`}
          aria-label={`Message to ${s.app.value}`}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKey}
          onPaste={(event) => add(event.clipboardData?.files)}
        />
        {s.running.value ? (
          <button type="button" class="danger" onClick={() => void act.stop()}>
            <Icon name="stop" />
            Stop
          </button>
        ) : (
          <button class="primary">Send</button>
        )}
      </div>
    </form>
  );
}

interface Owner {
  app: string;
  user: string;
  session: string | undefined;
}

/**
 * The text in the box. It is kept for its session while it is not sent, and comes back with it;
 * `restore` puts back what could not be sent, unless something else was typed meanwhile.
 */
function useDraft(): [string, (text: string) => void, (text: string, from: Owner) => void] {
  const [app, user, session] = [s.app.value, s.user.value, s.session.value?.id];
  const [text, setText] = useState(() => loadDraft(app, user, session));
  const owner = useRef({ app, user, session });
  const current = useRef(text);
  useEffect(() => {
    const before = owner.current;
    if (before.app === app && before.user === user && before.session === session) return;
    owner.current = { app, user, session };
    // Words that were typed before the session was made go with it.
    const made = before.session === undefined && s.total.value === 0;
    const moves = made && before.app === app && before.user === user;
    const kept = loadDraft(app, user, session);
    const next = moves && !kept ? current.current : kept;
    if (moves && next) keepDraft(app, user, undefined, "");
    current.current = next;
    setText(next);
    keepDraft(app, user, session, next);
  }, [app, user, session]);
  const change = (next: string) => {
    current.current = next;
    setText(next);
    const { app, user, session } = owner.current;
    keepDraft(app, user, session, next);
  };
  const restore = (words: string, from: Owner) => {
    const here = owner.current;
    const left = from.session !== undefined && from.session !== here.session;
    if (left || from.app !== here.app || from.user !== here.user) {
      keepDraft(from.app, from.user, from.session, words);
    } else if (!current.current) change(words);
  };
  return [text, change, restore];
}

async function asPart(file: File): Promise<Part> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return {
    inlineData: {
      mimeType: file.type || "application/octet-stream",
      data: btoa(binary),
      displayName: file.name,
    },
  };
}

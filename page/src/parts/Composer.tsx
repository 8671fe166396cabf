// Where the user writes: words, files and images; stop while something runs.

import { useRef, useState } from "preact/hooks";
import * as act from "../actions";
import { answer, mayBeAsked } from "../answers";
import * as box from "../box";
import { oneLine } from "../format";
import * as s from "../state";
import type { Approval, Part } from "../types";
import { Exact } from "./Exact";
import { Icon } from "./Icon";

export function Composer() {
  const [text, files] = [box.words.value, box.files.value];
  const setFiles = (next: File[]) => (box.files.value = next);
  const [wrong, setWrong] = useState("");
  /** Whether the person has to say which of several open questions the words answer. */
  const [choosing, setChoosing] = useState(false);
  /** Keys of the questions that the person leaves open to send a message instead. */
  const [left, setLeft] = useState<string[]>([]);
  const picker = useRef<HTMLInputElement>(null);
  const busy = useRef(false); // from Enter until the words have left the box
  if (!s.app.value) return null;
  const open = () => s.questions.value.filter((one) => !left.includes(act.keyOf(one)));
  const respond = async (one: Approval) => {
    setChoosing(false);
    if (box.words.value === text) box.words.value = "";
    const sent = box.dispatch([{ text }]);
    const { outcome, wrong } = await answer(one, { action: "respond", text });
    box.settle(sent, outcome);
    setWrong(wrong);
  };
  const submit = async () => {
    if (busy.current || (!text.trim() && !files.length)) return;
    busy.current = true;
    await sendBox().finally(() => (busy.current = false));
  };
  const sendBox = async () => {
    const session = s.session.value?.id;
    setWrong("");
    if (!files.length && s.session.value) {
      if (!open().length && mayBeAsked()) await act.refreshApprovals();
      const [one, ...more] = open();
      if (one && more.length) return setChoosing(true);
      if (one) return respond(one);
    }
    const parts: Part[] = await Promise.all(files.map(asPart));
    if (text.trim()) parts.unshift({ text });
    if (session !== s.session.value?.id) return; // the person went elsewhere; the draft is kept
    if (box.words.value === text) box.words.value = "";
    setFiles([]);
    s.selected.value = undefined;
    void act.send(parts, files);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void submit();
    }
  };
  const add = (list: FileList | null | undefined) =>
    list?.length && setFiles([...files, ...list]);
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
                <Exact text={oneLine(one.message || one.asker || one.tool, 80)} />
              </button>
            ))}
          </p>
        </div>
      )}
      {!choosing && open().length > 0 && (
        <p class="quiet answers">
          Your words answer:{" "}
          <Exact text={open().length > 1 ? "one of the open questions" : oneLine(open()[0]!.message, 80)} />{" "}
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
          onInput={(event) => box.write(event.currentTarget.value)}
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

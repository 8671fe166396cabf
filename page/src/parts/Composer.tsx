// Where the user writes: words, files and images; stop while something runs.

import { useRef, useState } from "preact/hooks";
import * as act from "../actions";
import * as s from "../state";
import type { Part } from "../types";

export function Composer() {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<File[]>([]);
  const picker = useRef<HTMLInputElement>(null);
  if (!s.app.value) return null;
  const submit = async () => {
    if (!text.trim() && !files.length) return;
    const parts: Part[] = await Promise.all(files.map(asPart));
    if (text.trim()) parts.unshift({ text });
    setText("");
    setFiles([]);
    s.selected.value = undefined;
    await act.send(parts);
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
      <div class="row">
        <button type="button" class="icon" aria-label="Add files" onClick={() => picker.current?.click()}>
          +
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

// The session's files.

import { useEffect, useState } from "preact/hooks";
import { place, tried } from "../actions";
import { api } from "../api";
import { dataUrl } from "../format";
import * as s from "../state";

interface Shown {
  name: string;
  mimeType: string;
  url: string;
  /** What it says, where it is a text. */
  text: string | undefined;
}

export function Artifacts() {
  const [names, setNames] = useState<string[] | undefined>(undefined);
  const [shown, setShown] = useState<Shown | undefined>(undefined);
  useEffect(() => {
    const where = place();
    if (where) void tried(() => api.artifacts(where)).then((found) => setNames(found ?? []));
  }, [s.session.value?.id, s.total.value]);
  const show = async (name: string) => {
    const where = place();
    const part = where && (await tried(() => api.artifact(where, name)));
    if (!part) return;
    const mimeType = part.inlineData?.mimeType ?? "text/plain";
    const url = part.inlineData && dataUrl(mimeType, part.inlineData.data);
    setShown({
      name,
      mimeType,
      url: url ?? `data:text/plain;charset=utf-8,${encodeURIComponent(part.text ?? "")}`,
      text: url && /^text\/|json$/.test(mimeType) ? decoded(url) : part.text,
    });
  };
  if (!names?.length) return <p class="quiet">{names ? "No artifacts. Tools and callbacks save them." : "Loading…"}</p>;
  return (
    <div class="artifacts">
      <ul>
        {names.map((name) => (
          <li key={name}>
            <button class="link" onClick={() => void show(name)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
      {shown && (
        <figure>
          {shown.mimeType.startsWith("image/") ? (
            <img class="image" src={shown.url} alt={shown.name} />
          ) : shown.text !== undefined ? (
            <pre class="code">{shown.text}</pre>
          ) : (
            <p class="quiet">{shown.mimeType}</p>
          )}
          <figcaption>
            <a href={shown.url} download={shown.name}>
              Download {shown.name}
            </a>
          </figcaption>
        </figure>
      )}
    </div>
  );
}

const decoded = (url: string): string =>
  new TextDecoder().decode(
    Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (one) => one.charCodeAt(0)),
  );

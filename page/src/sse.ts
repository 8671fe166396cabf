// Server-sent events over fetch: a POST can be streamed, and a token can be sent.

export interface Frame {
  event: string;
  id?: string;
  data: string;
}

/** Split a stream of bytes into frames; comments, which are heartbeats, are left out. */
export async function* frames(response: Response): AsyncGenerator<Frame> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      let end = rest.indexOf("\n\n");
      while (end >= 0) {
        const frame = parse(rest.slice(0, end));
        if (frame) yield frame;
        rest = rest.slice(end + 2);
        end = rest.indexOf("\n\n");
      }
    }
  } finally {
    reader.releaseLock();
  }
}

function parse(text: string): Frame | undefined {
  const frame: Frame = { event: "message", data: "" };
  const data: string[] = [];
  let known = false;
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "event") frame.event = value;
    else if (name === "id") frame.id = value;
    else continue;
    known = true;
  }
  frame.data = data.join("\n");
  return known ? frame : undefined;
}

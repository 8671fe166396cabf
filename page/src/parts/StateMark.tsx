// The state of a session in a word and a colour; nothing for one that rests.

const WORDS: { [state: string]: string } = {
  running: "running",
  waiting: "waits",
  failed: "failed",
  stuck: "stuck",
};

export function StateMark({ state }: { state: string | undefined }) {
  const word = WORDS[state ?? ""];
  return word ? <span class={`mark ${state}`}>{word}</span> : null;
}

// Lines of source with their numbers, and the one that matters marked.

interface Props {
  label: string;
  lines: string[];
  /** Number of the first line. */
  first: number;
  /** Number of the marked one. */
  line: number;
}

export function SourceLines({ label, lines, first, line }: Props) {
  return (
    <pre class="code lines" tabIndex={0} role="group" aria-label={label}>
      {lines.map((text, index) => (
        <div key={index} class={first + index === line ? "at" : ""}>
          <span class="number">{first + index}</span>
          {text || " "}
        </div>
      ))}
    </pre>
  );
}

// How large the drawing of the agents is: fitted into its place, or larger and smaller by steps.

const STEP = 1.25;

interface Props {
  /** How many times its size the drawing has; 0 fits it into its place. */
  zoom: number;
  set: (zoom: number) => void;
}

export function Zoom({ zoom, set }: Props) {
  const by = (step: number) => {
    const drawn = document.querySelector<SVGSVGElement>(".graph svg")?.getScreenCTM()?.a ?? 1;
    set(Math.min(3, Math.max(0.2, (zoom || drawn) * step)));
  };
  return (
    <p class="zoom" role="group" aria-label="Size of the drawing">
      <button class="icon" aria-label="Smaller" title="Smaller" onClick={() => by(1 / STEP)}>
        −
      </button>
      <button aria-pressed={!zoom} onClick={() => set(0)}>
        Fit
      </button>
      <button class="icon" aria-label="Larger" title="Larger" onClick={() => by(STEP)}>
        +
      </button>
    </p>
  );
}

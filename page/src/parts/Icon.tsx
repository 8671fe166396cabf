// Small drawings beside words; they say nothing to a screen reader, the words do.

const PATHS = {
  alert: "M8 1.5 15 14H1L8 1.5ZM8 6v4M8 11.7v.6",
  answer: "M2 3h12v8H7l-3 3v-3H2Z",
  bot: "M3 6h10v7H3ZM8 6V3M6 9v1.2M10 9v1.2M1.5 9v2M14.5 9v2",
  call: "M9.5 2 4 9h4l-1.5 5L12 7H8Z",
  check: "m2.5 8.5 3.5 3.5 7.5-8",
  close: "m3.5 3.5 9 9M12.5 3.5l-9 9",
  copy: "M5.5 5.5h8v8h-8ZM2.5 10.5v-8h8",
  file: "M4 1.5h5l3.5 3.5v9.5H4ZM9 1.5V5h3.5",
  fold: "M2 3h12v10H2ZM6 3v10",
  checks: "m2 4.5 1.2 1.2L5.5 3.4M8 4.5h6M2 11.5l1.2 1.2 2.3-2.3M8 11.5h6",
  keys: "M1.5 4h13v8h-13ZM4 6.7h.1M6.7 6.7h.1M9.3 6.7h.1M12 6.7h.1M5 9.5h6",
  moon: "M13 9.7A5.5 5.5 0 1 1 6.3 3a4.5 4.5 0 0 0 6.7 6.7Z",
  plus: "M8 3v10M3 8h10",
  result: "M13.5 4v4.5H4M7 5 3.5 8.5 7 12",
  rows: "M2 4h12M2 8h12M2 12h12",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.5 10.5 14 14",
  send: "M2 8 14 2.5 10.5 14 8 9.5Z",
  state: "M3 12.5 3.5 10 10.5 3l2 2-7 7ZM9 4.5l2 2",
  stop: "M4 4h8v8H4Z",
  think: "M5 11.5a4.5 4.5 0 1 1 6 0M6 13.5h4",
  transfer: "M2 5.5h10L9.5 3M14 10.5H4L6.5 13",
  undo: "M5 3 2 6l3 3M2 6h7.5a4 4 0 0 1 0 8H6",
  user: "M8 2.5a2.7 2.7 0 1 1 0 5.4 2.7 2.7 0 0 1 0-5.4ZM2.7 14c.5-3 2.5-4.5 5.3-4.5s4.8 1.5 5.3 4.5",
  wait: "M4 2h8M4 14h8M5 2c0 4 6 4 6 6s-6 2-6 6M11 2c0 4-6 4-6 6s6 2 6 6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="glyph" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

// A text of a model or tool as it is: hidden characters can be seen, and none moves its neighbours.
// With `turns`, only those can be seen that would turn the text around.

import { pieces, TURNS } from "../hidden";

export function Exact({ text, turns }: { text: string; turns?: boolean }) {
  return (
    <bdi>
      {pieces(text, turns ? TURNS : undefined).map((piece, index) =>
        piece.hidden ? (
          <span class="hidden-character" key={index} title="a character that cannot be seen">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </bdi>
  );
}

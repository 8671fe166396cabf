// A text of a model or tool as it is: hidden characters can be seen, and none moves its neighbours.

import { pieces } from "../hidden";

export function Exact({ text }: { text: string }) {
  return (
    <bdi>
      {pieces(text).map((piece, index) =>
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

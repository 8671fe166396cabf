"""Short forms of a model's answers in tests, and the responses they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, cast

from .. import types
from ..models.llm_response import LlmResponse


class Chunks(tuple[str, ...]):
    """Pieces of one text: partial responses while streaming, one response else."""

    __slots__ = ()


Piece: TypeAlias = str | types.Part | types.FunctionCall
Turn: TypeAlias = (
    Piece | Sequence[Piece] | Chunks | types.Content | LlmResponse | Exception | type[Exception]
)


def call(name: str, /, **args: Any) -> types.FunctionCall:
    """Return a call of function `name` with `args`; it has no id, the flow gives it one."""
    return types.FunctionCall(name=name, args=args)


def chunks(*pieces: str) -> Chunks:
    """Return a text that arrives in pieces when the model is asked to stream."""
    return Chunks(pieces)


def thought(text: str) -> types.Part:
    """Return a part with a model's thought."""
    return types.Part(text=text, thought=True)


def responses(turn: Any, *, stream: bool) -> Iterator[LlmResponse]:
    """Yield the responses that a turn stands for; they are fresh, so the caller may change them.

    Args:
      turn: a text, a call, a part, a list of these (parallel calls), `chunks(...)`, a Content, an
        LlmResponse, or an exception, which is raised.
      stream: whether the pieces of `chunks` come as partial responses first.

    Raises:
      TypeError: `turn` has another type.
    """
    if isinstance(turn, BaseException) or (
        isinstance(turn, type) and issubclass(turn, BaseException)
    ):
        raise turn
    if isinstance(turn, LlmResponse):
        yield turn.model_copy(deep=True)
    elif isinstance(turn, types.Content):
        yield LlmResponse(content=turn.model_copy(deep=True))
    elif isinstance(turn, Chunks):
        if stream:
            for piece in turn:
                yield LlmResponse(content=_model_content([types.Part(text=piece)]), partial=True)
        yield LlmResponse(content=_model_content([types.Part(text="".join(turn))]))
    else:
        pieces: list[Any] = [*cast(list[Any], turn)] if isinstance(turn, (list, tuple)) else [turn]
        yield LlmResponse(content=_model_content([_make_part(piece) for piece in pieces]))


def _model_content(parts: list[types.Part]) -> types.Content:
    return types.Content(role="model", parts=parts)


def _make_part(piece: Any) -> types.Part:
    if isinstance(piece, str):
        return types.Part(text=piece)
    if isinstance(piece, types.FunctionCall):
        return types.Part(function_call=piece.model_copy(deep=True))
    if isinstance(piece, types.Part):
        return piece.model_copy(deep=True)
    raise TypeError(
        f"a scripted turn cannot hold a {type(piece).__name__} ({piece!r}); give a str, "
        "call(...), a Part, a list of these, chunks(...), a Content, an LlmResponse or an exception"
    )

"""Models that answer with the turns of a script or of a function, and record the requests."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from typing import Any, TypeAlias, cast

from pydantic import PrivateAttr

from .. import types
from .._aclosing import Aclosing
from ..models.base_llm import BaseLlm
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from .seen_request import SeenRequest


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


class ScriptError(AssertionError):
    """The run asked for more turns than the script has, or for fewer."""


class ScriptedModel(BaseLlm):
    """A model that answers each request with the next turn of a script.

    `ScriptedModel([call("weather", city="Rome"), "It is sunny."])` first calls the tool, then says
    the text. See `responses` for the forms a turn may take.

    Attributes:
      requests: snapshots of the requests so far.
      native_schema: whether it claims to take tools and a response schema together.
    """

    model: str = "scripted"
    native_schema: bool = False
    _turns: list[Any] = PrivateAttr(default_factory=list[Any])
    _requests: list[SeenRequest] = PrivateAttr(default_factory=list[SeenRequest])

    def __init__(
        self, turns: Sequence[Turn] = (), *, model: str = "scripted", native_schema: bool = False
    ) -> None:
        """Make a model of a script.

        Args:
          turns: what to answer, in order.
          model: the model's name.
          native_schema: whether to claim support of tools with a response schema.
        """
        super().__init__(model=model, native_schema=native_schema)  # type: ignore[call-arg]
        if isinstance(turns, str):
            raise TypeError("ScriptedModel takes a list of turns; write ScriptedModel([text])")
        self._turns = list(turns)

    @property
    def supports_output_schema_with_tools(self) -> bool:
        return self.native_schema

    @property
    def requests(self) -> list[SeenRequest]:
        """Snapshots of the requests so far, in order."""
        return self._requests

    def add(self, *turns: Turn) -> None:
        """Append turns to the script."""
        self._turns.extend(turns)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with the next turn.

        Raises:
          ScriptError: the script is at its end.
        """
        seen = _record_request(self._requests, llm_request, stream)
        if len(self._requests) > len(self._turns):
            raise ScriptError(
                f"the script of {self.model!r} has {len(self._turns)} turns, and request "
                f"{len(self._requests)} asks for one more. It asked:\n{seen.summary()}"
            )
        for response in responses(self._turns[len(self._requests) - 1], stream=stream):
            yield response

    def assert_finished(self) -> None:
        """Raise ScriptError if turns of the script were not used."""
        left = self._turns[len(self._requests) :]
        if left:
            raise ScriptError(
                f"the script of {self.model!r} has {len(left)} unused turns: "
                + ", ".join(repr(turn) for turn in left)
            )


class FunctionModel(BaseLlm):
    """A model that answers with what a function makes of the request.

    Attributes:
      requests: snapshots of the requests so far.
    """

    model: str = "function"
    _function: Callable[[LlmRequest], Any] = PrivateAttr()
    _requests: list[SeenRequest] = PrivateAttr(default_factory=list[SeenRequest])

    def __init__(self, function: Callable[[LlmRequest], Any], *, model: str = "function") -> None:
        """Make a model of a function.

        Args:
          function: takes the LlmRequest and returns a turn as `ScriptedModel` takes them, an
            awaitable of one, or an (async) generator of turns, each a response of its own.
          model: the model's name.
        """
        super().__init__(model=model)
        self._function = function

    @property
    def requests(self) -> list[SeenRequest]:
        """Snapshots of the requests so far, in order."""
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with what the function returns."""
        _record_request(self._requests, llm_request, stream)
        answer = self._function(llm_request)
        if inspect.isawaitable(answer):
            answer = await answer
        async with Aclosing(_iterate_turns(answer)) as turns:
            async for turn in turns:
                for response in responses(turn, stream=stream):
                    yield response


def _record_request(seen: list[SeenRequest], request: LlmRequest, stream: bool) -> SeenRequest:
    """Append a snapshot of a request to those before; return it."""
    seen.append(SeenRequest.of(request, stream=stream, before=seen[-1] if seen else None))
    return seen[-1]


async def _iterate_turns(answer: Any) -> AsyncGenerator[Any, None]:
    if inspect.isasyncgen(answer):
        async with Aclosing(cast(AsyncGenerator[Any, None], answer)) as turns:
            async for turn in turns:
                yield turn
    elif isinstance(answer, AsyncIterator):
        async for turn in cast(AsyncIterator[Any], answer):
            yield turn
    elif inspect.isgenerator(answer):
        for turn in answer:
            yield turn
    else:
        yield answer

"""A model that answers with the turns of a script, and records the requests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from pydantic import PrivateAttr

from ..models.base_llm import BaseLlm
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from .seen_request import SeenRequest
from .turn import Turn, responses


class ScriptError(AssertionError):
    """The run asked for more turns than the script has, or for fewer."""


class ScriptedModel(BaseLlm):
    """A model that answers each request with the next turn of a script.

    `ScriptedModel([call("weather", city="Rome"), "It is sunny."])` first calls the tool, then says
    the text. See `turn.responses` for the forms a turn may take.

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
        seen = SeenRequest.of(llm_request, stream=stream)
        self._requests.append(seen)
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

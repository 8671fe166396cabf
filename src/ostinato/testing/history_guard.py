"""Wrapper of a model that checks that it does not edit the shared history.

A request shares its contents with the session; a model that edits them corrupts every later
request. Wrap an adapter or a custom model in it in tests.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager

from pydantic import PrivateAttr

from .. import types
from .._aclosing import Aclosing
from ..models.base_llm import BaseLlm
from ..models.base_llm_connection import BaseLlmConnection
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse


class SharedHistoryError(AssertionError):
    """A model edited contents that belong to the session's history."""


class HistoryGuard(BaseLlm):
    """A model that delegates to another one and compares the contents afterwards."""

    model: str = ""
    _guarded: BaseLlm = PrivateAttr()

    def __init__(self, guarded: BaseLlm) -> None:
        """Wrap the model `guarded`."""
        super().__init__(model=guarded.model)
        self._guarded = guarded

    @property
    def supports_output_schema_with_tools(self) -> bool:
        return self._guarded.supports_output_schema_with_tools

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        return self._guarded.connect(llm_request)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Pass the request on.

        Raises:
          SharedHistoryError: a content differs after the model's answer.
        """
        shared = list(llm_request.contents)
        before = [_take_snapshot(content) for content in shared]
        try:
            answers = self._guarded.generate_content_async(llm_request, stream)
            async with Aclosing(answers):
                async for response in answers:
                    yield response
        finally:
            self._compare_contents(shared, before)

    def _compare_contents(self, shared: list[types.Content], before: list[str]) -> None:
        for index, (content, snapshot) in enumerate(zip(shared, before, strict=True)):
            if (now := _take_snapshot(content)) != snapshot:
                raise SharedHistoryError(
                    f"{type(self._guarded).__name__} ({self.model!r}) edited content {index} of "
                    "the shared history; it has to take a copy by llm_request.own_contents().\n"
                    f"  before: {snapshot}\n  after:  {now}"
                )


def _take_snapshot(content: types.Content) -> str:
    return content.model_dump_json(exclude_none=True)

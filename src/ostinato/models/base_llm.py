"""BaseLlm: the port of a model. Adapters and users' own models subclass it, the flow calls it."""

import abc
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from .. import types
from ..types.deferred_signature import DeferredSignature
from .base_llm_connection import BaseLlmConnection
from .capabilities import ModelCapabilities
from .llm_request import LlmRequest
from .llm_response import LlmResponse

_CONTINUE = "Continue from where the conversation stands, as the instructions ask."


class BaseLlm(BaseModel):
    """A model that answers requests (Spec 2 §5).

    Attributes:
      model: the model's name.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    #: How often a run asks again after an empty answer, unless its RunConfig says otherwise.
    empty_retries: ClassVar[int] = 0

    __signature__: ClassVar[Any] = DeferredSignature()

    model: str

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "__signature__" not in vars(cls):
            cls.__signature__ = DeferredSignature()

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return regular expressions of the model names this class serves, for the registry."""
        return []

    @property
    def capabilities(self) -> ModelCapabilities:
        """What this model can do; the flow asks before it puts something into a request."""
        return ModelCapabilities()

    @property
    def supports_output_schema_with_tools(self) -> bool:
        """Whether a request may carry a response schema and tools together (Spec 2 §3.3, §3.8)."""
        return self.capabilities.structured_output_with_tools

    @property
    def pairs_calls_by_id(self) -> bool:
        """Whether requests keep the ids that calls were given here: results name their calls.

        Other models are sent the ids of their own making only (Spec 2 §6.9).
        """
        return False

    @abc.abstractmethod
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request.

        Args:
          llm_request: the request; its contents are shared with the history and must not be edited.
          stream: whether to yield partial responses before the complete one.

        Yields:
          One complete response; with `stream`, partial ones first, whose sum it repeats.
        """
        raise NotImplementedError(f"{type(self).__name__} does not generate content")
        yield  # marks this as an async generator, as every implementation is

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """Open a live connection.

        Raises:
          NotImplementedError: this model has none.
        """
        raise NotImplementedError(f"Live connections are not supported for {self.model}.")

    async def aclose(self) -> None:
        """Let go of connections; a later request opens new ones. A runner does so at its end."""

    def _maybe_append_user_content(self, llm_request: LlmRequest) -> None:
        """Add a user content where the request has none or ends with the model's own words.

        Contents that hold nothing but blank text do not count, for adapters leave them out.
        """
        last = next((one for one in reversed(llm_request.contents) if not _is_blank(one)), None)
        if last is None:
            text = "Handle the request that the system instruction describes."
        elif last.role != "user":
            text = _CONTINUE
        else:
            return
        llm_request.contents.append(types.Content(role="user", parts=[types.Part(text=text)]))


def _is_blank(content: types.Content) -> bool:
    """Return whether a content holds nothing, or nothing but blank text."""
    return all(
        part.text is not None and not part.text.strip() and not part.thought_signature
        for part in content.parts or ()
    )

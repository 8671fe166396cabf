"""FallbackModel, a model that calls several models in order until one answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from dataclasses import fields
from typing import Any, ClassVar, Literal

from pydantic import Field, PrivateAttr, SkipValidation, field_validator

from .._aclosing import Aclosing
from .._log import get_logger
from ..errors import ModelAnswerError, ModelServerError, ProviderError
from .base_llm import BaseLlm
from .base_llm_connection import BaseLlmConnection
from .capabilities import ModelCapabilities
from .circuit_breaker import Circuit, CircuitBreaker, circuit_of
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .provider_llm import ProviderLlm
from .registry import LLMRegistry, check_model
from .retry_policy import RetryPolicy, cause_of, make_restart_response, status_of

logger = get_logger(__name__)

#: Key in `custom_metadata` of each response that holds the name of the model that gave it.
ANSWERED_BY = "answered_by"


class FallbackModel(BaseLlm):
    """Calls its models in order until one answers.

    Each model retries by itself first: one of a provider by its own `retry_policy`, any other by
    `retry_policy` here. Every response says which model gave it: in `model_version`, where the
    provider does not say so itself, and in `custom_metadata["answered_by"]`.

    Attributes:
      model: a name for all of them; the first one's by default.
      models: names or models, the preferred one first.
      retriable_status_codes: HTTP statuses that let the next model be asked.
      fall_back_on: classes of errors that do so, too.
      after_first_part: what to do where a model fails once parts of its answer were handed on:
        `raise` the failure, or `restart` with the next model; see `RetryPolicy.after_first_part`.
      retry_policy: by which models are asked again that are no provider's.
      circuit_breaker: when a model that keeps failing is left out for a while. A provider's model
        is counted for the whole process, any other for this object.
    """

    DEFAULT_STATUS_CODES: ClassVar[frozenset[int]] = frozenset({408, 429, 500, 502, 503, 504, 529})
    empty_retries: ClassVar[int] = 2

    model: str = ""
    models: list[SkipValidation[str | BaseLlm]] = Field(min_length=1)
    retriable_status_codes: frozenset[int] = DEFAULT_STATUS_CODES
    fall_back_on: tuple[type[Exception], ...] = (ConnectionError, TimeoutError, ModelAnswerError)
    after_first_part: Literal["raise", "restart"] = "raise"
    retry_policy: RetryPolicy | None = None
    circuit_breaker: CircuitBreaker = CircuitBreaker()

    _members: list[tuple[BaseLlm, Circuit]] | None = PrivateAttr(default=None)

    @field_validator("models", mode="after")
    @classmethod
    def _check_models(cls, models: list[Any]) -> list[Any]:
        for model in models:
            if not isinstance(model, str | BaseLlm) or not model:
                raise ValueError(
                    f"FallbackModel.models takes names and BaseLlm objects; got {model!r:.80}"
                )
        return models

    def model_post_init(self, context: Any, /) -> None:
        """Use the first model's name if no name is given."""
        super().model_post_init(context)
        first = self.models[0]
        self.model = self.model or (first if isinstance(first, str) else first.model)

    def __getstate__(self) -> dict[Any, Any]:
        """Return the fields; the models made from names are not pickled."""
        return {**super().__getstate__(), "__pydantic_private__": {"_members": None}}

    @property
    def capabilities(self) -> ModelCapabilities:
        """What all of the models can do."""
        members = [member for member, _ in self._resolve_models()]
        every = [member.capabilities for member in members]
        names = [field.name for field in fields(ModelCapabilities)]
        can = {name: min(getattr(one, name) for one in every) for name in names}
        both = all(member.supports_output_schema_with_tools for member in members)
        return ModelCapabilities(**{**can, "structured_output_with_tools": both})

    @property
    def pairs_calls_by_id(self) -> bool:
        """Whether one of the models ties results to calls by id."""
        return any(member.pairs_calls_by_id for member, _ in self._resolve_models())

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request with the first model that succeeds; see `BaseLlm`.

        Raises:
          Exception: the last model's error, with notes on the models that failed before.
          ModelServerError: the circuits of all models are open; `retry_after` says how long.
        """
        failed: list[tuple[BaseLlm, Exception]] = []
        waits: list[float] = []
        shown = False  # whether partial responses of a failed model were yielded
        for member, circuit in self._resolve_models():
            wait = circuit.admits(self.circuit_breaker)
            if wait:
                waits.append(wait)
                continue
            if failed:
                logger.warning("Model %r is asked instead.", member.model)
            parts = complete = False
            try:
                async with Aclosing(self._ask(member, llm_request, stream)) as responses:
                    async for response in responses:
                        if shown:
                            shown = False
                            yield make_restart_response()
                        parts = True
                        complete |= not response.partial
                        yield _add_model_name(response, member)
                circuit.record_success()
                return
            except Exception as error:  # boundary: some errors let the next model be asked
                if complete or not self._falls_back(error):
                    _note(error, failed)
                    raise
                self._note_failure(member, circuit, error)
                if parts and self.after_first_part == "raise":
                    _note(error, failed)
                    raise
                shown |= parts
                failed.append((member, error))
            finally:
                circuit.release()
        if not failed:
            raise self._all_left_alone(min(waits))
        _note(failed[-1][1], failed[:-1])
        raise failed[-1][1]

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """Open a live connection with the first model that supports them."""
        members = [member for member, _ in self._resolve_models()]
        live = next((member for member in members if member.capabilities.live), members[0])
        return live.connect(llm_request.model_copy(update={"model": live.model}))

    async def aclose(self) -> None:
        """Close the connections of all models."""
        for member, _ in self._members or ():
            await member.aclose()

    def _resolve_models(self) -> list[tuple[BaseLlm, Circuit]]:
        """Return the models with their circuits; create models from names on first use."""
        if self._members is None:
            for name in (m for m in self.models if isinstance(m, str)):
                check_model(name)  # report a bad name now, not when a fallback is needed
            built = [LLMRegistry.new_llm(m) if isinstance(m, str) else m for m in self.models]
            self._members = [(member, _circuit(member)) for member in built]
        return self._members

    def _ask(
        self, member: BaseLlm, llm_request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call one model with a copy of the request, because it may add contents."""

        def once() -> AsyncGenerator[LlmResponse, None]:
            own = {"model": member.model, "contents": [*llm_request.contents]}
            return member.generate_content_async(llm_request.model_copy(update=own), stream=stream)

        if self.retry_policy is None or isinstance(member, ProviderLlm):
            return once()
        return self.retry_policy.run(once, model=member.model)

    def _falls_back(self, error: Exception) -> bool:
        known = isinstance(error, self.fall_back_on)
        return known or status_of(error) in self.retriable_status_codes

    def _note_failure(self, member: BaseLlm, circuit: Circuit, error: Exception) -> None:
        logger.warning("Model %r failed: %s.", member.model, cause_of(error))
        if circuit.record_failure(self.circuit_breaker):
            seconds = self.circuit_breaker.cooldown
            logger.warning("Model %r keeps failing: left out for %g s.", member.model, seconds)

    def _all_left_alone(self, wait: float) -> ProviderError:
        return ModelServerError(
            f"All models of FallbackModel {self.model!r} keep failing and are left out for now; "
            f"the next one is tried in {wait:.1f} s. See the log for what failed.",
            model=self.model,
            retry_after=wait,
        )


def _circuit(member: BaseLlm) -> Circuit:
    if isinstance(member, ProviderLlm):
        return circuit_of(member.key)
    return Circuit()


def _add_model_name(response: LlmResponse, member: BaseLlm) -> LlmResponse:
    """Return the response with the name of the model that created it."""
    said = {ANSWERED_BY: member.model, **(response.custom_metadata or {})}
    version = response.model_version or member.model
    return response.model_copy(update={"custom_metadata": said, "model_version": version})


def _note(error: Exception, failed: list[tuple[BaseLlm, Exception]]) -> None:
    """Add a note to an error that lists the models that failed before."""
    for member, earlier in failed:
        error.add_note(f"before it, model {member.model!r} had failed: {cause_of(earlier)}")

"""LlmResponse: what one call of a model gave back. `Event` extends it, so it lies below the
events.
"""

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from .. import types
from ..types.deferred_signature import DeferredSignature
from ..types.deferred_type import deferred_type
from ..types.like_named import GENAI_TYPES, own_fields
from .cache_metadata import CacheMetadata

if TYPE_CHECKING:
    from ..types import (
        CitationMetadata,
        FinishReason,
        GenerateContentResponseUsageMetadata,
        GroundingMetadata,
        LiveServerGoAway,
        LiveServerSessionResumptionUpdate,
        LogprobsResult,
        Transcription,
        TurnCompleteReason,
    )
else:
    CitationMetadata = deferred_type("CitationMetadata")
    FinishReason = deferred_type("FinishReason")
    GenerateContentResponseUsageMetadata = deferred_type("GenerateContentResponseUsageMetadata")
    GroundingMetadata = deferred_type("GroundingMetadata")
    LiveServerGoAway = deferred_type("LiveServerGoAway")
    LiveServerSessionResumptionUpdate = deferred_type("LiveServerSessionResumptionUpdate")
    LogprobsResult = deferred_type("LogprobsResult")
    Transcription = deferred_type("Transcription")
    TurnCompleteReason = deferred_type("TurnCompleteReason")

#: Fields that may hold records of google-genai.
RECORD_FIELDS = (
    *("content", "grounding_metadata", "usage_metadata", "citation_metadata", "logprobs_result"),
    *("input_transcription", "output_transcription", "go_away", "live_session_resumption_update"),
)


#: Key in `custom_metadata` of a partial response that takes back the partial ones before it.
RESTARTED = "restarted"


class LlmResponse(BaseModel):
    """One response, or one streamed piece of a response, of a model (Spec 2 §5.3, §7.1).

    Attributes:
      content: text, calls and other parts the model produced; None for control messages and errors.
      partial: True for a streamed piece that a later, complete response repeats.
      turn_complete: whether the model's turn has ended (live mode).
      error_code: provider's code or finish reason where there is no usable content.
      error_message: text that goes with `error_code`.
      interrupted: whether the user interrupted the model (live mode).
      usage_metadata: token counts of this call.
    """

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
        defer_build=True,
    )

    __signature__: ClassVar[Any] = DeferredSignature()

    model_version: str | None = None
    content: types.Content | None = None
    grounding_metadata: GroundingMetadata | None = None
    partial: bool | None = None
    turn_complete: bool | None = None
    turn_complete_reason: TurnCompleteReason | None = None
    finish_reason: FinishReason | None = None
    error_code: str | None = None
    error_message: str | None = None
    interrupted: bool | None = None
    custom_metadata: dict[str, Any] | None = None
    usage_metadata: GenerateContentResponseUsageMetadata | None = None
    live_session_resumption_update: LiveServerSessionResumptionUpdate | None = None
    live_session_id: str | None = None
    go_away: LiveServerGoAway | None = None
    input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None
    avg_logprobs: float | None = None
    logprobs_result: LogprobsResult | None = None
    cache_metadata: CacheMetadata | None = None
    citation_metadata: CitationMetadata | None = None
    interaction_id: str | None = None

    if not TYPE_CHECKING:

        def __init__(self, **data: Any) -> None:
            if GENAI_TYPES in sys.modules:
                own_fields(data, RECORD_FIELDS)
            self.__pydantic_validator__.validate_python(data, self_instance=self)

        # Stored responses hold no objects: pydantic fills them without calling __init__.
        __init__.__pydantic_base_init__ = True

    def get_function_calls(self) -> list[types.FunctionCall]:
        """Return the function calls among the parts, in order."""
        content = self.content
        parts = content.parts if content is not None else None
        return [call for p in parts if (call := p.function_call)] if parts else []

    def get_function_responses(self) -> list[types.FunctionResponse]:
        """Return the function responses among the parts, in order."""
        content = self.content
        parts = content.parts if content is not None else None
        return [answer for p in parts if (answer := p.function_response)] if parts else []

    @staticmethod
    def create(generate_content_response: "types.GenerateContentResponse") -> "LlmResponse":
        """Build a response from a Gemini-shaped answer (Spec 2 §5.3).

        Args:
          generate_content_response: the provider's whole answer; its first candidate counts.
        """
        answer = generate_content_response
        common: dict[str, Any] = {
            "usage_metadata": answer.usage_metadata,
            "model_version": answer.model_version,
        }
        if answer.candidates:
            candidate = answer.candidates[0]
            common |= {
                "finish_reason": candidate.finish_reason,
                "citation_metadata": candidate.citation_metadata,
                "avg_logprobs": candidate.avg_logprobs,
                "logprobs_result": candidate.logprobs_result,
            }
            stopped = candidate.finish_reason == types.FinishReason.STOP
            if (candidate.content and candidate.content.parts) or stopped:
                return LlmResponse(
                    content=candidate.content,
                    grounding_metadata=candidate.grounding_metadata,
                    **common,
                )
            return LlmResponse(
                error_code=candidate.finish_reason,
                error_message=candidate.finish_message,
                **common,
            )
        if answer.prompt_feedback:
            return LlmResponse(
                error_code=answer.prompt_feedback.block_reason,
                error_message=answer.prompt_feedback.block_reason_message,
                **common,
            )
        return LlmResponse(content=types.Content(role="model", parts=[]), **common)

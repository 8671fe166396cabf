"""The model's answer as the service sends it."""

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.content import Content, FunctionCall, Part
from ostinato.types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ostinato.types.citation import CitationMetadata, LogprobsResult, UrlContextMetadata
    from ostinato.types.finish import BlockedReason, FinishReason
    from ostinato.types.grounding import GroundingMetadata
    from ostinato.types.http_options import HttpResponse
    from ostinato.types.safety import SafetyRating
    from ostinato.types.usage import GenerateContentResponseUsageMetadata
else:
    BlockedReason = deferred_type("BlockedReason")
    CitationMetadata = deferred_type("CitationMetadata")
    FinishReason = deferred_type("FinishReason")
    GenerateContentResponseUsageMetadata = deferred_type("GenerateContentResponseUsageMetadata")
    GroundingMetadata = deferred_type("GroundingMetadata")
    HttpResponse = deferred_type("HttpResponse")
    LogprobsResult = deferred_type("LogprobsResult")
    SafetyRating = deferred_type("SafetyRating")
    UrlContextMetadata = deferred_type("UrlContextMetadata")


class GenerateContentResponsePromptFeedback(Record):
    """Why a prompt was blocked, and how it was rated."""

    block_reason: BlockedReason | None = None
    block_reason_message: str | None = None
    safety_ratings: list[SafetyRating] | None = None


class ModelStage(CaseInsensitiveEnum):
    """Where a model is in its life."""

    MODEL_STAGE_UNSPECIFIED = "MODEL_STAGE_UNSPECIFIED"
    UNSTABLE_EXPERIMENTAL = "UNSTABLE_EXPERIMENTAL"
    EXPERIMENTAL = "EXPERIMENTAL"
    PREVIEW = "PREVIEW"
    STABLE = "STABLE"
    LEGACY = "LEGACY"
    DEPRECATED = "DEPRECATED"
    RETIRED = "RETIRED"


class ModelStatus(Record):
    """The stage of the model that answered, and when it retires."""

    message: str | None = None
    model_stage: ModelStage | None = None
    retirement_time: datetime | None = None


class Candidate(Record):
    """One answer of the model."""

    content: Content | None = None
    citation_metadata: CitationMetadata | None = None
    finish_message: str | None = None
    token_count: int | None = None
    finish_reason: FinishReason | None = None
    grounding_metadata: GroundingMetadata | None = None
    avg_logprobs: float | None = None
    index: int | None = None
    logprobs_result: LogprobsResult | None = None
    safety_ratings: list[SafetyRating] | None = None
    url_context_metadata: UrlContextMetadata | None = None
    continuation_token: bytes | None = None


class GenerateContentResponse(Record):
    """One answer of the model, or one chunk of it while it streams."""

    sdk_http_response: HttpResponse | None = None
    candidates: list[Candidate] | None = None
    create_time: datetime | None = None
    model_version: str | None = None
    prompt_feedback: GenerateContentResponsePromptFeedback | None = None
    response_id: str | None = None
    usage_metadata: GenerateContentResponseUsageMetadata | None = None
    model_status: ModelStatus | None = None
    automatic_function_calling_history: list[Content] | None = None
    parsed: BaseModel | dict[Any, Any] | Enum | None = None

    @property
    def parts(self) -> list[Part] | None:
        """The parts of the first candidate, or None."""
        content = self.candidates[0].content if self.candidates else None
        return content.parts if content else None

    @property
    def text(self) -> str | None:
        """The text of the first candidate without its thoughts, or None if it has none."""
        texts = [
            part.text for part in self.parts or () if part.text is not None and not part.thought
        ]
        return "".join(texts) if texts else None

    @property
    def function_calls(self) -> list[FunctionCall] | None:
        """The calls of the first candidate, or None if there are none."""
        return [part.function_call for part in self.parts or () if part.function_call] or None

    @property
    def executable_code(self) -> str | None:
        """The first code of the first candidate, or None."""
        codes = (part.executable_code for part in self.parts or ())
        return next((code.code for code in codes if code), None)

    @property
    def code_execution_result(self) -> str | None:
        """The first code output of the first candidate, or None."""
        results = (part.code_execution_result for part in self.parts or ())
        return next((result.output for result in results if result), None)

    @property
    def initial_prompt_token_count(self) -> int | None:
        """The tokens of the prompt as it was sent, or None if the response does not say."""
        return self.usage_metadata.initial_prompt_token_count if self.usage_metadata else None

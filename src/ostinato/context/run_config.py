"""RunConfig: the settings of one run. `ostinato.agents.run_config` is its public face."""

import sys
import warnings
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from .. import types
from .._log import get_logger
from ..sessions.base_session_service import GetSessionConfig
from ..types.deferred_type import deferred_type
from ..types.record_template import RecordTemplate
from .budget import Budget

if TYPE_CHECKING:
    from ..types import (
        AudioTranscriptionConfig,
        AvatarConfig,
        ContextWindowCompressionConfig,
        HistoryConfig,
        ProactivityConfig,
        RealtimeInputConfig,
        SessionResumptionConfig,
        SpeechConfig,
        TranslationConfig,
    )
else:
    SpeechConfig = deferred_type("SpeechConfig")
    AvatarConfig = deferred_type("AvatarConfig")
    RealtimeInputConfig = deferred_type("RealtimeInputConfig")
    TranslationConfig = deferred_type("TranslationConfig")
    ProactivityConfig = deferred_type("ProactivityConfig")
    SessionResumptionConfig = deferred_type("SessionResumptionConfig")
    HistoryConfig = deferred_type("HistoryConfig")
    ContextWindowCompressionConfig = deferred_type("ContextWindowCompressionConfig")
    AudioTranscriptionConfig = deferred_type("AudioTranscriptionConfig")


logger = get_logger(__name__)


def _default_transcription() -> AudioTranscriptionConfig:
    return types.AudioTranscriptionConfig()


_defaults: dict[str, Any] = {"sync_tools": "thread", "copy_contents": False}


def set_process_defaults(
    *, sync_tools: Literal["thread", "inline"] | None = None, copy_contents: bool | None = None
) -> None:
    """Set what later RunConfigs default to; `ostinato.compat` does, for ADK's programs."""
    if sync_tools is not None:
        _defaults["sync_tools"] = sync_tools
    if copy_contents is not None:
        _defaults["copy_contents"] = copy_contents


class StreamingMode(Enum):
    """How a model's response reaches the caller (Spec 1 §17)."""

    NONE = None
    SSE = "sse"
    BIDI = "bidi"


class ToolThreadPoolConfig(BaseModel):
    """Worker threads for tools.

    Attributes:
      max_workers: number of threads, at least 1.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    max_workers: int = Field(default=4, ge=1)


class RunConfig(BaseModel):
    """Settings of one run (Spec 1 §17, §18; Spec 4 §10).

    The fields that google-adk does not have are the last ten.

    Attributes:
      streaming_mode: NONE for whole responses, SSE for partial events before each whole one.
      max_llm_calls: model calls allowed in one invocation; 0 or less sets no limit.
      custom_metadata: merged into every event of the run.
      get_session_config: which events to load.
      save_input_blobs_as_artifacts: store inline files of the user's message as artifacts first.
      support_cfc: google-adk's switch to compositional function calling. It has no effect here, and
        setting it warns: the model's own function calling is used.
      telemetry: a TelemetryConfig, which says whether the run's exported spans hold contents. The
        names of spans and attributes do not depend on it.
      sync_tools: where plain `def` tools run: in a worker thread, or inline on the event loop.
      copy_contents: hand models a deep copy of the history instead of shared Contents.
      tool_errors: `raise` a tool's exception to the caller, or hand it to the model as `feedback`.
      max_model_retries: how often in a row the model may repeat one kind of mistake.
      max_empty_retries: how often a model is asked again that answered nothing, or made a call that
        cannot be read; None leaves it to the model: 2 for those of providers, 0 for a BaseLlm of
        your own. The last answer is returned unchanged.
      max_repeated_calls: how often in a row an agent may call a tool with the same arguments and
        get the same result; the next such call is answered with an explanation instead. 0, the
        default, sets no limit.
      max_tool_result_bytes: size of a tool's result, as JSON, above which the model is told it is
        too large.
      quote_agents: mark quotes of other agents as untrusted data in the context.
      on_busy: what a request does where another invocation runs in the session: `queue` waits for
        its turn, `reject` raises SessionBusyError, `interrupt` cancels the one that runs.
      budget: what the invocation may use; its limits come before those of `App.budget`.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    speech_config: SpeechConfig | None = None
    response_modalities: list[str] | None = None
    avatar_config: AvatarConfig | None = None
    save_input_blobs_as_artifacts: bool = False
    support_cfc: bool = False
    streaming_mode: StreamingMode = StreamingMode.NONE
    output_audio_transcription: AudioTranscriptionConfig | None = Field(
        default_factory=_default_transcription
    )
    input_audio_transcription: AudioTranscriptionConfig | None = Field(
        default_factory=_default_transcription
    )
    realtime_input_config: RealtimeInputConfig | None = None
    translation_config: TranslationConfig | None = None
    enable_affective_dialog: bool | None = None
    proactivity: ProactivityConfig | None = None
    session_resumption: SessionResumptionConfig | None = None
    history_config: HistoryConfig | None = None
    context_window_compression: ContextWindowCompressionConfig | None = None
    save_live_blob: bool = False
    tool_thread_pool_config: ToolThreadPoolConfig | None = None
    save_live_audio: bool = False
    max_llm_calls: int = 500
    custom_metadata: dict[str, Any] | None = None
    get_session_config: GetSessionConfig | None = None
    telemetry: Any = None
    sync_tools: Literal["thread", "inline"] = Field(default_factory=lambda: _defaults["sync_tools"])
    copy_contents: bool = Field(default_factory=lambda: _defaults["copy_contents"])
    tool_errors: Literal["raise", "feedback"] | None = None
    max_model_retries: int = Field(default=5, ge=0)
    max_empty_retries: int | None = Field(default=None, ge=0)
    max_repeated_calls: int = Field(default=0, ge=0)
    max_tool_result_bytes: int = Field(default=4 * 1024 * 1024, gt=0)
    quote_agents: bool = False
    on_busy: Literal["queue", "reject", "interrupt"] = "queue"
    budget: Budget | None = None

    @model_validator(mode="before")
    @classmethod
    def check_for_deprecated_save_live_audio(cls, data: Any) -> Any:
        """Return fields with `save_live_blob` for its old name, and warn of that."""
        fields = cast(dict[str, Any], data) if isinstance(data, dict) else {}
        if fields.get("save_live_audio"):
            logger.warning("RunConfig.save_live_audio is deprecated; use save_live_blob.")
            return {**fields, "save_live_blob": True}
        return cast(Any, data)

    @field_validator("support_cfc", mode="after")
    @classmethod
    def _warn_of_cfc(cls, value: bool) -> bool:
        if value:
            warnings.warn(
                "RunConfig.support_cfc has no effect in Ostinato, which uses the model's own "
                "function calling. Leave it out.",
                UserWarning,
                stacklevel=2,
            )
        return value

    @field_validator("telemetry", mode="after")
    @classmethod
    def _check_telemetry(cls, value: Any) -> Any:
        if value is not None and not hasattr(value, "should_add_content_to_experimental_spans"):
            raise ValueError(
                f"telemetry takes a TelemetryConfig of ostinato.telemetry, not {value!r:.80}."
            )
        return value

    @field_validator("max_llm_calls", mode="after")
    @classmethod
    def validate_max_llm_calls(cls, value: int) -> int:
        """Return a number of model calls, or raise ValueError if it is too large."""
        if value == sys.maxsize:
            raise ValueError(f"max_llm_calls should be less than {sys.maxsize}.")
        if value <= 0:
            logger.warning("max_llm_calls is %d: the number of model calls is not limited.", value)
        return value


RUN_CONFIG_TEMPLATE = RecordTemplate(
    RunConfig,
    default_factories={
        "output_audio_transcription": _default_transcription,
        "input_audio_transcription": _default_transcription,
        "sync_tools": lambda: _defaults["sync_tools"],
        "copy_contents": lambda: _defaults["copy_contents"],
    },
)
"""Makes the settings of runs for which none are given."""

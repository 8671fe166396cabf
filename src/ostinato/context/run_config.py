"""RunConfig: how one run behaves. `ostinato.agents.run_config` is its public face."""

import sys
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from .. import types
from .._log import get_logger
from ..sessions.base_session_service import GetSessionConfig
from ..types.blank import Blank
from ..types.late_field import later
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
    SpeechConfig = later("SpeechConfig")
    AvatarConfig = later("AvatarConfig")
    RealtimeInputConfig = later("RealtimeInputConfig")
    TranslationConfig = later("TranslationConfig")
    ProactivityConfig = later("ProactivityConfig")
    SessionResumptionConfig = later("SessionResumptionConfig")
    HistoryConfig = later("HistoryConfig")
    ContextWindowCompressionConfig = later("ContextWindowCompressionConfig")
    AudioTranscriptionConfig = later("AudioTranscriptionConfig")


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
      telemetry: taken for compatibility, and not used: spans follow the OpenTelemetry SDK.
      sync_tools: where plain `def` tools run: in a worker thread, or inline on the event loop.
      copy_contents: hand models a deep copy of the history instead of shared Contents.
      tool_errors: `raise` a tool's exception to the caller, or hand it to the model as `feedback`.
      max_model_retries: how often in a row the model may repeat one kind of mistake.
      max_empty_retries: how often a model is asked again that answered nothing, or made a call that
        cannot be read; None leaves it to the model: 2 for those of providers, 0 for a BaseLlm of
        your own. The last answer is handed on as it is.
      max_repeated_calls: how often in a row an agent may call a tool with the same arguments and
        the same result; the next such call is answered with an explanation instead. 0 sets no
        limit.
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
    max_repeated_calls: int = Field(default=10, ge=0)
    max_tool_result_bytes: int = Field(default=4 * 1024 * 1024, gt=0)
    quote_agents: bool = False
    on_busy: Literal["queue", "reject", "interrupt"] = "queue"
    budget: Budget | None = None

    @model_validator(mode="before")
    @classmethod
    def _rename_save_live_audio(cls, data: Any) -> Any:
        fields = cast(dict[str, Any], data) if isinstance(data, dict) else {}
        if fields.get("save_live_audio"):
            logger.warning("RunConfig.save_live_audio is deprecated; use save_live_blob.")
            return {**fields, "save_live_blob": True}
        return cast(Any, data)

    @field_validator("max_llm_calls", mode="after")
    @classmethod
    def _check_max_llm_calls(cls, value: int) -> int:
        if value == sys.maxsize:
            raise ValueError(f"max_llm_calls must be less than {sys.maxsize}.")
        if value <= 0:
            logger.warning("max_llm_calls is %d: the number of model calls is not limited.", value)
        return value


DEFAULT_RUN = Blank(
    RunConfig,
    fresh={
        "output_audio_transcription": _default_transcription,
        "input_audio_transcription": _default_transcription,
        "sync_tools": lambda: _defaults["sync_tools"],
        "copy_contents": lambda: _defaults["copy_contents"],
    },
)
"""Makes the settings of runs for which none are given."""

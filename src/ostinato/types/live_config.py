"""Settings of a live session."""

from typing import TYPE_CHECKING

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ostinato.types.config import ThinkingConfig
    from ostinato.types.generation import GenerationConfig, MediaResolution, Modality
    from ostinato.types.http_options import HttpOptions
    from ostinato.types.safety import SafetySetting
    from ostinato.types.speech import AudioTranscriptionConfig, SpeechConfig, TranslationConfig
    from ostinato.types.unions import ContentUnion, ToolListUnion
else:
    AudioTranscriptionConfig = deferred_type("AudioTranscriptionConfig")
    ContentUnion = deferred_type("ContentUnion")
    GenerationConfig = deferred_type("GenerationConfig")
    HttpOptions = deferred_type("HttpOptions")
    MediaResolution = deferred_type("MediaResolution")
    Modality = deferred_type("Modality")
    SafetySetting = deferred_type("SafetySetting")
    SpeechConfig = deferred_type("SpeechConfig")
    ThinkingConfig = deferred_type("ThinkingConfig")
    ToolListUnion = deferred_type("ToolListUnion")
    TranslationConfig = deferred_type("TranslationConfig")


class StartSensitivity(CaseInsensitiveEnum):
    """How readily speech is taken to begin."""

    START_SENSITIVITY_UNSPECIFIED = "START_SENSITIVITY_UNSPECIFIED"
    START_SENSITIVITY_HIGH = "START_SENSITIVITY_HIGH"
    START_SENSITIVITY_LOW = "START_SENSITIVITY_LOW"


class EndSensitivity(CaseInsensitiveEnum):
    """How readily speech is taken to end."""

    END_SENSITIVITY_UNSPECIFIED = "END_SENSITIVITY_UNSPECIFIED"
    END_SENSITIVITY_HIGH = "END_SENSITIVITY_HIGH"
    END_SENSITIVITY_LOW = "END_SENSITIVITY_LOW"


class ActivityHandling(CaseInsensitiveEnum):
    """Whether speech interrupts the model."""

    ACTIVITY_HANDLING_UNSPECIFIED = "ACTIVITY_HANDLING_UNSPECIFIED"
    START_OF_ACTIVITY_INTERRUPTS = "START_OF_ACTIVITY_INTERRUPTS"
    NO_INTERRUPTION = "NO_INTERRUPTION"


class TurnCoverage(CaseInsensitiveEnum):
    """What belongs to the user's turn."""

    TURN_COVERAGE_UNSPECIFIED = "TURN_COVERAGE_UNSPECIFIED"
    TURN_INCLUDES_ONLY_ACTIVITY = "TURN_INCLUDES_ONLY_ACTIVITY"
    TURN_INCLUDES_ALL_INPUT = "TURN_INCLUDES_ALL_INPUT"
    TURN_INCLUDES_AUDIO_ACTIVITY_AND_ALL_VIDEO = "TURN_INCLUDES_AUDIO_ACTIVITY_AND_ALL_VIDEO"


class AutomaticActivityDetection(Record):
    """Settings of voice activity detection; times in milliseconds."""

    disabled: bool | None = None
    start_of_speech_sensitivity: StartSensitivity | None = None
    end_of_speech_sensitivity: EndSensitivity | None = None
    prefix_padding_ms: int | None = None
    silence_duration_ms: int | None = None


class RealtimeInputConfig(Record):
    """How live input is read."""

    automatic_activity_detection: AutomaticActivityDetection | None = None
    activity_handling: ActivityHandling | None = None
    turn_coverage: TurnCoverage | None = None
    interim_transcript_timestamp_enabled: bool | None = None


class ProactivityConfig(Record):
    """Whether a live model may keep silent or speak first."""

    proactive_audio: bool | None = None
    proactive_video: bool | None = None


class SessionResumptionConfig(Record):
    """Settings for resuming an interrupted live session."""

    handle: str | None = None
    transparent: bool | None = None


class SlidingWindow(Record):
    """Keeps the last `target_tokens` tokens."""

    target_tokens: int | None = None


class ContextWindowCompressionConfig(Record):
    """When a live session's context is shortened, and how."""

    trigger_tokens: int | None = None
    sliding_window: SlidingWindow | None = None


class HistoryConfig(Record):
    """How history enters a live session."""

    initial_history_in_client_content: bool | None = None


class CustomizedAvatar(Record):
    """An avatar made after an image."""

    image_mime_type: str | None = None
    image_data: bytes | None = None


class AvatarConfig(Record):
    """The avatar of a live session."""

    avatar_name: str | None = None
    customized_avatar: CustomizedAvatar | None = None
    audio_bitrate_bps: int | None = None
    video_bitrate_bps: int | None = None


class LiveConnectConfig(Record):
    """The settings of a live session."""

    http_options: HttpOptions | None = None
    generation_config: GenerationConfig | None = None
    response_modalities: list[Modality] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    max_output_tokens: int | None = None
    media_resolution: MediaResolution | None = None
    seed: int | None = None
    speech_config: SpeechConfig | None = None
    thinking_config: ThinkingConfig | None = None
    enable_affective_dialog: bool | None = None
    system_instruction: ContentUnion | None = None
    tools: ToolListUnion | None = None
    session_resumption: SessionResumptionConfig | None = None
    input_audio_transcription: AudioTranscriptionConfig | None = None
    output_audio_transcription: AudioTranscriptionConfig | None = None
    realtime_input_config: RealtimeInputConfig | None = None
    context_window_compression: ContextWindowCompressionConfig | None = None
    proactivity: ProactivityConfig | None = None
    explicit_vad_signal: bool | None = None
    history_config: HistoryConfig | None = None
    avatar_config: AvatarConfig | None = None
    safety_settings: list[SafetySetting] | None = None
    translation_config: TranslationConfig | None = None
    labels: dict[str, str] | None = None

"""The configuration of one model request."""

from typing import TYPE_CHECKING, Any

from ostinato.types._base_record import Record
from ostinato.types.deferred_type import deferred_type
from ostinato.types.thinking import ThinkingConfig

if TYPE_CHECKING:
    from ostinato.types.generation import (
        GenerationConfigRoutingConfig,
        GenerationOutputConfig,
        ImageConfig,
        MediaResolution,
        ModelArmorConfig,
        ModelSelectionConfig,
        ServiceTier,
    )
    from ostinato.types.http_options import HttpOptions
    from ostinato.types.safety import SafetySetting
    from ostinato.types.speech import AudioTranscriptionConfig
    from ostinato.types.tool import ToolConfig
    from ostinato.types.unions import ContentUnion, SchemaUnion, SpeechConfigUnion, ToolListUnion
else:
    AudioTranscriptionConfig = deferred_type("AudioTranscriptionConfig")
    ContentUnion = deferred_type("ContentUnion")
    GenerationConfigRoutingConfig = deferred_type("GenerationConfigRoutingConfig")
    GenerationOutputConfig = deferred_type("GenerationOutputConfig")
    HttpOptions = deferred_type("HttpOptions")
    ImageConfig = deferred_type("ImageConfig")
    MediaResolution = deferred_type("MediaResolution")
    ModelArmorConfig = deferred_type("ModelArmorConfig")
    ModelSelectionConfig = deferred_type("ModelSelectionConfig")
    SafetySetting = deferred_type("SafetySetting")
    SchemaUnion = deferred_type("SchemaUnion")
    ServiceTier = deferred_type("ServiceTier")
    SpeechConfigUnion = deferred_type("SpeechConfigUnion")
    ToolConfig = deferred_type("ToolConfig")
    ToolListUnion = deferred_type("ToolListUnion")


class AutomaticFunctionCallingConfig(Record):
    """Settings of the function calling done inside google-genai's own client."""

    disable: bool | None = None
    maximum_remote_calls: int | None = 10
    ignore_call_history: bool | None = None


class GenerateContentConfig(Record):
    """The settings of one model request (Spec 2, appendix C).

    `tools` takes records, dicts, callables, MCP sessions; `response_schema` a Schema, dict or type.
    """

    http_options: HttpOptions | None = None
    should_return_http_response: bool | None = None
    system_instruction: ContentUnion | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    candidate_count: int | None = None
    max_output_tokens: int | None = None
    stop_sequences: list[str] | None = None
    response_logprobs: bool | None = None
    logprobs: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    response_mime_type: str | None = None
    response_schema: SchemaUnion | None = None
    response_json_schema: Any | None = None
    routing_config: GenerationConfigRoutingConfig | None = None
    model_selection_config: ModelSelectionConfig | None = None
    safety_settings: list[SafetySetting] | None = None
    tools: ToolListUnion | None = None
    tool_config: ToolConfig | None = None
    labels: dict[str, str] | None = None
    cached_content: str | None = None
    response_modalities: list[str] | None = None
    media_resolution: MediaResolution | None = None
    speech_config: SpeechConfigUnion | None = None
    audio_timestamp: bool | None = None
    automatic_function_calling: AutomaticFunctionCallingConfig | None = None
    thinking_config: ThinkingConfig | None = None
    image_config: ImageConfig | None = None
    enable_enhanced_civic_answers: bool | None = None
    model_armor_config: ModelArmorConfig | None = None
    service_tier: ServiceTier | None = None
    audio_transcription_config: AudioTranscriptionConfig | None = None
    continuation_token: bytes | None = None
    automatic_continuation: bool | None = None
    generation_output_config: GenerationOutputConfig | None = None
    store: bool | None = None

"""Settings of generation that few requests carry: images, routing, formats, tiers."""

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.deferred_type import deferred_type
from ostinato.types.schema import Schema

if TYPE_CHECKING:
    from ostinato.types.speech import AudioTranscriptionConfig, SpeechConfig, TranslationConfig
    from ostinato.types.thinking import ThinkingConfig
else:
    AudioTranscriptionConfig = deferred_type("AudioTranscriptionConfig")
    SpeechConfig = deferred_type("SpeechConfig")
    ThinkingConfig = deferred_type("ThinkingConfig")
    TranslationConfig = deferred_type("TranslationConfig")


class MediaResolution(CaseInsensitiveEnum):
    """How finely the media of a request is read."""

    MEDIA_RESOLUTION_UNSPECIFIED = "MEDIA_RESOLUTION_UNSPECIFIED"
    MEDIA_RESOLUTION_LOW = "MEDIA_RESOLUTION_LOW"
    MEDIA_RESOLUTION_MEDIUM = "MEDIA_RESOLUTION_MEDIUM"
    MEDIA_RESOLUTION_HIGH = "MEDIA_RESOLUTION_HIGH"


class Modality(CaseInsensitiveEnum):
    """A kind of output."""

    MODALITY_UNSPECIFIED = "MODALITY_UNSPECIFIED"
    TEXT = "TEXT"
    IMAGE = "IMAGE"
    AUDIO = "AUDIO"
    VIDEO = "VIDEO"


class ServiceTier(CaseInsensitiveEnum):
    """The class of service a request is billed and scheduled by."""

    UNSPECIFIED = "unspecified"
    FLEX = "flex"
    STANDARD = "standard"
    PRIORITY = "priority"


class ProminentPeople(CaseInsensitiveEnum):
    """Whether images may show well-known people."""

    PROMINENT_PEOPLE_UNSPECIFIED = "PROMINENT_PEOPLE_UNSPECIFIED"
    ALLOW_PROMINENT_PEOPLE = "ALLOW_PROMINENT_PEOPLE"
    BLOCK_PROMINENT_PEOPLE = "BLOCK_PROMINENT_PEOPLE"


class ImageConfigImageOutputOptions(Record):
    """The file format of generated images."""

    compression_quality: int | None = None
    mime_type: str | None = None


class ImageConfig(Record):
    """The shape and content of generated images."""

    aspect_ratio: str | None = None
    image_size: str | None = None
    person_generation: str | None = None
    prominent_people: ProminentPeople | None = None
    output_mime_type: str | None = None
    output_compression_quality: int | None = None
    image_output_options: ImageConfigImageOutputOptions | None = None


class ModelArmorConfig(Record):
    """The Model Armor templates that screen a request."""

    prompt_template_name: str | None = None
    response_template_name: str | None = None


class GenerationOutputConfig(Record):
    """Where generated files are written."""

    output_uri_prefix: str | None = None


class GenerationConfigRoutingConfigAutoRoutingMode(Record):
    """Lets the service choose the model, by preference."""

    model_routing_preference: (
        Literal["UNKNOWN", "PRIORITIZE_QUALITY", "BALANCED", "PRIORITIZE_COST"] | None
    ) = None


class GenerationConfigRoutingConfigManualRoutingMode(Record):
    """Names the model to route to."""

    model_name: str | None = None


class GenerationConfigRoutingConfig(Record):
    """How a request is routed to a model."""

    auto_mode: GenerationConfigRoutingConfigAutoRoutingMode | None = None
    manual_mode: GenerationConfigRoutingConfigManualRoutingMode | None = None


class FeatureSelectionPreference(CaseInsensitiveEnum):
    """What a model is selected for."""

    FEATURE_SELECTION_PREFERENCE_UNSPECIFIED = "FEATURE_SELECTION_PREFERENCE_UNSPECIFIED"
    PRIORITIZE_QUALITY = "PRIORITIZE_QUALITY"
    BALANCED = "BALANCED"
    PRIORITIZE_COST = "PRIORITIZE_COST"


class ModelSelectionConfig(Record):
    """How a model is selected."""

    feature_selection_preference: FeatureSelectionPreference | None = None


class Delivery(CaseInsensitiveEnum):
    """How a generated file is handed over."""

    DELIVERY_UNSPECIFIED = "DELIVERY_UNSPECIFIED"
    INLINE = "INLINE"
    URI = "URI"


class AspectRatio(CaseInsensitiveEnum):
    """Width to height of an image or video."""

    ASPECT_RATIO_UNSPECIFIED = "ASPECT_RATIO_UNSPECIFIED"
    ASPECT_RATIO_ONE_BY_ONE = "ASPECT_RATIO_ONE_BY_ONE"
    ASPECT_RATIO_TWO_BY_THREE = "ASPECT_RATIO_TWO_BY_THREE"
    ASPECT_RATIO_THREE_BY_TWO = "ASPECT_RATIO_THREE_BY_TWO"
    ASPECT_RATIO_THREE_BY_FOUR = "ASPECT_RATIO_THREE_BY_FOUR"
    ASPECT_RATIO_FOUR_BY_THREE = "ASPECT_RATIO_FOUR_BY_THREE"
    ASPECT_RATIO_FOUR_BY_FIVE = "ASPECT_RATIO_FOUR_BY_FIVE"
    ASPECT_RATIO_FIVE_BY_FOUR = "ASPECT_RATIO_FIVE_BY_FOUR"
    ASPECT_RATIO_NINE_BY_SIXTEEN = "ASPECT_RATIO_NINE_BY_SIXTEEN"
    ASPECT_RATIO_SIXTEEN_BY_NINE = "ASPECT_RATIO_SIXTEEN_BY_NINE"
    ASPECT_RATIO_TWENTY_ONE_BY_NINE = "ASPECT_RATIO_TWENTY_ONE_BY_NINE"
    ASPECT_RATIO_ONE_BY_EIGHT = "ASPECT_RATIO_ONE_BY_EIGHT"
    ASPECT_RATIO_EIGHT_BY_ONE = "ASPECT_RATIO_EIGHT_BY_ONE"
    ASPECT_RATIO_ONE_BY_FOUR = "ASPECT_RATIO_ONE_BY_FOUR"
    ASPECT_RATIO_FOUR_BY_ONE = "ASPECT_RATIO_FOUR_BY_ONE"


class ImageSize(CaseInsensitiveEnum):
    """The size class of an image."""

    IMAGE_SIZE_UNSPECIFIED = "IMAGE_SIZE_UNSPECIFIED"
    IMAGE_SIZE_FIVE_TWELVE = "IMAGE_SIZE_FIVE_TWELVE"
    IMAGE_SIZE_ONE_K = "IMAGE_SIZE_ONE_K"
    IMAGE_SIZE_TWO_K = "IMAGE_SIZE_TWO_K"
    IMAGE_SIZE_FOUR_K = "IMAGE_SIZE_FOUR_K"


class AudioResponseFormat(Record):
    """The format of generated audio."""

    bit_rate: int | None = None
    delivery: Delivery | None = None
    mime_type: str | None = None
    sample_rate: int | None = None


class ImageResponseFormat(Record):
    """The format of a generated image."""

    aspect_ratio: AspectRatio | None = None
    delivery: Delivery | None = None
    image_size: ImageSize | None = None
    mime_type: str | None = None


class TextResponseFormat(Record):
    """The format of generated text."""

    mime_type: str | None = None
    jsonSchema: Any | None = Field(default=None, alias="schema")


class VideoResponseFormat(Record):
    """The format of a generated video."""

    aspect_ratio: AspectRatio | None = None
    delivery: Delivery | None = None
    duration: str | None = None
    gcs_uri: str | None = None
    resolution: str | None = None


class ResponseFormat(Record):
    """The format of one kind of output."""

    audio: AudioResponseFormat | None = None
    image: ImageResponseFormat | None = None
    text: TextResponseFormat | None = None
    video: VideoResponseFormat | None = None


class GenerationConfig(Record):
    """The sampling settings of a live session."""

    model_selection_config: ModelSelectionConfig | None = None
    response_json_schema: Any | None = None
    audio_timestamp: bool | None = None
    candidate_count: int | None = None
    enable_affective_dialog: bool | None = None
    frequency_penalty: float | None = None
    logprobs: int | None = None
    max_output_tokens: int | None = None
    media_resolution: MediaResolution | None = None
    presence_penalty: float | None = None
    response_logprobs: bool | None = None
    response_mime_type: str | None = None
    response_modalities: list[Modality] | None = None
    response_schema: Schema | None = None
    routing_config: GenerationConfigRoutingConfig | None = None
    seed: int | None = None
    speech_config: SpeechConfig | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    thinking_config: ThinkingConfig | None = None
    top_k: float | None = None
    top_p: float | None = None
    enable_enhanced_civic_answers: bool | None = None
    response_format: list[ResponseFormat] | None = None
    translation_config: TranslationConfig | None = None
    audio_transcription_config: AudioTranscriptionConfig | None = None

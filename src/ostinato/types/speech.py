"""Voices, transcription and translation of speech."""

from ostinato.types._base_record import CaseInsensitiveEnum, Record


class VoiceConsentSignature(Record):
    """Proof that a speaker agreed to a replica of their voice."""

    signature: str | None = None


class ReplicatedVoiceConfig(Record):
    """A voice made after a recording."""

    mime_type: str | None = None
    voice_sample_audio: bytes | None = None
    consent_audio: bytes | None = None
    voice_consent_signature: VoiceConsentSignature | None = None


class PrebuiltVoiceConfig(Record):
    """A voice of the service, by name."""

    voice_name: str | None = None


class VoiceConfig(Record):
    """A voice."""

    replicated_voice_config: ReplicatedVoiceConfig | None = None
    prebuilt_voice_config: PrebuiltVoiceConfig | None = None
    voice: str | None = None


class SpeakerVoiceConfig(Record):
    """The voice of one speaker."""

    speaker: str | None = None
    voice_config: VoiceConfig | None = None


class MultiSpeakerVoiceConfig(Record):
    """The voices of a conversation."""

    speaker_voice_configs: list[SpeakerVoiceConfig] | None = None


class SpeechConfig(Record):
    """How generated speech sounds."""

    voice_config: VoiceConfig | None = None
    language_code: str | None = None
    multi_speaker_voice_config: MultiSpeakerVoiceConfig | None = None


class LanguageAuto(Record):
    """Lets the service detect the language."""


class LanguageHints(Record):
    """Languages to expect."""

    language_codes: list[str] | None = None


class AudioTranscriptionConfigMode(CaseInsensitiveEnum):
    """Whether a transcription is word for word."""

    MODE_UNSPECIFIED = "MODE_UNSPECIFIED"
    VERBATIM = "VERBATIM"
    SMART = "SMART"


class AudioTranscriptionConfig(Record):
    """How speech is transcribed."""

    language_codes: list[str] | None = None
    language_auto: LanguageAuto | None = None
    language_hints: LanguageHints | None = None
    custom_vocabulary: list[str] | None = None
    adaptation_phrases: list[str] | None = None
    word_timestamp: bool | None = None
    diarization: bool | None = None
    mode: AudioTranscriptionConfigMode | None = None
    source_text: str | None = None


class TranslationConfig(Record):
    """How live speech is translated."""

    echo_target_language: bool | None = None
    target_language_code: str | None = None

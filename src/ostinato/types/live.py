"""Messages of a live session."""

from typing import TYPE_CHECKING

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.content import Content, FunctionCall, Part
from ostinato.types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ostinato.types.citation import UrlContextMetadata
    from ostinato.types.grounding import GroundingMetadata
    from ostinato.types.media import Transcription
    from ostinato.types.speech import VoiceConsentSignature
    from ostinato.types.usage import UsageMetadata
else:
    GroundingMetadata = deferred_type("GroundingMetadata")
    Transcription = deferred_type("Transcription")
    UrlContextMetadata = deferred_type("UrlContextMetadata")
    UsageMetadata = deferred_type("UsageMetadata")
    VoiceConsentSignature = deferred_type("VoiceConsentSignature")


class LiveServerSessionResumptionUpdate(Record):
    """The handle by which a live session resumes."""

    new_handle: str | None = None
    resumable: bool | None = None
    last_consumed_client_message_index: int | None = None


class LiveServerGoAway(Record):
    """The service will soon close the connection."""

    time_left: str | None = None


class LiveClientContent(Record):
    """Turns sent to a live session."""

    turns: list[Content] | None = None
    turn_complete: bool | None = None


class LiveServerSetupComplete(Record):
    """A live session is ready."""

    session_id: str | None = None
    voice_consent_signature: VoiceConsentSignature | None = None


class TurnCompleteReason(CaseInsensitiveEnum):
    """Why a live turn ended."""

    TURN_COMPLETE_REASON_UNSPECIFIED = "TURN_COMPLETE_REASON_UNSPECIFIED"
    MALFORMED_FUNCTION_CALL = "MALFORMED_FUNCTION_CALL"
    RESPONSE_REJECTED = "RESPONSE_REJECTED"
    NEED_MORE_INPUT = "NEED_MORE_INPUT"
    PROHIBITED_INPUT_CONTENT = "PROHIBITED_INPUT_CONTENT"
    IMAGE_PROHIBITED_INPUT_CONTENT = "IMAGE_PROHIBITED_INPUT_CONTENT"
    INPUT_TEXT_CONTAIN_PROMINENT_PERSON_PROHIBITED = (
        "INPUT_TEXT_CONTAIN_PROMINENT_PERSON_PROHIBITED"
    )
    INPUT_IMAGE_CELEBRITY = "INPUT_IMAGE_CELEBRITY"
    INPUT_IMAGE_PHOTO_REALISTIC_CHILD_PROHIBITED = "INPUT_IMAGE_PHOTO_REALISTIC_CHILD_PROHIBITED"
    INPUT_TEXT_NCII_PROHIBITED = "INPUT_TEXT_NCII_PROHIBITED"
    INPUT_OTHER = "INPUT_OTHER"
    INPUT_IP_PROHIBITED = "INPUT_IP_PROHIBITED"
    BLOCKLIST = "BLOCKLIST"
    UNSAFE_PROMPT_FOR_IMAGE_GENERATION = "UNSAFE_PROMPT_FOR_IMAGE_GENERATION"
    GENERATED_IMAGE_SAFETY = "GENERATED_IMAGE_SAFETY"
    GENERATED_CONTENT_SAFETY = "GENERATED_CONTENT_SAFETY"
    GENERATED_AUDIO_SAFETY = "GENERATED_AUDIO_SAFETY"
    GENERATED_VIDEO_SAFETY = "GENERATED_VIDEO_SAFETY"
    GENERATED_CONTENT_PROHIBITED = "GENERATED_CONTENT_PROHIBITED"
    GENERATED_CONTENT_BLOCKLIST = "GENERATED_CONTENT_BLOCKLIST"
    GENERATED_IMAGE_PROHIBITED = "GENERATED_IMAGE_PROHIBITED"
    GENERATED_IMAGE_CELEBRITY = "GENERATED_IMAGE_CELEBRITY"
    GENERATED_IMAGE_PROMINENT_PEOPLE_DETECTED_BY_REWRITER = (
        "GENERATED_IMAGE_PROMINENT_PEOPLE_DETECTED_BY_REWRITER"
    )
    GENERATED_IMAGE_IDENTIFIABLE_PEOPLE = "GENERATED_IMAGE_IDENTIFIABLE_PEOPLE"
    GENERATED_IMAGE_MINORS = "GENERATED_IMAGE_MINORS"
    OUTPUT_IMAGE_IP_PROHIBITED = "OUTPUT_IMAGE_IP_PROHIBITED"
    GENERATED_OTHER = "GENERATED_OTHER"
    MAX_REGENERATION_REACHED = "MAX_REGENERATION_REACHED"


class InteractionStatus(CaseInsensitiveEnum):
    """Where a live interaction stands."""

    INTERACTION_STATUS_UNSPECIFIED = "INTERACTION_STATUS_UNSPECIFIED"
    IN_PROGRESS = "IN_PROGRESS"
    REQUIRES_ACTION = "REQUIRES_ACTION"
    IDLE = "IDLE"


class LiveServerContent(Record):
    """What a live model says."""

    model_turn: Content | None = None
    turn_complete: bool | None = None
    interrupted: bool | None = None
    grounding_metadata: GroundingMetadata | None = None
    generation_complete: bool | None = None
    input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None
    url_context_metadata: UrlContextMetadata | None = None
    turn_complete_reason: TurnCompleteReason | None = None
    waiting_for_input: bool | None = None
    interim_input_transcription: Transcription | None = None
    interaction_status: InteractionStatus | None = None


class LiveServerToolCall(Record):
    """Functions that a live model calls."""

    function_calls: list[FunctionCall] | None = None


class LiveServerToolCallCancellation(Record):
    """Calls that a live model takes back."""

    ids: list[str] | None = None


class VadSignalType(CaseInsensitiveEnum):
    """Whether speech began or ended."""

    VAD_SIGNAL_TYPE_UNSPECIFIED = "VAD_SIGNAL_TYPE_UNSPECIFIED"
    VAD_SIGNAL_TYPE_SOS = "VAD_SIGNAL_TYPE_SOS"
    VAD_SIGNAL_TYPE_EOS = "VAD_SIGNAL_TYPE_EOS"


class VoiceActivityDetectionSignal(Record):
    """Speech began or ended."""

    vad_signal_type: VadSignalType | None = None


class VoiceActivityType(CaseInsensitiveEnum):
    """Whether an activity began or ended."""

    TYPE_UNSPECIFIED = "TYPE_UNSPECIFIED"
    ACTIVITY_START = "ACTIVITY_START"
    ACTIVITY_END = "ACTIVITY_END"


class VoiceActivity(Record):
    """An activity began or ended, and when."""

    voice_activity_type: VoiceActivityType | None = None
    audio_offset: str | None = None


class LiveServerMessage(Record):
    """One message of a live session."""

    setup_complete: LiveServerSetupComplete | None = None
    server_content: LiveServerContent | None = None
    tool_call: LiveServerToolCall | None = None
    tool_call_cancellation: LiveServerToolCallCancellation | None = None
    usage_metadata: UsageMetadata | None = None
    go_away: LiveServerGoAway | None = None
    session_resumption_update: LiveServerSessionResumptionUpdate | None = None
    voice_activity_detection_signal: VoiceActivityDetectionSignal | None = None
    voice_activity: VoiceActivity | None = None

    @property
    def text(self) -> str | None:
        """The text of the model's turn without its thoughts, or None."""
        return "".join(p.text for p in self._parts() if p.text and not p.thought) or None

    @property
    def data(self) -> bytes | None:
        """The inline bytes of the model's turn, joined, or None."""
        blobs = (part.inline_data for part in self._parts())
        return b"".join(blob.data for blob in blobs if blob and blob.data) or None

    def _parts(self) -> list[Part]:
        turn = self.server_content.model_turn if self.server_content else None
        return (turn.parts if turn else None) or []


class ActivityStart(Record):
    """The user begins to speak or act."""


class ActivityEnd(Record):
    """The user has stopped."""

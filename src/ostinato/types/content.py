"""The conversation: contents and their parts, as the user, the model and the event log see them."""

from collections.abc import Mapping, Sequence
from mimetypes import guess_type
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast

from pydantic import Field

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.deferred_type import deferred_type, load_type

if TYPE_CHECKING:
    from ostinato.types.files import File
    from ostinato.types.media import (
        AudioMetadata,
        DocumentMetadata,
        Image,
        MediaProcessing,
        SpeechMetadata,
        SpreadsheetMetadata,
        Transcription,
        VideoMetadata,
    )
    from ostinato.types.part_details import (
        FunctionResponsePart,
        FunctionResponseScheduling,
        PartialArg,
        PartMediaResolution,
        ToolCall,
        ToolResponse,
    )

    PartLike: TypeAlias = "str | File | Part | Mapping[str, Any]"
else:
    AudioMetadata = deferred_type("AudioMetadata")
    DocumentMetadata = deferred_type("DocumentMetadata")
    FunctionResponsePart = deferred_type("FunctionResponsePart")
    FunctionResponseScheduling = deferred_type("FunctionResponseScheduling")
    MediaProcessing = deferred_type("MediaProcessing")
    PartMediaResolution = deferred_type("PartMediaResolution")
    PartialArg = deferred_type("PartialArg")
    SpeechMetadata = deferred_type("SpeechMetadata")
    SpreadsheetMetadata = deferred_type("SpreadsheetMetadata")
    ToolCall = deferred_type("ToolCall")
    ToolResponse = deferred_type("ToolResponse")
    Transcription = deferred_type("Transcription")
    VideoMetadata = deferred_type("VideoMetadata")


class Outcome(CaseInsensitiveEnum):
    """How a run of generated code ended."""

    OUTCOME_UNSPECIFIED = "OUTCOME_UNSPECIFIED"
    OUTCOME_OK = "OUTCOME_OK"
    OUTCOME_FAILED = "OUTCOME_FAILED"
    OUTCOME_DEADLINE_EXCEEDED = "OUTCOME_DEADLINE_EXCEEDED"


class Language(CaseInsensitiveEnum):
    """The language of generated code."""

    LANGUAGE_UNSPECIFIED = "LANGUAGE_UNSPECIFIED"
    PYTHON = "PYTHON"


class ExecutableCode(Record):
    """Code that the model wrote and wants run."""

    code: str | None = None
    language: Language | None = None
    id: str | None = None


class CodeExecutionResult(Record):
    """What running an ExecutableCode printed, or how it failed."""

    outcome: Outcome | None = None
    output: str | None = None
    id: str | None = None


class FileData(Record):
    """A file by its URI."""

    display_name: str | None = None
    file_uri: str | None = None
    mime_type: str | None = None


class Blob(Record):
    """Bytes carried inline, with their MIME type."""

    data: bytes | None = None
    display_name: str | None = None
    mime_type: str | None = None

    def as_image(self) -> "Image | None":
        """Return the bytes as an Image, or None if they are no image."""
        if not self.data or not self.mime_type or not self.mime_type.startswith("image/"):
            return None
        return load_type("Image")(image_bytes=self.data, mime_type=self.mime_type)


class FunctionCall(Record):
    """A call that the model asks for (Spec 2 §6.3).

    `id` ties the response to it; `partial_args` and `will_continue` occur while it is streamed.
    """

    id: str | None = None
    args: dict[str, Any] | None = None
    name: str | None = None
    partial_args: list[PartialArg] | None = None
    will_continue: bool | None = None


class FunctionResponse(Record):
    """What a called function returned; `id` and `name` are those of the call (Spec 2 §6.6).

    By convention `response` holds the value under "result" (or "output"), a failure under "error".
    """

    will_continue: bool | None = None
    scheduling: FunctionResponseScheduling | None = None
    parts: list[FunctionResponsePart] | None = None
    id: str | None = None
    name: str | None = None
    response: dict[str, Any] | None = None


class Part(Record):
    """One piece of a content: text, a call, a response, a blob, ... (exactly one of them is set).

    `Part("text")`, `Part(file)` and `Part({...})` are short forms of the keyword fields.
    """

    media_resolution: PartMediaResolution | None = None
    code_execution_result: CodeExecutionResult | None = None
    executable_code: ExecutableCode | None = None
    file_data: FileData | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    inline_data: Blob | None = None
    text: str | None = None
    thought: bool | None = None
    thought_signature: bytes | None = None
    video_metadata: VideoMetadata | None = None
    tool_call: ToolCall | None = None
    tool_response: ToolResponse | None = None
    part_metadata: dict[str, Any] | None = None
    audio_transcription: Transcription | None = None
    media_processing: MediaProcessing | None = None
    speech_metadata: SpeechMetadata | None = None
    document_metadata: DocumentMetadata | None = None
    spreadsheet_metadata: SpreadsheetMetadata | None = None
    audio_metadata: AudioMetadata | None = None

    if not TYPE_CHECKING:

        def __init__(self, value: Any = None, /, **data: Any) -> None:
            if value is not None:
                if data:
                    raise ValueError("a Part takes one positional value or keywords, not both")
                data = _part_fields(value)
            self.__pydantic_validator__.validate_python(data, self_instance=self)

        # Lets pydantic fill nested parts without calling __init__: it adds nothing for keywords.
        __init__.__pydantic_base_init__ = True

    else:

        def __init__(
            self,
            value: PartLike | None = None,
            /,
            *,
            media_resolution: PartMediaResolution | None = None,
            code_execution_result: CodeExecutionResult | None = None,
            executable_code: ExecutableCode | None = None,
            file_data: FileData | None = None,
            function_call: FunctionCall | None = None,
            function_response: FunctionResponse | None = None,
            inline_data: Blob | None = None,
            text: str | None = None,
            thought: bool | None = None,
            thought_signature: bytes | None = None,
            video_metadata: VideoMetadata | None = None,
            part_metadata: dict[str, Any] | None = None,
            **data: Any,
        ) -> None: ...

    @classmethod
    def from_text(cls, *, text: str) -> Self:
        """Return a text part."""
        return cls(text=text)

    @classmethod
    def from_uri(
        cls,
        *,
        file_uri: str,
        mime_type: str | None = None,
        media_resolution: "PartMediaResolution | dict[str, Any] | str | None" = None,
    ) -> Self:
        """Return a part that names a file; without `mime_type` it is guessed from the URI's end.

        Raises ValueError where it cannot be guessed.
        """
        if mime_type is None:
            mime_type = guess_type(file_uri)[0]
        if mime_type is None:
            raise ValueError(f"cannot tell the MIME type of {file_uri!r}; pass mime_type=")
        data = FileData(file_uri=file_uri, mime_type=mime_type)
        return cls(file_data=data, media_resolution=_resolution(media_resolution))

    @classmethod
    def from_bytes(
        cls,
        *,
        data: bytes,
        mime_type: str,
        media_resolution: "PartMediaResolution | dict[str, Any] | str | None" = None,
    ) -> Self:
        """Return a part that carries `data` inline."""
        blob = Blob(data=data, mime_type=mime_type)
        return cls(inline_data=blob, media_resolution=_resolution(media_resolution))

    @classmethod
    def from_function_call(cls, *, name: str, args: dict[str, Any]) -> Self:
        """Return a part that calls function `name`; it has no id yet."""
        return cls(function_call=FunctionCall(name=name, args=args))

    @classmethod
    def from_function_response(
        cls,
        *,
        name: str,
        response: dict[str, Any],
        parts: "list[FunctionResponsePart] | None" = None,
    ) -> Self:
        """Return a part that answers a call of `name`, with media `parts` if there are any."""
        answer = FunctionResponse(name=name, response=response, parts=parts)
        return cls(function_response=answer)

    @classmethod
    def from_executable_code(cls, *, code: str, language: Language) -> Self:
        """Return a part with code to run."""
        return cls(executable_code=ExecutableCode(code=code, language=language))

    @classmethod
    def from_code_execution_result(cls, *, outcome: Outcome, output: str) -> Self:
        """Return a part with the result of run code."""
        return cls(code_execution_result=CodeExecutionResult(outcome=outcome, output=output))

    def as_image(self) -> "Image | None":
        """Return the inline data as an Image, or None if there is no image."""
        return self.inline_data.as_image() if self.inline_data else None


class Content(Record):
    """One turn's words: parts and who says them, `role` "user" or "model" (Spec 2 §4.1)."""

    parts: list[Part] | None = None
    role: str | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether parts and role are equal; a UserContent is the Content it makes."""
        if isinstance(other, Content) and type(other) is not type(self):
            return vars(self) == vars(other)
        return super().__eq__(other)


class UserContent(Content):
    """A content with role "user"; takes text, a part, a file, or a list of them."""

    if not TYPE_CHECKING:  # narrower than Content's, which a type checker would refuse
        parts: list[Part]
        role: Literal["user"] = Field(default="user", init=False, frozen=True)

    def __init__(self, parts: "PartLike | Sequence[PartLike]") -> None:
        """Make a content of `parts`; raises ValueError for an empty or foreign value."""
        super().__init__(parts=_parts(parts))

    # Stored contents are validated field by field, without the short form above.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class ModelContent(Content):
    """A content with role "model"; takes text, a part, a file, or a list of them."""

    if not TYPE_CHECKING:  # narrower than Content's, which a type checker would refuse
        parts: list[Part]
        role: Literal["model"] = Field(default="model", init=False, frozen=True)

    def __init__(self, parts: "PartLike | Sequence[PartLike]") -> None:
        """Make a content of `parts`; raises ValueError for an empty or foreign value."""
        super().__init__(parts=_parts(parts))

    # Stored contents are validated field by field, without the short form above.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


def _part_fields(value: Any) -> dict[str, Any]:
    """Turn the short form of a part into its fields."""
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, Part):
        return {name: getattr(value, name) for name in value.model_fields_set}
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, Any], value))
    if type(value).__name__ == "File" and getattr(value, "uri", None):
        if not value.mime_type:
            raise ValueError(f"file {value.uri!r} has no MIME type; set mime_type")
        return {"file_data": FileData(file_uri=value.uri, mime_type=value.mime_type)}
    if type(value).__name__ == "Part":
        return _part_fields(Part.model_validate(value))
    raise ValueError(f"cannot make a Part of a {type(value).__name__}; pass text, a File or fields")


def _parts(value: Any) -> list[Part]:
    """Turn the short forms of a content's parts into parts."""
    if not value:
        raise ValueError("a content needs parts: text, a Part, a File, or a list of them")
    values = cast(list[Any], value) if isinstance(value, (list, tuple)) else [value]
    return [item if isinstance(item, Part) else Part(item) for item in values]


def _resolution(value: Any) -> Any:
    """Accept a resolution's level alone where the record is meant."""
    return {"level": value} if isinstance(value, str) else value


def extract_text_from_content(content: Content | None) -> str:
    """Return the texts of a content joined, without thoughts; empty where there are none."""
    parts = (content.parts or []) if content else []
    return "".join(part.text for part in parts if part.text and not part.thought)


def is_audio_part(part: Part) -> bool:
    """True if the part holds audio, or names an audio file."""
    holder = part.inline_data or part.file_data
    return bool(holder and holder.mime_type and holder.mime_type.startswith("audio/"))


def filter_audio_parts(content: Content) -> Content | None:
    """Return the content without its audio parts, or None if nothing is left."""
    parts = [part for part in content.parts or [] if not is_audio_part(part)]
    return Content(role=content.role, parts=parts) if parts else None


def join_lines(content: Content | None) -> str:
    """Return the texts of a message, a line each; empty where it has none."""
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)

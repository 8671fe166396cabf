"""Messages of OpenAI's API: the records of a request, and their conversion to contents."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ... import types
from ..bodies import CountedParts
from ..message_files import part_from_base64, part_from_url
from ..names import PackedId
from ..problems import invalid_input
from .openai_problems import unsupported_parameter

_SOUND = {"wav": "audio/wav", "mp3": "audio/mpeg"}


class TextPart(BaseModel):
    """Text."""

    type: Literal["text", "input_text", "output_text"]
    text: str


class RefusalPart(BaseModel):
    """Why the model did not answer."""

    type: Literal["refusal"]
    refusal: str


class ImageUrl(BaseModel):
    """Where an image is: a data URL or an address."""

    url: str


class ImagePart(BaseModel):
    """An image."""

    type: Literal["image_url"]
    image_url: ImageUrl


class InputAudio(BaseModel):
    """Sound as base64."""

    data: str
    format: Literal["wav", "mp3"]


class AudioPart(BaseModel):
    """Sound."""

    type: Literal["input_audio"]
    input_audio: InputAudio


class InputFile(BaseModel):
    """A file as a data URL; uploaded files are not known here."""

    file_data: str | None = None
    file_id: str | None = None
    filename: str | None = None


class FilePart(BaseModel):
    """A file."""

    type: Literal["file"]
    file: InputFile


class InputImagePart(BaseModel):
    """An image, as the Responses API has it."""

    type: Literal["input_image"]
    image_url: str | None = None
    file_id: str | None = None


class InputFilePart(InputFile):
    """A file, as the Responses API has it."""

    type: Literal["input_file"]
    file_url: str | None = None


AnyPart = Annotated[
    TextPart | RefusalPart | ImagePart | AudioPart | FilePart | InputImagePart | InputFilePart,
    Field(discriminator="type"),
]


class ToolCallId(BaseModel):
    """A call that the answer before asked the client for; only its id counts."""

    id: PackedId


class Message(BaseModel):
    """A message of a conversation.

    Attributes:
      role: whose it is; `developer` and `system` give instructions.
      content: a text, or parts.
      tool_calls: the calls of an answer that wait for the client.
      tool_call_id: the call that a message of role `tool` answers.
    """

    role: Literal["developer", "system", "user", "assistant", "tool"]
    content: Annotated[str | list[AnyPart] | None, CountedParts] = None
    tool_calls: list[ToolCallId] | None = None
    tool_call_id: PackedId | None = None

    def plain_text(self) -> str:
        """Return its text."""
        if isinstance(self.content, str):
            return self.content
        return "".join(one.text for one in self.content or () if isinstance(one, TextPart))

    def identity_of(self) -> list[Any]:
        """Return a value that is equal for equal messages, however they are written."""
        content = self.content
        if isinstance(content, list) and all(isinstance(one, TextPart) for one in content):
            content = self.plain_text()
        if isinstance(content, list):
            content = [one.model_dump(exclude_none=True) for one in content]
        calls = [one.id for one in self.tool_calls or ()]
        return [self.role, content or "", calls, self.tool_call_id or ""]


def parts_of(content: str | list[AnyPart] | None, where: str) -> list[types.Part]:
    """Return content as parts; errors name its place `where` in the request.

    Raises:
      Problem: a file cannot be read, or is given by an id.
    """
    if isinstance(content, str):
        return [types.Part(text=content)] if content else []
    return [_to_part(one, f"{where}.{n}") for n, one in enumerate(content or ())]


def _to_part(one: AnyPart, where: str) -> types.Part:
    match one:
        case TextPart():
            return types.Part(text=one.text)
        case RefusalPart():
            return types.Part(text=one.refusal)
        case ImagePart():
            return part_from_url(one.image_url.url, where)
        case AudioPart():
            return part_from_base64(one.input_audio.data, _SOUND[one.input_audio.format], where)
        case FilePart():
            return _file_part(one.file, None, where)
        case InputImagePart():
            if one.image_url is None:
                raise unsupported_parameter(
                    where, "send image_url; uploaded files are not supported."
                )
            return part_from_url(one.image_url, where)
        case InputFilePart():
            return _file_part(one, one.file_url, where)


def _file_part(file: InputFile, url: str | None, where: str) -> types.Part:
    if url is not None:
        return part_from_url(url, where, name=file.filename)
    if file.file_data is None:
        raise unsupported_parameter(where, "send file_data; uploaded files are not supported.")
    if file.file_data.startswith("data:"):
        return part_from_url(file.file_data, where, name=file.filename)
    return part_from_base64(file.file_data, None, where, file.filename)


def turns_of(messages: list[Message], where: str = "messages") -> list[types.Content]:
    """Return messages as contents; instructions go in front of the user's next message.

    Raises:
      Problem: a file cannot be read.
    """
    found: list[types.Content] = []
    orders: list[types.Part] = []
    for number, one in enumerate(messages):
        parts = parts_of(one.content, f"{where}.{number}.content")
        if one.role in ("system", "developer"):
            orders += parts
        elif one.role == "user":
            found.append(types.Content(role="user", parts=[*orders, *parts]))
            orders = []
        elif one.role == "assistant" and parts:
            found.append(types.Content(role="model", parts=parts))
    if orders:
        found.append(types.Content(role="user", parts=orders))
    return found


def user_text(messages: list[Message]) -> str:
    """Return the user's text, or an empty text if there is anything else."""
    said = [one for one in messages if one.role not in ("system", "developer")]
    for one in said:
        parts = one.content if isinstance(one.content, list) else []
        if one.role != "user" or not all(isinstance(part, TextPart) for part in parts):
            return ""
    return "\n\n".join(one.plain_text() for one in said)


def merge_turns(turns: list[types.Content]) -> types.Content:
    """Merge several messages of the user into one.

    Raises:
      Problem: they are empty.
    """
    parts = [part for one in turns for part in one.parts or ()]
    if not parts:
        raise invalid_input("There is nothing to answer: no user message.")
    return types.Content(role="user", parts=parts)

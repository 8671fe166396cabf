"""Messages of chat completions: the records of the request, and what they are as contents."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ... import types
from ..media import addressed, inline
from ..problems import Problem
from .errors import unsupported

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

    id: str


class Message(BaseModel):
    """A message of a conversation.

    Attributes:
      role: whose it is; `developer` and `system` give instructions.
      content: a text, or parts.
      tool_calls: the calls of an answer that wait for the client.
      tool_call_id: the call that a message of role `tool` answers.
    """

    role: Literal["developer", "system", "user", "assistant", "tool"]
    content: str | list[AnyPart] | None = None
    tool_calls: list[ToolCallId] | None = None
    tool_call_id: str | None = None

    def text(self) -> str:
        """Return its text."""
        if isinstance(self.content, str):
            return self.content
        return "".join(one.text for one in self.content or () if isinstance(one, TextPart))

    def said(self) -> list[Any]:
        """Return what makes it the same message, however it is written."""
        content = self.content
        if isinstance(content, list) and all(isinstance(one, TextPart) for one in content):
            content = self.text()
        if isinstance(content, list):
            content = [one.model_dump(exclude_none=True) for one in content]
        calls = [one.id for one in self.tool_calls or ()]
        return [self.role, content or "", calls, self.tool_call_id or ""]


def parts_of(content: str | list[AnyPart] | None, where: str) -> list[types.Part]:
    """Return content as parts.

    Args:
      content: the content.
      where: its place in the request, for errors.

    Raises:
      Problem: a file cannot be read, or is named by an id.
    """
    if isinstance(content, str):
        return [types.Part(text=content)] if content else []
    return [_part(one, f"{where}.{n}") for n, one in enumerate(content or ())]


def _part(one: AnyPart, where: str) -> types.Part:
    match one:
        case TextPart():
            return types.Part(text=one.text)
        case RefusalPart():
            return types.Part(text=one.refusal)
        case ImagePart():
            return addressed(one.image_url.url, where)
        case AudioPart():
            return inline(one.input_audio.data, _SOUND[one.input_audio.format], where)
        case FilePart():
            return _file(one.file, None, where)
        case InputImagePart():
            if one.image_url is None:
                raise unsupported(where, "send image_url; there are no uploaded files here.")
            return addressed(one.image_url, where)
        case InputFilePart():
            return _file(one, one.file_url, where)


def _file(file: InputFile, url: str | None, where: str) -> types.Part:
    if url is not None:
        return addressed(url, where, name=file.filename)
    if file.file_data is None:
        raise unsupported(where, "send file_data; there are no uploaded files here.")
    if file.file_data.startswith("data:"):
        return addressed(file.file_data, where, name=file.filename)
    return inline(file.file_data, None, where, file.filename)


def turns_of(messages: list[Message], where: str = "messages") -> list[types.Content]:
    """Return messages as what was said, oldest first; instructions go in front of the next words
    of the user.

    Raises:
      Problem: there is a file that cannot be read.
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


def merged(turns: list[types.Content]) -> types.Content:
    """Return several messages of the user as one.

    Raises:
      Problem: they say nothing.
    """
    parts = [part for one in turns for part in one.parts or ()]
    if not parts:
        raise Problem(400, "InputValidationError", "There is nothing to answer: no user message.")
    return types.Content(role="user", parts=parts)

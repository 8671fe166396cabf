"""Text and audio of a content; the expectations are what google-adk 2.3.0 answers."""

from __future__ import annotations

import pytest

from ostinato.types import Blob, Content, FileData, Part
from ostinato.utils import content_utils as utils

AUDIO = Part(inline_data=Blob(data=b"x", mime_type="audio/wav"))
TEXT = Part(text="z")


def test_text_without_thoughts() -> None:
    parts = [Part(text="a"), Part(text="b", thought=True), AUDIO, Part(text="c")]
    assert utils.extract_text_from_content(Content(parts=parts)) == "ac"
    assert utils.extract_text_from_content(Content()) == ""
    assert utils.extract_text_from_content(None) == ""


@pytest.mark.parametrize(
    ("part", "audio"),
    [
        (AUDIO, True),
        (Part(file_data=FileData(file_uri="u", mime_type="audio/mp3")), True),
        (Part(inline_data=Blob(data=b"x", mime_type="image/png")), False),
        (Part(inline_data=Blob(data=b"x")), False),
        (TEXT, False),
    ],
)
def test_audio_parts(part: Part, audio: bool) -> None:
    assert utils.is_audio_part(part) is audio


def test_audio_is_left_out() -> None:
    mixed = utils.filter_audio_parts(Content(role="user", parts=[AUDIO, TEXT]))
    assert mixed == Content(role="user", parts=[TEXT])
    assert utils.filter_audio_parts(Content(role="user", parts=[AUDIO])) is None
    assert utils.filter_audio_parts(Content(role="user")) is None

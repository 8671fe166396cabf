"""A message that waits comes out of the inbox as it went in."""

from __future__ import annotations

import pytest

from ostinato.durable.inbox import message_text, read_message
from ostinato.errors import InputValidationError
from ostinato.types import Blob, Content, Part


def test_message_delta_and_metadata_come_back() -> None:
    parts = [Part(text="Grüße"), Part(inline_data=Blob(mime_type="image/png", data=b"\x00\xff"))]
    message = Content(role="user", parts=parts)
    text = message_text(message, {"a": [1, None], "user:b": "x"}, {"trace": 7})
    assert read_message(text) == (message, {"a": [1, None], "user:b": "x"}, {"trace": 7})


def test_what_is_not_there_stays_away() -> None:
    assert read_message(message_text(None, None, None)) == (None, None, None)


@pytest.mark.parametrize("bad", [object(), {1, 2}, float("nan")])
def test_what_json_cannot_carry_is_refused(bad: object) -> None:
    with pytest.raises(InputValidationError, match="cannot wait for its turn"):
        message_text(None, {"key": bad}, None)

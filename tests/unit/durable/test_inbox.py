"""A message that waits comes out of the inbox as it went in."""

from __future__ import annotations

import pytest

from ostinato.durable.inbox import Work
from ostinato.errors import InputValidationError
from ostinato.sessions.store.durable_store import Place
from ostinato.types import Blob, Content, Part

PLACE = Place("app", "ann", "s1")


def test_message_delta_and_metadata_come_back() -> None:
    parts = [Part(text="Grüße"), Part(inline_data=Blob(mime_type="image/png", data=b"\x00\xff"))]
    message = Content(role="user", parts=parts)
    work = Work(PLACE, "e-1", message, {"a": [1, None], "user:b": "x"}, {"trace": 7}, once=True)
    assert Work.read(PLACE, "e-1", work.payload()) == work


def test_what_is_not_there_stays_away() -> None:
    work = Work(PLACE, "e-1", None)
    assert Work.read(PLACE, "e-1", work.payload()) == work
    assert Work.read(PLACE, "e-1", "{}") == work


@pytest.mark.parametrize("bad", [object(), {1, 2}, float("nan")])
def test_what_json_cannot_carry_is_refused(bad: object) -> None:
    with pytest.raises(InputValidationError, match="cannot be enqueued"):
        Work(PLACE, "e-1", None, {"key": bad}).payload()

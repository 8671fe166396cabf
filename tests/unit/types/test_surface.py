"""Our records hold every field, alias, default and member of google-genai 2 and 3."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import ostinato.types as types

HERE = Path(__file__).parent
SPEC = spec_from_file_location("record_genai", HERE / "record_genai.py")
assert SPEC and SPEC.loader
recorder = module_from_spec(SPEC)
SPEC.loader.exec_module(recorder)
SURFACE = json.loads((HERE / "genai_surface.json").read_text())

# What differs on purpose: clients that we do not pass on are opaque to us.
OPAQUE = {"httpx_client", "httpx_async_client", "aiohttp_client"}
# google-genai 2 lacks fields that version 3 added; ours has them, so only missing ones count.


@pytest.mark.parametrize("version", ["2", "3"])
def test_every_field_and_member_is_there(version: str) -> None:
    wrong: list[str] = []
    for name, theirs in SURFACE[version].items():
        mine = recorder.describe(getattr(types, name))
        for field, text in theirs.items():
            if field not in OPAQUE and mine.get(field) != text:
                wrong.append(f"{name}.{field}: ours {mine.get(field)!r}, theirs {text!r}")
    assert wrong == []


def test_nothing_is_ours_alone() -> None:
    wrong = [
        f"{name}.{field}"
        for name, theirs in SURFACE["3"].items()
        for field in recorder.describe(getattr(types, name))
        if field not in theirs
    ]
    assert wrong == []


def test_the_face_offers_what_was_recorded_and_the_files_hold() -> None:
    assert set(SURFACE["3"]) <= set(types.__all__)
    assert len(SURFACE["3"]) > 200
    for name in types.__all__:
        thing = getattr(types, name)
        if isinstance(thing, type) and thing is not dict:
            home = sys.modules[thing.__module__]
            assert getattr(home, name, thing) is thing, name


def test_a_missing_name_says_so() -> None:
    with pytest.raises(AttributeError, match="NoSuchRecord"):
        types.NoSuchRecord  # noqa: B018

"""Late fields cost nothing until used and then behave like any other."""

import subprocess
import sys

from pydantic import BaseModel

from ostinato import types
from ostinato.types.deferred_type import deferred_type
from tests.support.optionals import present

LOADED = """
import sys, ostinato.types as t
content = t.Content(parts=[t.Part(text="a"), t.Part.from_function_call(name="f", args={})])
t.Content.model_validate_json(content.model_dump_json())
print(*(name for name in sys.modules if name.startswith(("ostinato.types.", "google"))))
"""


class Holder(BaseModel):
    one: deferred_type("GroundingMetadata") | None = None  # type: ignore[valid-type]
    many: list[deferred_type("FinishReason")] = []  # type: ignore[valid-type]


def test_a_plain_conversation_loads_one_file() -> None:
    found = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    ).stdout.split()
    assert sorted(found) == [
        "ostinato.types._base_record",
        "ostinato.types.content",
        "ostinato.types.deferred_type",
    ]


def test_it_validates_and_dumps() -> None:
    sent = '{"one":{"searchEntryPoint":{"sdkBlob":"__4="}},"many":["STOP"]}'
    holder = Holder.model_validate_json(sent)
    assert present(holder.one).search_entry_point.sdk_blob == b"\xff\xfe"
    assert holder.many == [types.FinishReason.STOP]
    assert holder.model_dump_json(exclude_none=True, by_alias=True) == sent
    assert Holder(one=holder.one).one is holder.one


def test_it_describes_itself() -> None:
    schema = Holder.model_json_schema()
    assert "searchEntryPoint" in schema["$defs"]["GroundingMetadata"]["properties"]
    assert "STOP" in schema["properties"]["many"]["items"]["enum"]

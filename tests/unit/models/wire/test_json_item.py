"""JsonItem and json_bytes: the same JSON as json.dumps, written once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostinato.models.wire import json_item
from ostinato.models.wire.faults import Unsendable
from ostinato.models.wire.json_item import JsonItem, json_bytes

ITEM = {"text": 'é "x"\n', "n": [1, 2.5, None, True]}


@pytest.mark.parametrize(
    "items",
    [
        [JsonItem(ITEM)],
        [JsonItem(ITEM), ITEM],
        [ITEM, JsonItem(ITEM)],
        [JsonItem(ITEM), "a text", JsonItem()],
        [ITEM, JsonItem(ITEM), ITEM],
        [],
    ],
)
@pytest.mark.parametrize("rest", [{}, {"model": "m", "tools": [ITEM]}])
def test_a_body_is_what_json_dumps_writes(items: list[Any], rest: dict[str, Any]) -> None:
    body = {**rest, "messages": items, "more": items, "last": 1}
    for _ in range(2):
        assert json.loads(json_bytes(body)) == json.loads(json.dumps(body))
    assert json.loads(json_bytes({"messages": items})) == {"messages": items}


def test_an_item_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known, new = JsonItem(ITEM), JsonItem(a=1)
    json_bytes({"messages": [known]})
    written: list[object] = []

    class Counting(json.JSONEncoder):
        def encode(self, o: Any) -> str:
            written.append(o)
            return super().encode(o)

    monkeypatch.setattr(json_item, "_ENCODER", Counting())
    json_bytes({"messages": [known, new]})
    assert new in written and known not in written


def test_a_long_item_is_not_kept() -> None:
    item = JsonItem(data="x" * 100_000)
    assert json.loads(json_bytes({"a": [item]})) == {"a": [item]} and not item.kept


def test_a_copy_is_written_anew() -> None:
    item = JsonItem(a=1)
    json_bytes([item])
    item.write()
    assert json.loads(json_bytes({"x": [{**item, "a": 2}, item]})) == {"x": [{"a": 2}, {"a": 1}]}


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x"])
def test_what_json_cannot_express_is_refused(value: object) -> None:
    with pytest.raises(Unsendable, match="is not JSON serializable"):
        json_bytes({"a": [JsonItem(b=value)]})


def test_a_value_in_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(Unsendable, match="JSON cannot express"):
        json_bytes(value)

"""Values of BigQuery's types as the model is given them; what JSON cannot say is text."""

import json
from typing import Any

import pytest

from ostinato.tools.bigquery.rows import decode_rows
from tests.support.fake_bigquery import row

RECORD = {"name": "v", "type": "RECORD", "fields": [{"name": "a", "type": "INTEGER"}]}


@pytest.mark.parametrize(
    ("field", "sent", "value"),
    [
        ({"type": "STRING"}, "x", "x"),
        ({"type": "INTEGER"}, "9007199254740993", 9007199254740993),
        ({"type": "FLOAT"}, "1.5", 1.5),
        ({"type": "FLOAT"}, "NaN", "NaN"),
        ({"type": "FLOAT"}, "-Infinity", "-Infinity"),
        ({"type": "BOOLEAN"}, "true", True),
        ({"type": "BOOLEAN"}, "false", False),
        ({"type": "NUMERIC"}, "0.10", "0.10"),
        ({"type": "TIMESTAMP"}, "1735689600000000", "2025-01-01 00:00:00+00:00"),
        ({"type": "TIMESTAMP"}, "-62135596800000000", "0001-01-01 00:00:00+00:00"),
        ({"type": "DATETIME"}, "2025-01-01T02:03:04", "2025-01-01 02:03:04"),
        ({"type": "DATE"}, "2025-01-01", "2025-01-01"),
        ({"type": "BYTES"}, "YWI=", "b'ab'"),
        ({"type": "JSON"}, '{"a": [1]}', {"a": [1]}),
        ({"type": "GEOGRAPHY"}, "POINT(1 2)", "POINT(1 2)"),
        ({"type": "STRING"}, None, None),
        ({"type": "STRING", "mode": "REPEATED"}, [{"v": "a"}, {"v": "b"}], ["a", "b"]),
        ({"type": "STRING", "mode": "REPEATED"}, [], []),
        (RECORD, row("1"), {"a": 1}),
        (
            {**RECORD, "mode": "REPEATED"},
            [{"v": row("1")}, {"v": row(None)}],
            [{"a": 1}, {"a": None}],
        ),
    ],
)
def test_a_value_of_each_type(field: dict[str, Any], sent: Any, value: Any) -> None:
    found = decode_rows([{"name": "v", **field}], [row(sent)])
    assert found == [{"v": value}]
    assert json.loads(json.dumps(found, allow_nan=False)) == found

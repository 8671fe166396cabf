"""ToolRanking: words are compared in every spelling, also within texts without spaces."""

from __future__ import annotations

import pytest

from ostinato.tools import FunctionTool
from ostinato.tools.tool_ranking import ToolRanking


def transfer() -> None:
    """銀行口座へ送金します。"""


def show_balance() -> None:
    """口座の残高を照会する。"""


def getWeather() -> None:
    """Tell the weather of a Straße."""


def HTTPServer_ports() -> None:
    """List what is open."""


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("送金", ["transfer"]),
        ("照会", ["show_balance"]),
        ("口座", ["show_balance", "transfer"]),
        ("金", ["transfer"]),
        ("照金", []),
        ("STRASSE", ["getWeather"]),
        ("\uff37\uff25\uff21\uff34\uff28\uff25\uff32", ["getWeather"]),
        ("getweather", ["getWeather"]),
        ("servers", ["HTTPServer_ports"]),
    ],
)
def test_words_are_found_in_every_spelling(query: str, names: list[str]) -> None:
    tools = [FunctionTool(one) for one in (transfer, show_balance, getWeather, HTTPServer_ports)]
    assert sorted(tool.name for tool in ToolRanking(tools).find(query, 3)) == names

"""LangGraphAgent where LangGraph is not installed; tests/wire/langgraph runs it on the real one."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from ostinato.agents.langgraph_agent import LangGraphAgent
from ostinato.errors import MissingExtraError


async def never(*_: Any) -> Any:
    raise AssertionError("the graph is not asked")


async def test_without_langchain_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_core.messages", None)
    agent = LangGraphAgent(name="graph", graph=SimpleNamespace(ainvoke=never))
    with pytest.raises(MissingExtraError, match=r"pip install 'ostinato\[langgraph\]'"):
        await agent.run("x")


@pytest.mark.parametrize("wrong", ["graph", None, SimpleNamespace(compile=1)])
def test_what_is_no_compiled_graph_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="graph takes a compiled graph; got "):
        LangGraphAgent(name="graph", graph=wrong)

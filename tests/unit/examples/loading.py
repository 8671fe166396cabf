"""Loads an example's folder anew for each test, as the command line does, and picks its models."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ostinato.models.base_llm import BaseLlm
from ostinato.models.offline_llm import OfflineLlm

FOLDER = Path(__file__).resolve().parents[3] / "examples"
NAMES = sorted(path.name for path in FOLDER.iterdir() if (path / "agent.py").is_file())


@contextmanager
def example(name: str) -> Iterator[ModuleType]:
    """Give the `agent` module of an example, which is forgotten afterwards."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module(f"{name}.agent")
    finally:
        sys.path.remove(str(FOLDER))
        for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
            del sys.modules[module]


def agents_of(root: Any) -> list[Any]:
    """Return an agent and all below it."""
    below = getattr(root, "sub_agents", None) or root.nodes_within
    return [root, *(agent for child in below for agent in agents_of(child))]


def put_models(root: Any, model_for: Callable[[str], BaseLlm]) -> None:
    """Give every agent that calls a model the one made for its name."""
    for agent in agents_of(root):
        if hasattr(agent, "model"):
            agent.model = model_for(agent.name)


def put_offline(root: Any) -> None:
    """Give every agent that calls a model the offline one."""
    put_models(root, lambda name: OfflineLlm())

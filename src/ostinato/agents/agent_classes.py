"""The class that a file names under `agent_class`. Called by config_agent_utils and generators."""

from __future__ import annotations

import sys
from typing import Any

from ..agent_files.reading import FieldFault
from ..agent_files.resolving import resolve_fully_qualified_name
from .base_agent import BaseAgent

_SHORT = ("BaseAgent", "LlmAgent", "LoopAgent", "ParallelAgent", "SequentialAgent")


def agent_class_of(said: Any) -> type[BaseAgent]:
    """Return a class of agents by its short or dotted name; LlmAgent where none is said.

    Raises:
      FieldFault: it names no class of agents.
      CodeReferenceError: the dotted name is nothing, or may not be named.
    """
    name = said or "LlmAgent"
    if not isinstance(name, str):
        raise FieldFault(f"it has to be the name of a class, not {name!r:.40}.")
    if name in _SHORT:
        cls = getattr(sys.modules[__package__ or ""], name)  # the room's lazy face
    elif "." in name:
        cls = resolve_fully_qualified_name(name)
    else:
        raise FieldFault(
            f"there is no agent class {name!r}. There are {', '.join(_SHORT[1:])}; a class of "
            "your own is named with its module, such as my_agent.agents.Own."
        )
    if not (isinstance(cls, type) and issubclass(cls, BaseAgent)):
        raise FieldFault(f"{name!r} is no class of agents.")
    return cls

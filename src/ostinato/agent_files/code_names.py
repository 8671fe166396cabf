"""Dotted names in agent files: which code a file may name, and its import.

A file is data, and its author may not be allowed to write code. A name must lie in the agent's own
package, in the allow list of Ostinato's names, or in what the host allows; any other name is
refused before its module is imported.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

# The allow list. A name that is not here needs the host's permission: tools that run commands or
# code, and whatever reads files, opens addresses or imports modules by name.
_AGENTS: dict[str, tuple[str, ...]] = {
    "agents": (
        "Agent",
        "BaseAgent",
        "LlmAgent",
        "LoopAgent",
        "ParallelAgent",
        "SequentialAgent",
    ),
    "agents.base_agent": ("BaseAgent",),
    "agents.llm_agent": ("Agent", "LlmAgent"),
    "agents.loop_agent": ("LoopAgent",),
    "agents.parallel_agent": ("ParallelAgent",),
    "agents.sequential_agent": ("SequentialAgent",),
}

_TOOLS: dict[str, tuple[str, ...]] = {
    "tools": (
        "AgentTool",
        "ExampleTool",
        "FunctionTool",
        "LongRunningFunctionTool",
        "TransferToAgentTool",
        "VertexAiSearchTool",
        "enterprise_web_search",
        "exit_loop",
        "get_user_choice",
        "google_maps_grounding",
        "google_search",
        "load_artifacts",
        "load_memory",
        "preload_memory",
        "request_input",
        "transfer_to_agent",
        "url_context",
    ),
    "tools.agent_tool": ("AgentTool",),
    "tools.enterprise_search_tool": ("EnterpriseWebSearchTool", "enterprise_web_search_tool"),
    "tools.example_tool": ("ExampleTool",),
    "tools.exit_loop_tool": ("exit_loop",),
    "tools.function_tool": ("FunctionTool",),
    "tools.get_user_choice_tool": ("get_user_choice", "get_user_choice_tool"),
    "tools.google_maps_grounding_tool": ("GoogleMapsGroundingTool", "google_maps_grounding"),
    "tools.google_search_tool": ("GoogleSearchTool", "google_search"),
    "tools.load_artifacts_tool": ("LoadArtifactsTool", "load_artifacts_tool"),
    "tools.load_memory_tool": ("LoadMemoryTool", "load_memory", "load_memory_tool"),
    # It connects to public addresses only; see `_public_address`.
    "tools.load_web_page": ("load_web_page",),
    "tools.long_running_tool": ("LongRunningFunctionTool",),
    "tools.preload_memory_tool": ("PreloadMemoryTool", "preload_memory_tool"),
    "tools.transfer_to_agent_tool": ("TransferToAgentTool", "transfer_to_agent"),
    "tools.url_context_tool": ("UrlContextTool", "url_context"),
    "tools.vertex_ai_search_tool": ("VertexAiSearchTool",),
}

ALLOWED_NAMES = frozenset(
    f"ostinato.{module}.{name}"
    for table in (_AGENTS, _TOOLS)
    for module, names in table.items()
    for name in names
)


_OWN, _ALIAS = "ostinato", "google.adk"


class CodeNameError(Exception):
    """A dotted name that does not exist or may not be used; the message says why."""


@dataclass(frozen=True, slots=True)
class CodeRules:
    """Which code the files of one agent may name.

    Attributes:
      folder: name of the agent's folder, with which its own names begin.
      package: name under which that folder is imported; empty where names are not restricted.
      allowed: further modules, each with everything below it, and dotted names of Ostinato that
        are not in the allow list.
    """

    folder: str = ""
    package: str = ""
    allowed: tuple[str, ...] = ()

    def locate(self, name: str) -> tuple[str, str]:
        """Return the module that a dotted name is imported from, and the name in it.

        Raises:
          CodeNameError: the name is not dotted, or files may not use it.
        """
        module, _, attribute = name.rpartition(".")
        if not module or not all(part.isidentifier() for part in name.split(".")):
            raise CodeNameError(
                f"{name!r} is not a dotted name; write the module and the name in it, such as "
                "my_agent.tools.look_up."
            )
        if self.package and any(part.startswith("__") for part in name.split(".")):
            raise CodeNameError(f"{name!r} is a name of Python's own machinery.")
        module = self._translate_module(module)
        if self.package:
            self._check_allowed(module, attribute)
        return module, attribute

    def resolve(self, name: str) -> Any:
        """Import and return what a dotted name names.

        Raises:
          CodeNameError: the name does not exist, may not be used, or its module fails to import.
        """
        wanted, attribute = self.locate(name)
        module = _import_module(wanted, name)
        try:
            value = getattr(module, attribute)
        except AttributeError as error:
            raise CodeNameError(
                f"{name!r} does not exist: the module {wanted!r} has no {attribute!r}."
                f"{_suggest_name(attribute, dir(module))}"
            ) from error
        if self.package:
            self._check_origin(value, name, wanted)
        return value

    def _translate_module(self, module: str) -> str:
        """Return the name under which a module is imported in this process."""
        if _is_within(module, _ALIAS):
            return _OWN + module.removeprefix(_ALIAS)
        if self.folder and _is_within(module, self.folder):
            return self.package + module.removeprefix(self.folder)
        return module

    def _check_allowed(self, module: str, attribute: str) -> None:
        """Raise CodeNameError if files may not name an attribute of a module."""
        if _is_within(module, _OWN):
            if any(part.startswith("_") for part in module.split(".")):
                raise CodeNameError(f"{module!r} is not a public module of Ostinato.")
            if not self._is_own_name_allowed(f"{module}.{attribute}"):
                raise CodeNameError(_explain_refusal(f"{module}.{attribute}"))
            return
        homes = (self.package.partition(".")[0], *self.allowed)
        if any(_is_within(module, home) for home in homes):
            return
        top = module.partition(".")[0]
        more = "." if top in sys.stdlib_module_names else f", or allow it: --allow-code-from {top}"
        raise CodeNameError(
            f"the module {module!r} is not one whose code a file may name: those are the agent's "
            f"own package {self.folder!r}, Ostinato's agents and tools, and what the host allows. "
            f"Call it in a function of the agent's own{more}"
        )

    def _check_origin(self, value: Any, name: str, module: str) -> None:
        """Raise CodeNameError if a module re-exports code that the file may not name directly."""
        if isinstance(value, ModuleType):
            raise CodeNameError(
                f"{name!r} is the module {value.__name__}, and a file may not name modules."
            )
        if _is_within(module, _OWN) or not _is_code(value):
            return
        home, own_name = _find_home(value)
        if _is_within(home, _OWN):
            if not self._is_own_name_allowed(f"{home}.{own_name}"):
                raise CodeNameError(_explain_refusal(f"{home}.{own_name}"))
        elif not self._is_home_allowed(home):
            top = home.partition(".")[0]
            more = (
                "" if top in sys.stdlib_module_names else f", or allow it: --allow-code-from {top}"
            )
            raise CodeNameError(
                f"{name!r} is {home}.{own_name}, which {module!r} only imports. Call it in a "
                f"function of the agent's own{more or '.'}"
            )

    def _is_home_allowed(self, home: str) -> bool:
        """Return whether files may name functions and classes that a module defines."""
        if any(_is_within(home, one) for one in (self.package.partition(".")[0], *self.allowed)):
            return True
        # A neighbour in the folder that was imported by its bare name.
        file = getattr(sys.modules.get(home), "__file__", None)
        places = getattr(sys.modules.get(self.package), "__path__", ())
        return file is not None and any(Path(file).is_relative_to(place) for place in places)

    def _is_own_name_allowed(self, name: str) -> bool:
        """Return whether files may name one of Ostinato's own names."""
        if name in ALLOWED_NAMES:
            return True
        return any(_is_within(name, self._translate_module(home)) for home in self.allowed)


def _explain_refusal(name: str) -> str:
    return (
        f"{name!r} is not among the names of Ostinato that a file may use: it may read files, run "
        "code or open addresses. Use it in the agent's own code, where the file can name the "
        f"result, or allow it: --allow-code-from {name}.{_suggest_name(name, ALLOWED_NAMES, 0.97)}"
    )


def _is_within(module: str, home: str) -> bool:
    return module == home or module.startswith(home + ".")


def _import_module(module: str, name: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not _is_within(module, missing):
            raise CodeNameError(
                f"{name!r} cannot be imported: {module!r} imports {missing!r}, which is not "
                "installed."
            ) from error
        raise CodeNameError(
            f"{name!r} cannot be imported: there is no module {missing!r}. Names begin with the "
            "agent's folder, such as my_agent.tools.look_up."
        ) from error
    except (Exception, SystemExit) as error:  # boundary: the user's module may raise anything
        raise CodeNameError(
            f"{name!r} cannot be imported: {module!r} raised {type(error).__name__}: {error}"
        ) from error


def _suggest_name(name: str, there: Iterable[str], cutoff: float = 0.6) -> str:
    shown = sorted(one for one in there if not one.startswith("_"))
    near = difflib.get_close_matches(name, shown, 1, cutoff)
    return f" Did you mean {near[0]!r}?" if near else ""


def _is_code(value: Any) -> bool:
    """Return whether a value is a function or a class, also one that was wrapped or cached."""
    if inspect.isroutine(value) or inspect.isclass(value):
        return True
    return callable(value) and (isinstance(value, partial) or hasattr(value, "__wrapped__"))


def _find_home(value: Any) -> tuple[str, str]:
    """Return the module that defines a function or class, and its name there."""
    while isinstance(value, partial):
        value = value.func
    module = getattr(value, "__module__", None)
    return module or "builtins", getattr(value, "__qualname__", "")

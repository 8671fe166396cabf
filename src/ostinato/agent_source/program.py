"""program_of: the Python program that does what the file of an agent describes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..agent_files.code_names import CodeNameError
from ..agent_files.document import read_document, shown
from ..agent_files.reading import FieldFault, Reading, at, opened
from ..agent_files.references import AgentRefConfig, CodeConfig
from ..agent_files.resolving import resolve_callbacks, resolve_code_reference
from ..agents.agent_fields import CALLBACKS
from ..agents.base_agent import BaseAgent
from ..agents.base_agent_config import BaseAgentConfig
from ..agents.config_agent_utils import (
    below,
    named_agent,
    resolve_agent_reference,
    rules_for,
    settings_of,
)
from ..agents.llm_agent_fields import CALLBACKS as LLM_CALLBACKS
from ..agents.llm_agent_fields import CODE
from .comments import comments_above, comments_of_file
from .layout import Expression, Group, Item, call, listed, quoted, render
from .names import Names
from .tool_source import tool_source
from .values import expression, record

MARK = "Written by `ostinato generate`"

_ALL_CALLBACKS = CALLBACKS | LLM_CALLBACKS
# What a file says by names, of code and of other files.
_NAMING = {"sub_agents", "tools", *_ALL_CALLBACKS, *CODE}
_SHORT = ("LlmAgent", "LoopAgent", "ParallelAgent", "SequentialAgent", "BaseAgent")


def program_of(
    path: str | Path, out: str | Path | None = None, *, allow_code_from: Sequence[str] = ()
) -> str:
    """Return the program of the agent that a YAML file describes.

    It defines `root_agent`, and a variable for each sub-agent. It is the same whenever the files
    are, keeps the order of their fields, and the comments above them.

    Args:
      path: the file.
      out: where the program will be; beside the file where None. Only there are the modules of the
        agent's folder imported by relative names.
      allow_code_from: as for `config_agent_utils.from_config`.

    Raises:
      AgentFileError: the file says something that cannot be; see `config_agent_utils.from_config`.
    """
    document = read_document(path)
    folder = document.path.parent
    home = Path(out).absolute().parent if out else folder
    names = Names(rules_for(folder, allow_code_from), home.resolve() == folder.resolve())
    program = _Program(names, home)
    reading = Reading(document, names.rules, resolve_agent_reference, (document.path.resolve(),))
    program.agent(reading, "root_agent")
    return program.text(shown(document.path))


class _Program:
    """A program that is being written, agent by agent, sub-agents first."""

    def __init__(self, names: Names, home: Path) -> None:
        self.names = names
        self.home = home
        self.files: dict[Path, str] = {}
        self.blocks: list[str] = []

    def text(self, source: str) -> str:
        head = [
            f'"""The agent that {source} describes.',
            "",
            f"{MARK}; run it again when the file changes.",
            '"""',
            "",
        ]
        return "\n".join([*head, *self._body()]) + "\n"

    def _body(self) -> list[str]:
        files = [f"{name} = {self._path(path)}" for path, name in self.files.items()]
        body = self.names.lines()
        if files:
            body += ["", *files]
        return [*body, *(f"\n{block}" for block in self.blocks)]

    def agent(self, reading: Reading, variable: str = "") -> str:
        """Write the agent of one file; return its variable."""
        with opened(reading):
            cls, config = settings_of(reading.document)
            fields = _fields(reading.document.data, config)
            if cls.reads_own_settings():
                fields = {name: fields[name] for name in fields if name in _NAMING}
            items = self._items(reading, fields)
            name = variable or self.names.variable(config.name)
            comments = comments_of_file(reading.document)
            kind = self._kind(reading, cls)
            if cls.reads_own_settings():
                lines = self._own_settings(name, kind, reading, config, items)
            else:
                made = call(kind, list(items.values()), open=True)
                lines = [f"{name} = {render(made)}"]
        self.blocks.append("\n".join([*comments, *lines]))
        return name

    def _own_settings(
        self,
        name: str,
        kind: str,
        reading: Reading,
        config: BaseAgentConfig,
        items: dict[str, Item],
    ) -> list[str]:
        """Return the lines for a class that makes of its settings what only its code knows."""
        settings = record(config, self.names, ("agent_class", *items))
        made = call(f"{kind}.from_config", [Item(settings), Item(self._file(reading))])
        lines = [f"{name} = {render(made, len(name) + 3)}"]
        if items:
            entries = [
                Item(one.value, f"{quoted(one.prefix[:-1])}: ", one.comments)
                for one in items.values()
            ]
            changed = call(f"{name}.clone", [Item(Group("{", entries, "}"), "update=")])
            lines.append(f"{name} = {render(changed, len(name) + 3)}")
        return lines

    def _kind(self, reading: Reading, cls: type[BaseAgent]) -> str:
        said = reading.document.data.get("agent_class") or "LlmAgent"
        if said in _SHORT:
            return self.names.use("ostinato.agents", said)
        return self.names.use_dotted(said)

    def _items(self, reading: Reading, fields: dict[str, Any]) -> dict[str, Item]:
        """Return the arguments of an agent, in the order of its file."""
        items: dict[str, Item] = {}
        for said, value in fields.items():
            comments = comments_above(reading.document, said)
            with at(said):
                theirs = _ALL_CALLBACKS.get(said) or CODE.get(said) or said
                try:
                    source = self._field(reading, said, value)
                except CodeNameError as error:
                    raise FieldFault(str(error)) from error
            items[said] = Item(source, f"{theirs}=", comments)
        return items

    def _field(self, reading: Reading, said: str, value: Any) -> Expression:
        if said == "sub_agents":
            return listed([self._sub_agent(reading, n, one) for n, one in enumerate(value)])
        if said in _ALL_CALLBACKS:
            resolve_callbacks(value)
            return listed([self.names.use_dotted(one.name) for one in value])
        if said in CODE and isinstance(value, CodeConfig):
            resolve_code_reference(value)
            return self.names.use_dotted(value.name)
        if said == "tools":
            return listed([self._tool(reading, n, one) for n, one in enumerate(value)])
        return expression(value, self.names)

    def _sub_agent(self, reading: Reading, index: int, reference: AgentRefConfig) -> str:
        with at(index):
            return self._referenced(reading, reference)

    def _tool(self, reading: Reading, index: int, config: Any) -> Expression:
        with at(index):
            return tool_source(
                config,
                self.names,
                lambda reference: self._referenced(reading, reference),
                lambda: self._file(reading),
            )

    def _referenced(self, reading: Reading, reference: AgentRefConfig) -> str:
        """Write the agent that a file names, or import it; return its name."""
        if reference.code:
            named_agent(reference.code)
            return self.names.use_dotted(reference.code)
        path = reading.document.path.parent / (reference.config_path or "")
        return self.agent(below(reading, path))

    def _file(self, reading: Reading) -> str:
        """Return the constant with a file's path, for classes that read settings themselves."""
        path = reading.document.path.resolve()
        if path not in self.files:
            self.files[path] = self.names.variable(f"{path.stem.upper()}_YAML")
        return self.files[path]

    def _path(self, path: Path) -> str:
        made = self.names.use("pathlib", "Path")
        relative = Path(os.path.relpath(path, self.home.resolve())).as_posix()
        return f"str({made}(__file__).parent / {quoted(relative)})"


def _fields(data: dict[str, Any], config: BaseAgentConfig) -> dict[str, Any]:
    """Return what a file says, in its order; what says nothing is left out."""
    said = {name: getattr(config, name) for name in data if name != "agent_class"}
    return {name: value for name, value in said.items() if value not in (None, "", [])}

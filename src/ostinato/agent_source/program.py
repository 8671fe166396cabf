"""The Python program that does the same as an agent file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..agent_files.code_names import CodeNameError
from ..agent_files.document import Document, display_name, read_document
from ..agent_files.file_reading import (
    FieldFault,
    FileTree,
    Reading,
    enter_field,
    resolve_callbacks,
    resolve_code_reference,
    use_reading,
)
from ..agent_files.references import AgentRefConfig, CodeConfig
from ..agents.base_agent import BaseAgent
from ..agents.base_agent_config import CALLBACKS, BaseAgentConfig
from ..agents.config_agent_utils import (
    enter_file,
    read_settings,
    resolve_agent_reference,
    resolve_named_agent,
    rules_for,
)
from ..agents.llm_agent_fields import CALLBACKS as LLM_CALLBACKS
from ..agents.llm_agent_fields import CODE
from .layout import Expression, Group, Item, call_source, list_source, quote_text, render_source
from .source_names import Names
from .source_values import record_source, value_source
from .tool_source import tool_source

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
      out: path of the program; beside the file if None. Only a program in the agent's folder uses
        relative imports.
      allow_code_from: as for `config_agent_utils.from_config`.

    Raises:
      AgentFileError: the file says something that cannot be; see `config_agent_utils.from_config`.
    """
    document = read_document(path)
    folder = document.path.parent
    home = Path(out).absolute().parent if out else folder
    names = Names(rules_for(folder, allow_code_from), home.resolve() == folder.resolve())
    program = _Program(names, home)
    tree, above = FileTree(document), (document.path.resolve(),)
    reading = Reading(document, names.rules, resolve_agent_reference, folder, tree, above)
    program.write_agent(reading, "root_agent")
    return program.write(display_name(document.path))


class _Program:
    """A program under construction, agent by agent, sub-agents first."""

    def __init__(self, names: Names, home: Path) -> None:
        self.names = names
        self.home = home
        self.files: dict[Path, str] = {}
        self.blocks: list[str] = []

    def write(self, source: str) -> str:
        head = [
            f'"""The agent that {source} describes.',
            "",
            f"{MARK}; run it again when the file changes.",
            '"""',
            "",
        ]
        return "\n".join([*head, *self._write_body()]) + "\n"

    def _write_body(self) -> list[str]:
        files = [f"{name} = {self._path_source(path)}" for path, name in self.files.items()]
        body = self.names.import_lines()
        if files:
            body += ["", *files]
        return [*body, *(f"\n{block}" for block in self.blocks)]

    def write_agent(self, reading: Reading, variable: str = "") -> str:
        """Write the agent of one file; return its variable."""
        with use_reading(reading):
            cls, config = read_settings(reading.document)
            fields = _list_fields(reading.document.data, config)
            if cls.reads_own_settings():
                fields = {name: fields[name] for name in fields if name in _NAMING}
            items = self._argument_items(reading, fields)
            name = variable or self.names.add_variable(config.name)
            comments = comments_of_file(reading.document)
            kind = self._class_name(reading, cls)
            if cls.reads_own_settings():
                lines = self._own_settings(name, kind, reading, config, items)
            else:
                made = call_source(kind, list(items.values()), open=True)
                lines = [f"{name} = {render_source(made)}"]
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
        settings = record_source(config, self.names, ("agent_class", *items))
        made = call_source(
            f"{kind}.from_config", [Item(settings), Item(self._file_constant(reading))]
        )
        lines = [f"{name} = {render_source(made, len(name) + 3)}"]
        if items:
            entries = [
                Item(one.value, f"{quote_text(one.prefix[:-1])}: ", one.comments)
                for one in items.values()
            ]
            changed = call_source(f"{name}.clone", [Item(Group("{", entries, "}"), "update=")])
            lines.append(f"{name} = {render_source(changed, len(name) + 3)}")
        return lines

    def _class_name(self, reading: Reading, cls: type[BaseAgent]) -> str:
        said = reading.document.data.get("agent_class") or "LlmAgent"
        if said in _SHORT:
            return self.names.import_name("ostinato.agents", said)
        return self.names.use_dotted(said)

    def _argument_items(self, reading: Reading, fields: dict[str, Any]) -> dict[str, Item]:
        """Return the arguments of an agent, in the order of its file."""
        items: dict[str, Item] = {}
        for said, value in fields.items():
            comments = comments_above(reading.document, said)
            with enter_field(said):
                theirs = _ALL_CALLBACKS.get(said) or CODE.get(said) or said
                try:
                    source = self._field_source(reading, said, value)
                except CodeNameError as error:
                    raise FieldFault(str(error)) from error
            items[said] = Item(source, f"{theirs}=", comments)
        return items

    def _field_source(self, reading: Reading, said: str, value: Any) -> Expression:
        if said == "sub_agents":
            return list_source([self._sub_agent(reading, n, one) for n, one in enumerate(value)])
        if said in _ALL_CALLBACKS:
            resolve_callbacks(value)
            return list_source([self.names.use_dotted(one.name) for one in value])
        if said in CODE and isinstance(value, CodeConfig):
            resolve_code_reference(value)
            return self.names.use_dotted(value.name)
        if said == "tools":
            return list_source([self._tool_source(reading, n, one) for n, one in enumerate(value)])
        return value_source(value, self.names)

    def _sub_agent(self, reading: Reading, index: int, reference: AgentRefConfig) -> str:
        with enter_field(index):
            return self._write_reference(reading, reference)

    def _tool_source(self, reading: Reading, index: int, config: Any) -> Expression:
        with enter_field(index):
            return tool_source(
                config,
                self.names,
                lambda reference: self._write_reference(reading, reference),
                lambda: self._file_constant(reading),
            )

    def _write_reference(self, reading: Reading, reference: AgentRefConfig) -> str:
        """Write the agent that a file names, or import it; return its name."""
        if reference.code:
            resolve_named_agent(reference.code)
            return self.names.use_dotted(reference.code)
        path = reading.document.path.parent / (reference.config_path or "")
        return self.write_agent(enter_file(reading, path))

    def _file_constant(self, reading: Reading) -> str:
        """Return the constant with a file's path, for classes that read settings themselves."""
        path = reading.document.path.resolve()
        if path not in self.files:
            self.files[path] = self.names.add_variable(f"{path.stem.upper()}_YAML")
        return self.files[path]

    def _path_source(self, path: Path) -> str:
        made = self.names.import_name("pathlib", "Path")
        relative = Path(os.path.relpath(path, self.home.resolve())).as_posix()
        return f"str({made}(__file__).parent / {quote_text(relative)})"


def _list_fields(data: dict[str, Any], config: BaseAgentConfig) -> dict[str, Any]:
    """Return the fields of a file in their order, without empty ones."""
    said = {name: getattr(config, name) for name in data if name != "agent_class"}
    return {name: value for name, value in said.items() if value not in (None, "", [])}


# For editors of YAML, not for people.
_NOT_FOR_PEOPLE = ("yaml-language-server", "-*-", "vim:")


def comments_of_file(document: Document) -> list[str]:
    """Return the comments above a file's first field: they are about the agent."""
    return _read_above(document, _first_line(document))


def comments_above(document: Document, field: str) -> list[str]:
    """Return the comments above a field; those above the first are the file's."""
    place = document.places.get((field,))
    if place is None or place.line == _first_line(document):
        return []
    return _read_above(document, place.line)


def _first_line(document: Document) -> int:
    return min((place.line for path, place in document.places.items() if path), default=1)


def _read_above(document: Document, line: int) -> list[str]:
    lines = document.text.splitlines()[: line - 1]
    found: list[str] = []
    for text in reversed(lines):
        text = text.strip()
        if not text.startswith("#"):
            break
        if not any(word in text for word in _NOT_FOR_PEOPLE):
            found.append(f"# {text.lstrip('#').strip()}".rstrip())
    return found[::-1]

"""Agents made of YAML files: `from_config("my_agent/root_agent.yaml")`.

Called by programs, by `hosting.loader` for folders with a root_agent.yaml, and by the agents'
`from_config` for what their settings name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from ..agent_files.code_names import CodeRules
from ..agent_files.document import Document, read_document
from ..agent_files.own_package import own_package
from ..agent_files.reading import FieldFault, Reading, at, current, invalid, opened
from ..agent_files.references import AgentRefConfig
from ..agent_files.resolving import resolve_callbacks as resolve_callbacks
from ..agent_files.resolving import resolve_code_reference as resolve_code_reference
from ..agent_files.resolving import resolve_fully_qualified_name as resolve_fully_qualified_name
from ..errors import AgentFileError
from .agent_classes import agent_class_of
from .base_agent import BaseAgent
from .base_agent_config import BaseAgentConfig

_MAX_DEPTH = 50
# Fields of every agent that a file says otherwise, or not at all.
_NOT_IN_FILES = ("parent_agent", "before_agent_callback", "after_agent_callback")


def from_config(config_path: str | Path, *, allow_code_from: Sequence[str] = ()) -> BaseAgent:
    """Make the agent that a YAML file describes, with its sub-agents.

    Args:
      config_path: the file.
      allow_code_from: modules, besides the package of the file's folder and Ostinato's own, whose
        code the file may name; each with all below it.

    Raises:
      AgentFileNotFoundError: there is no such file.
      AgentFileError: it says something that cannot be; the message names file, line and field.
      CodeReferenceError: it names code that is not there, or that it may not name.
      MissingExtraError: PyYAML is not installed.
    """
    document = read_document(config_path)
    rules = rules_for(document.path.parent, allow_code_from)
    return build(Reading(document, rules, resolve_agent_reference, (document.path,)))


def rules_for(folder: Path, allow_code_from: Sequence[str] = ()) -> CodeRules:
    """Return which code the files of an agent's folder may name.

    Raises:
      AgentFileError: the folder is a package that cannot be imported.
    """
    try:
        package = own_package(folder)
    except Exception as error:  # boundary: whatever the user's package raises, the author is told
        file = f"{folder.name}/__init__.py"
        raise AgentFileError(
            f"{file} cannot be imported: {type(error).__name__}: {error}", file=file
        ) from error
    return CodeRules(re.sub(r"\W", "_", folder.name), package, tuple(allow_code_from))


def build(reading: Reading) -> BaseAgent:
    """Make the agent of one file; see `from_config` for errors."""
    with opened(reading):
        cls, config = settings_of(reading.document)
        with at():
            return cls.from_config(config, str(reading.document.path))


def settings_of(document: Document) -> tuple[type[BaseAgent], BaseAgentConfig]:
    """Return the class that a file names, and the file's fields as that class's settings.

    Raises:
      AgentFileError: there is no such class, or it does not take these fields.
    """
    with at("agent_class"):
        cls = agent_class_of(document.data.get("agent_class"))
    config_type = cast("type[BaseAgentConfig]", cls.config_type)
    try:
        config = config_type.model_validate(document.data)
    except ValidationError as error:
        raise invalid(document, error) from error
    for name in config.model_extra or ():
        if name not in cls.model_fields or name in _NOT_IN_FILES:
            raise document.fault(f"{cls.__name__} has no such field; check its spelling.", (name,))
    return cls, config


def resolve_agent_reference(
    ref_config: AgentRefConfig, referencing_agent_config_abs_path: str
) -> BaseAgent:
    """Return the agent that a file names: made of another file, or found by its dotted name.

    Args:
      ref_config: the reference.
      referencing_agent_config_abs_path: the file that holds it.

    Raises:
      AgentFileError: there is no such agent.
    """
    if ref_config.code:
        return named_agent(ref_config.code)
    folder = Path(referencing_agent_config_abs_path).parent
    path = folder / (ref_config.config_path or "")
    above = current()
    if above is None:
        return from_config(path)
    return build(below(above, path))


def below(above: Reading, path: Path) -> Reading:
    """Return the reading of a file that another file names.

    Raises:
      AgentFileError: there is no such file, or it leads back to itself.
    """
    with at("config_path"):
        if not path.is_file():
            raise FieldFault(f"there is no file {path.name!r} there; check the path.")
        file = path.resolve()
        if file in above.above or len(above.above) >= _MAX_DEPTH:
            raise FieldFault("this file is one of those that led here: a circle has no end.")
    return Reading(read_document(path), above.rules, above.build, (*above.above, file))


def named_agent(name: str) -> BaseAgent:
    """Return the agent that a dotted name of a file names.

    Raises:
      AgentFileError: it is no agent, or may not be named.
    """
    with at("code"):
        agent = resolve_fully_qualified_name(name)
        if isinstance(agent, BaseAgent):
            return agent
        what = "a function or class" if callable(agent) else f"of type {type(agent).__name__}"
        raise FieldFault(f"{name!r} is {what}, not an agent.")

"""Agents from YAML files: `from_config("my_agent/root_agent.yaml")`.

Programs call it, and `hosting.loader` for folders with a root_agent.yaml.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from ..agent_files.code_names import CodeRules
from ..agent_files.document import Document, read_document
from ..agent_files.file_reading import (
    FieldFault,
    FileTree,
    Reading,
    current_reading,
    enter_field,
    make_validation_error,
    use_reading,
)
from ..agent_files.file_reading import resolve_callbacks as resolve_callbacks
from ..agent_files.file_reading import resolve_code_reference as resolve_code_reference
from ..agent_files.file_reading import resolve_fully_qualified_name as resolve_fully_qualified_name
from ..agent_files.own_package import own_package
from ..agent_files.references import AgentRefConfig
from ..errors import AgentFileError
from .base_agent import BaseAgent
from .base_agent_config import BaseAgentConfig

_MAX_DEPTH = 50
_SHORT_NAMES = ("BaseAgent", "LlmAgent", "LoopAgent", "ParallelAgent", "SequentialAgent")
# Fields of every agent that a file sets under another name or cannot set.
_NOT_IN_FILES = ("parent_agent", "before_agent_callback", "after_agent_callback")


def from_config(config_path: str | Path, *, allow_code_from: Sequence[str] = ()) -> BaseAgent:
    """Create the agent that a YAML file describes, with its sub-agents.

    Args:
      config_path: the file.
      allow_code_from: modules, besides the package of the file's folder, whose code the file may
        refer to, each with all its submodules; also names of Ostinato that are not in the allow
        list of `agent_files`, such as `ostinato.tools.ExecuteBashTool`.

    Raises:
      AgentFileNotFoundError: the file does not exist.
      AgentFileError: a setting is invalid; the message names file, line and field.
      CodeReferenceError: the file refers to code that does not exist or is not allowed.
      MissingExtraError: PyYAML is not installed.
    """
    document = read_document(config_path)
    folder = document.path.parent
    rules = rules_for(folder, allow_code_from)
    tree, above = FileTree(document), (document.path.resolve(),)
    return build_agent(Reading(document, rules, resolve_agent_reference, folder, tree, above))


def rules_for(folder: Path, allow_code_from: Sequence[str] = ()) -> CodeRules:
    """Return the rules for the code that files of an agent's folder may refer to.

    Raises:
      AgentFileError: the folder is a package that cannot be imported.
    """
    try:
        package = own_package(folder)
    except Exception as error:  # boundary: the user's package may raise anything
        file = f"{folder.name}/__init__.py"
        raise AgentFileError(
            f"{file} cannot be imported: {type(error).__name__}: {error}", file=file
        ) from error
    return CodeRules(re.sub(r"\W", "_", folder.name), package, tuple(allow_code_from))


def build_agent(reading: Reading) -> BaseAgent:
    """Create the agent of one file; see `from_config` for errors."""
    with use_reading(reading):
        cls, config = read_settings(reading.document)
        with enter_field():
            return cls.from_config(config, str(reading.document.path))


def read_settings(document: Document) -> tuple[type[BaseAgent], BaseAgentConfig]:
    """Return the agent class of a file, and the file's fields as settings of that class.

    Raises:
      AgentFileError: the class does not exist or does not accept these fields.
    """
    with enter_field("agent_class"):
        cls = _find_agent_class(document.data.get("agent_class"))
    config_type = cast("type[BaseAgentConfig]", cls.config_type)
    try:
        config = config_type.model_validate(document.data)
    except ValidationError as error:
        raise make_validation_error(document, error) from error
    for name in config.model_extra or ():
        if name not in cls.model_fields or name in _NOT_IN_FILES:
            raise document.fault(f"{cls.__name__} has no such field; check its spelling.", (name,))
    return cls, config


def _find_agent_class(value: Any) -> type[BaseAgent]:
    """Return an agent class by its short or dotted name; LlmAgent if the name is empty.

    Raises:
      FieldFault: the name is not that of an agent class.
      CodeReferenceError: the dotted name does not exist or is not allowed.
    """
    name = value or "LlmAgent"
    if not isinstance(name, str):
        raise FieldFault(f"it must be the name of a class, not {name!r:.40}.")
    if name in _SHORT_NAMES:
        cls = getattr(sys.modules[__package__ or ""], name)  # lazy imports
    elif "." in name:
        cls = resolve_fully_qualified_name(name)
    else:
        raise FieldFault(
            f"there is no agent class {name!r}. Use {', '.join(_SHORT_NAMES[1:])}, or the dotted "
            "name of your own class, such as my_agent.agents.Own."
        )
    if not (isinstance(cls, type) and issubclass(cls, BaseAgent)):
        raise FieldFault(f"{name!r} is not an agent class.")
    return cls


def resolve_agent_reference(
    ref_config: AgentRefConfig, referencing_agent_config_abs_path: str
) -> BaseAgent:
    """Return the agent that a file refers to by another file or by a dotted name.

    Args:
      ref_config: the reference.
      referencing_agent_config_abs_path: the file that holds it.

    Raises:
      AgentFileError: the agent does not exist.
    """
    if ref_config.code:
        return resolve_named_agent(ref_config.code)
    folder = Path(referencing_agent_config_abs_path).parent
    path = folder / (ref_config.config_path or "")
    above = current_reading()
    if above is None:
        return from_config(path)
    return build_agent(enter_file(above, path))


def enter_file(above: Reading, path: Path) -> Reading:
    """Return the reading of a file that another file refers to.

    Raises:
      AgentFileError: the file does not exist, lies outside of the root file's folder, or leads back
        to itself.
    """
    with enter_field("config_path"):
        file = _resolve_inside(path, above.folder)
        if file in above.above or len(above.above) >= _MAX_DEPTH:
            raise FieldFault("this file refers back to itself, directly or through other files.")
        document = above.tree.read(path, file)
    files = (*above.above, file)
    return Reading(document, above.rules, above.build, above.folder, above.tree, files)


def _resolve_inside(path: Path, folder: Path) -> Path:
    """Return the file that a path leads to, symbolic links resolved.

    Raises:
      FieldFault: the file does not exist, or lies outside of the folder; the message does not
        reveal whether a file outside exists.
    """
    try:
        file = path.resolve()
        if file.is_relative_to(folder.resolve()):
            if not file.is_file():
                raise FieldFault(f"there is no file {path.name!r} there; check the path.")
            return file
    except FieldFault:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # a loop of links, a NUL character
        raise FieldFault("it is not a valid path of a file.") from error
    raise FieldFault(
        "it leads out of the agent's folder; move the file into the folder of the root file."
    )


def resolve_named_agent(name: str) -> BaseAgent:
    """Return the agent with a dotted name.

    Raises:
      AgentFileError: it is not an agent, or the file may not refer to it.
    """
    with enter_field("code"):
        agent = resolve_fully_qualified_name(name)
        if isinstance(agent, BaseAgent):
            return agent
        what = "a function or class" if callable(agent) else f"of type {type(agent).__name__}"
        raise FieldFault(f"{name!r} is {what}, not an agent.")

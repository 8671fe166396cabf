"""Error messages for agents that cannot be loaded: where loading failed, and what to do."""

from __future__ import annotations

import difflib
import os
import shlex
import traceback
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from ..agents.base_agent import BaseAgent
from ..apps.app import App
from ..compat.missing import explain
from .setup_error import SetupError


def nothing_there(path: str) -> SetupError:
    """Return the error for a path without an agent; it lists agents in nearby folders."""
    place = Path(path).expanduser()
    if place.is_dir():
        problem = (
            f"{path} has no agent.py, __init__.py or root_agent.yaml, so there is no agent to run."
        )
        near = _agent_folders(place)
    elif place.exists():
        problem = f"{path} is not a Python file, a YAML file or a folder."
        near = _agent_folders(place.parent)
    else:
        problem = f"{path} does not exist."
        parent = place.parent if place.parent.is_dir() else Path()
        near = _agent_folders(parent) or _agent_folders(Path())
    if not near:
        return SetupError(f"{problem} Create an agent with: ostinato create my_agent", missing=True)
    names = {folder.name: folder for folder in near}
    alike = [names[name] for name in difflib.get_close_matches(place.name, names, 3)]
    shown = ", ".join(os.path.relpath(folder) for folder in (alike or near)[:6])
    ask = "Did you mean" if alike else "Agents nearby:"
    return SetupError(f"{problem} {ask} {shown}{'?' if alike else ''}", missing=True)


def _agent_folders(folder: Path) -> list[Path]:
    """Return the folders with an agent, at most two levels down."""
    found: list[Path] = []
    for pattern in ("*/agent.py", "*/root_agent.yaml", "*/*/agent.py", "*/*/root_agent.yaml"):
        found += [file.parent for file in sorted(folder.glob(pattern)) if not _is_hidden(file)]
    return list(dict.fromkeys(found))


def _is_hidden(file: Path) -> bool:
    return any(part.startswith(".") and part != ".." for part in file.parts)


def nothing_to_run(modules: list[ModuleType], folder: str) -> SetupError:
    """Return the error for a module without `root_agent` and `app`; it lists other agents there."""
    files = " and ".join(_files_of(modules)) or folder
    agents = {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, BaseAgent | App)
    }
    problem = f"{files} defines neither root_agent nor app."
    if agents:
        found = ", ".join(f"{name} ({type(value).__name__})" for name, value in agents.items())
        return SetupError(
            f"{problem} Found instead: {found}. Name the agent to start with root_agent: "
            f"root_agent = {next(iter(agents))}"
        )
    return SetupError(
        f'{problem} It contains no agent; define one: root_agent = Agent(name="...", ...)'
    )


def _files_of(modules: list[ModuleType]) -> list[str]:
    files = [getattr(module, "__file__", None) for module in modules]
    return [os.path.relpath(file) for file in files if file]


def wrong_type(value: object, folder: str) -> SetupError:
    """Return the error for a `root_agent` that is not an agent."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if kind.startswith("google.adk."):
        return SetupError(
            f"root_agent in {folder} is an agent of google-adk ({kind}), which Ostinato does not "
            "run. Let google.adk mean Ostinato: `python -m ostinato.compat -m ostinato run "
            f"{shlex.quote(folder)}`, or pip uninstall google-adk, where Ostinato is installed. Or "
            "import from it: from ostinato.agents import Agent"
        )
    if isinstance(value, type) or callable(value):
        return SetupError(
            f"root_agent in {folder} is the {'class' if isinstance(value, type) else 'function'} "
            f"{getattr(value, '__name__', value)}, not an agent. Assign what it returns: "
            "root_agent = Agent(...)"
        )
    return SetupError(
        f"root_agent in {folder} has type {kind}; it has to be an agent, such as "
        'root_agent = Agent(name="...", ...)'
    )


def explain_import(error: BaseException, folder: Path) -> SetupError:
    """Return the error for a module that cannot be imported, with the place in the user's code."""
    if isinstance(error, SetupError):
        return error
    if isinstance(error, SyntaxError):
        file = os.path.relpath(error.filename) if error.filename else str(folder)
        line = (error.text or "").rstrip("\n")
        shown = f"\n  {line.strip()}" if line.strip() else ""
        message = f"{file}, line {error.lineno}: {error.msg}.{shown}"
        return SetupError(message, file=error.filename, line=error.lineno)
    found = _explain_raised(error, place_of(error, folder))
    frame = _frame_in(error, folder)
    if frame is not None:
        found.file, found.line = frame.filename, frame.lineno
    return found


def _explain_raised(error: BaseException, where: str) -> SetupError:
    missing = error.name if isinstance(error, ImportError) else None
    advice = explain(error) if isinstance(error, ImportError) else None
    if advice is not None:
        return SetupError(f"{where}cannot be imported: {advice}")
    if isinstance(error, ModuleNotFoundError):
        return SetupError(
            f"{where}imports {missing!r}, which is not installed. Install it where Ostinato is "
            "installed, or check the spelling; a module of the same folder is imported with a dot: "
            "from .tools import look_up"
        )
    text = message_of(error)
    return SetupError(f"{where}raised {type(error).__name__}{': ' if text else ''}{text}")


def message_of(error: BaseException) -> str:
    """Return an error's message; the findings of a validation are joined into one line."""
    if not isinstance(error, ValidationError):
        return str(error).strip()
    found = [
        f"{'.'.join(map(str, item['loc']))}: {item['msg'].removeprefix('Value error, ')}"
        for item in error.errors()
    ]
    return f"{error.title}: {'; '.join(found)}"


def place_of(error: BaseException, folder: Path) -> str:
    """Return an error's last place in the user's folder: a file and line, or else the folder."""
    frame = _frame_in(error, folder)
    if frame is None:
        return f"{os.path.relpath(folder)} "
    return f"{os.path.relpath(frame.filename)}, line {frame.lineno}, "


def _frame_in(error: BaseException, folder: Path) -> traceback.FrameSummary | None:
    """Return the innermost frame of an error in the user's folder, or None."""
    root = str(folder.resolve()) + os.sep
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if os.path.realpath(frame.filename).startswith(root):
            return frame
    return None

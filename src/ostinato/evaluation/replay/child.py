"""Work on another version of an agent, in a process of its own.

Two versions of a package cannot live in one process. The parent writes a task into a file, and the
child its result into another, so that what the agent prints does no harm.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from ...context.budget import Price
from ...errors import InputValidationError, OstinatoError
from ...hosting.loader import LoadedAgent, load_agent
from ...hosting.setup_error import SetupError
from ...hosting.stand_in import use_model
from .lane import LaneRun, LaneRunner, LaneSettings
from .mock_model import make_model_mock
from .recording import Exchange, RecordedSession, split_exchanges
from .rendering import render_agents

_RUNS = TypeAdapter(list[LaneRun])
_SESSIONS = TypeAdapter(list[RecordedSession])


def make_settings(options: dict[str, Any]) -> LaneSettings:
    """Return the settings of a lane.

    Args:
      options: `prices`, `read_only`, `mock_model`, `seed`, `parallelism`, `allow_code`, as JSON.

    Raises:
      InputValidationError: an option is not valid.
      ModelUnavailableError: there is no such model.
    """
    mock = options.get("mock_model")
    return LaneSettings(
        prices={name: Price(**price) for name, price in options.get("prices", {}).items()},
        read_only=options.get("read_only", ()),
        mock=make_model_mock(mock) if mock else None,
        seed=options.get("seed"),
        parallelism=options.get("parallelism", 8),
        allow_code=options.get("allow_code", False),
    )


def replay_elsewhere(
    agent: str, folder: Path, exchanges: Sequence[Exchange], options: dict[str, Any]
) -> list[LaneRun]:
    """Return what another version of an agent does in exchanges.

    Args:
      agent: the path of its agent, within the folder.
      folder: the root of its code.
      exchanges: the exchanges.
      options: as for `make_settings`, with `model` and `allow_code_from`.

    Raises:
      InputValidationError: the version cannot be loaded or run.
    """
    numbers: dict[int, int] = {}
    sessions: list[RecordedSession] = []
    chosen: list[tuple[int, int]] = []
    for one in exchanges:
        if id(one.session) not in numbers:
            numbers[id(one.session)] = len(sessions)
            sessions.append(one.session)
        chosen.append((numbers[id(one.session)], one.number))
    task = {
        "work": "replay",
        "agent": agent,
        "options": options,
        "sessions": _SESSIONS.dump_python(sessions, mode="json"),
        "exchanges": chosen,
    }
    return _RUNS.validate_python(run_child(task, folder))


def run_child(task: dict[str, Any], folder: Path) -> Any:
    """Return the result of a task that runs in a process of its own.

    Args:
      task: the task as JSON.
      folder: its working folder, the root of the code that it works on.

    Raises:
      InputValidationError: the task failed.
    """
    with tempfile.TemporaryDirectory(prefix="ostinato-replay-") as scratch:
        given, result = Path(scratch, "task.json"), Path(scratch, "result.json")
        paths = [str(folder), str(folder / "src"), *filter(None, sys.path)]
        given.write_text(json.dumps({**task, "paths": paths}), encoding="utf-8")
        command = [sys.executable, "-m", __name__, str(given), str(result)]
        with subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                _, errors = process.communicate()
            except BaseException:  # boundary: Ctrl-C ends the child, too
                process.terminate()
                raise
        try:
            answer: Any = json.loads(result.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            last = (errors.strip().splitlines() or ["it wrote nothing"])[-1]
            raise InputValidationError(
                f"The process for {task['agent']!r} ended with code {process.returncode}: {last}"
            ) from error
    if "error" in answer:
        raise InputValidationError(f"{task['agent']!r}: {answer['error']}")
    return answer["result"]


def perform_task(task: dict[str, Any]) -> Any:
    """Return the result of a task.

    Args:
      task: `work` is `replay` or `render`; `agent` is a path.
    """
    options = cast(dict[str, Any], task.get("options", {}))
    loaded = load_agent(task["agent"], options.get("allow_code_from", ()))
    if options.get("model"):
        use_model(loaded.root, options["model"])
    if task["work"] == "render":
        agents = asyncio.run(render_agents(loaded.app or loaded.root))
        return {"app_name": loaded.app_name, "agents": agents}
    return _RUNS.dump_python(asyncio.run(_replay(task, loaded, options)), mode="json")


async def _replay(
    task: dict[str, Any], loaded: LoadedAgent, options: dict[str, Any]
) -> list[LaneRun]:
    sessions = _SESSIONS.validate_python(task["sessions"])
    known = [split_exchanges(one) for one in sessions]
    exchanges: list[Any] = [known[session][number] for session, number in task["exchanges"]]
    runner = LaneRunner(loaded.app or loaded.root, make_settings(options))
    return await runner.run_all(exchanges)


def main(given: str, result: str) -> None:
    """Perform the task in a file, and write its result or error into another.

    Args:
      given: file of the task.
      result: file of the result.
    """
    task = json.loads(Path(given).read_text(encoding="utf-8"))
    known = set(sys.path)
    sys.path[:0] = [one for one in task["paths"][:2] if one not in known]
    sys.path += [one for one in task["paths"][2:] if one not in known]
    try:
        answer = {"result": perform_task(task)}
    except SetupError as error:
        answer = {"error": error.message}
    except OstinatoError as error:
        answer = {"error": str(error)}
    Path(result).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3])

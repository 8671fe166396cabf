"""Code of an agent cannot end a command that CI believes with success, nor hide Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.cli.main import main
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.support import recorded_store
from tests.support.recorded_store import record

AGENT = """
import os
import signal
import sys
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call


class OddExit(BaseException):
    pass


def find(order: str) -> dict:
    "Find an order."
    {tool}
    return {{"order": order}}


def answer(request):
    {model}
    last = request.contents[-1].parts[-1]
    return "Found." if last.function_response else call("find", order="A1")


def before(callback_context):
    {callback}


{module}
root_agent = Agent(
    name="clerk", model=FunctionModel(answer), tools=[find], before_agent_callback=before
)
"""
CASES = {
    "eval_set_id": "orders",
    "eval_cases": [
        {
            "eval_id": eval_id,
            "conversation": [
                {
                    "user_content": {"parts": [{"text": "find A1"}]},
                    "intermediate_data": {"tool_uses": [{"name": "find", "args": {"order": "A1"}}]},
                    "final_response": {"role": "model", "parts": [{"text": "Found."}]},
                }
            ],
        }
        for eval_id in ("first", "second")
    ],
}
SESSION = {
    "events": [
        {"author": "user", "content": {"role": "user", "parts": [{"text": "find A1"}]}},
        {"author": "clerk", "content": {"role": "model", "parts": [{"text": "Found."}]}},
    ]
}
METRICS = """
import os


def end(*given):
    os._exit(0)
"""
SPEC = """
description: finds an order
agent: {agent}
user_messages:
  - text: find A1
"""
PLACES = ("module", "callback", "model", "tool")


def write_agent(folder: Path, **code: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = {name: code.get(name, "pass") for name in PLACES}
    (folder / "agent.py").write_text(AGENT.format(**lines))
    (folder / "orders.evalset.json").write_text(json.dumps(CASES))
    return folder


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The codes with which the process would have ended."""
    codes: list[int] = []

    def note(status: int) -> None:
        codes.append(status)
        raise RuntimeError("the process ended")

    monkeypatch.setattr(os, "_exit", note)
    return codes


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("status", [0, 3])
def test_an_agent_cannot_end_an_evaluation(
    place: str, status: int, tmp_path: Path, exits: list[int], capsys: Any
) -> None:
    folder = write_agent(tmp_path / f"ends_{place}_{status}", **{place: f"os._exit({status})"})
    before = os._exit
    main(["eval", str(folder)])
    assert set(exits) == {1}
    error = capsys.readouterr().err
    assert f"ended the process with os._exit({status}) (" in error
    assert f"{folder.name}.agent, line " in error
    assert "before `ostinato eval` had a verdict" in error
    assert os._exit is before


def test_a_metric_cannot_end_an_evaluation(tmp_path: Path, exits: list[int]) -> None:
    folder = write_agent(tmp_path / "ends_metric")
    (folder / "__init__.py").write_text("")
    (folder / "metrics.py").write_text(METRICS)
    config = {
        "criteria": {"own": 1},
        "custom_metrics": {"own": {"code_config": {"name": "ends_metric.metrics.end"}}},
    }
    (folder / "test_config.json").write_text(json.dumps(config))
    main(["eval", str(folder)])
    assert set(exits) == {1}


def test_a_forked_process_ends_as_it_wants(tmp_path: Path, capsys: Any) -> None:
    fork = "pid = os.fork(); pid or os._exit(7); CODE = os.waitstatus_to_exitcode(os.wait()[1])"
    folder = write_agent(tmp_path / "forks", module=f"{fork}; print('forked', CODE)")
    assert main(["eval", str(folder)]) == 0
    assert "forked 7" in capsys.readouterr().out


@pytest.fixture
async def store(tmp_path: Path) -> str:
    """The file of a store with one recorded invocation."""
    file = tmp_path / "sessions.db"
    service = SqliteSessionService(str(file))
    await record(service, recorded_store.make_agent(), [["find A1"]])
    await service.close()
    return str(file)


def list_words(command: str, folder: Path, store: str) -> list[str]:
    """Return a command line that runs the agent in a folder, with the files that it needs."""
    match command:
        case "replay":
            return [command, str(folder), "--db", store, "--app", "shop"]
        case "test":
            (folder / "tests").mkdir()
            (folder / "tests" / "a.json").write_text(json.dumps(SESSION))
            return [command, str(folder)]
        case "conformance":
            case = folder.parent / "cases" / "orders" / "finds"
            case.mkdir(parents=True)
            (case / "spec.yaml").write_text(SPEC.format(agent=folder.name))
            return [command, "record", str(case), "--agents", str(folder.parent)]
        case "prove":
            scenario = folder / "scenario.json"
            scenario.write_text(json.dumps({"steps": [{"say": "find A1"}]}))
            return [command, str(folder), str(scenario), "--fast"]
        case "optimize":
            sampler = folder / "sampler.json"
            fields = {"app_name": folder.name, "train_eval_set": "orders"}
            sampler.write_text(json.dumps({"eval_config": {"criteria": {}}, **fields}))
            return [command, str(folder), "--sampler-config-file-path", str(sampler)]
        case _:
            return [command, str(folder)]


COMMANDS = ("replay", "test", "conformance", "prove", "optimize")


@pytest.mark.parametrize("command", COMMANDS)
def test_an_agent_cannot_end_another_command(
    command: str, tmp_path: Path, store: str, exits: list[int], capsys: Any
) -> None:
    place = "module" if command == "optimize" else "callback"  # which needs an extra to run
    folder = write_agent(tmp_path / f"ends_{command}", **{place: "os._exit(0)"})
    main(list_words(command, folder, store))
    assert exits and set(exits) == {1}
    assert f"before `ostinato {command}` had a verdict" in capsys.readouterr().err


def run_without_reader(words: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command whose output nobody reads, as in `ostinato eval my_agent | true`."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-m", "ostinato", *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)


@pytest.mark.long
@pytest.mark.parametrize("command", ["test", "prove", "docs"])
def test_a_closed_pipe_ends_a_command_quietly(command: str, tmp_path: Path, store: str) -> None:
    folder = write_agent(tmp_path / f"unread_{command}")
    words = (
        ["docs", "SessionBusyError"] if command == "docs" else list_words(command, folder, store)
    )
    done = run_without_reader(words)
    assert (done.returncode, done.stderr.decode()) == (141, "")


@pytest.mark.long
def test_a_closed_pipe_keeps_results_and_reports(tmp_path: Path, store: str) -> None:
    folder = write_agent(tmp_path / "unread")
    junit, report = tmp_path / "eval.xml", tmp_path / "replay.json"
    words = ["eval", str(folder), "--parallelism", "1", "--junit", str(junit)]
    done = run_without_reader(words)
    assert (done.returncode, done.stderr.decode()) == (141, "")
    assert len([*(folder / ".adk" / "eval_history").iterdir()]) == 1
    assert "first" in junit.read_text()
    done = run_without_reader([*list_words("replay", folder, store), "--json", str(report)])
    assert (done.returncode, done.stderr.decode()) == (141, "")
    assert json.loads(report.read_text())["totals"]["replayed"] == 1


@pytest.mark.parametrize("raised", ["SystemExit(0)", "OddExit('enough')"])
@pytest.mark.parametrize("command", ["eval", "replay", "test", "conformance"])
def test_an_agent_that_exits_fails_what_it_runs(
    command: str, raised: str, tmp_path: Path, store: str, capsys: Any
) -> None:
    name = f"raises_{command}_{raised[:3]}".lower()
    folder = write_agent(tmp_path / name, callback=f"raise {raised}")
    assert main(list_words(command, folder, store)) in (1, 2)
    shown = capsys.readouterr()
    assert raised.partition("(")[0] in shown.out + shown.err
    assert "Traceback" not in shown.err


def evaluate(folder: Path) -> subprocess.CompletedProcess[str]:
    """Evaluate an agent in a process of its own."""
    command = [sys.executable, "-m", "ostinato", "eval", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_a_task_that_raises_system_exit_is_no_success(tmp_path: Path) -> None:
    code = "import asyncio; asyncio.get_running_loop().call_soon(sys.exit, 0)"
    done = evaluate(write_agent(tmp_path / "exits_later", callback=code))
    assert done.returncode == 1
    assert "with SystemExit(0) before `ostinato eval` had a verdict" in done.stderr


@pytest.mark.long
def test_the_process_really_ends_with_1(tmp_path: Path) -> None:
    done = evaluate(write_agent(tmp_path / "really_ends", tool="print('out'); os._exit(0)"))
    assert done.returncode == 1
    assert "out" in done.stdout and "os._exit(0)" in done.stderr


@pytest.fixture
def interruptible() -> Iterator[None]:
    # A program that was started in the background ignores the signal, and so do its tests.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


PRESS = "signal.raise_signal(signal.SIGINT)"
NOTICE = "Stopping after the running step; press Ctrl-C again to end at once."


@pytest.mark.parametrize("command", ["eval", "replay", "conformance"])
def test_ctrl_c_during_a_blocking_step_is_answered_at_once(
    command: str, tmp_path: Path, store: str, capfd: Any, interruptible: None
) -> None:
    code = f"{PRESS}; os.write(2, b'still in the step')"
    folder = write_agent(tmp_path / f"blocks_{command}", model=code)
    assert main(list_words(command, folder, store)) == 130
    error = capfd.readouterr().err
    assert error.count(NOTICE) == 1
    assert error.index(NOTICE) < error.index("still in the step")


def test_a_second_ctrl_c_ends_the_step(tmp_path: Path, capfd: Any, interruptible: None) -> None:
    folder = write_agent(tmp_path / "pressed_twice", model=f"{PRESS}; {PRESS}; print('went on')")
    assert main(["eval", str(folder)]) == 130
    shown = capfd.readouterr()
    assert shown.err.count(NOTICE) == 1
    assert "(interrupted)" in shown.out and "went on" not in shown.out

"""Tests of `ostinato test`: `tests/*.json` beside an agent, each with the events of a session."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from ..._aborted_tool import as_code_error
from ..._aclosing import Aclosing
from ..._shared_files import replace_file
from ...apps.app import App
from ...artifacts.in_memory_artifact_service import InMemoryArtifactService
from ...errors import InputValidationError
from ...events.event import Event
from ...memory.in_memory_memory_service import InMemoryMemoryService
from ...plugins.base_plugin import BasePlugin
from ...runners import Runner
from ...sessions.in_memory_session_service import InMemorySessionService
from ...sessions.session import Session
from ..json_file import parse_json, read_text
from ..replay.recording import list_answer_keys, readdress_answers
from .event_comparison import compare_events
from .recorded_answers import RecordedAnswers, describe_failure

_AGENT_FILES = ("agent.py", "__init__.py", "root_agent.yaml")
_EXPECTED_TO_FAIL = "_xfail"
_USER = "test_user"


@dataclass(slots=True)
class SessionTestResult:
    """The result of one file.

    Attributes:
      file: the file.
      passed: whether it passed; one that is expected to fail passes if it does.
      problem: lines that say what differs.
    """

    file: Path
    passed: bool
    problem: list[str] = field(default_factory=list[str])


def find_test_files(folder: Path) -> list[tuple[Path, Path]]:
    """Return the folders of agents below a folder, each with one of its test files.

    Args:
      folder: an agent's folder, or one with several.
    """
    return [
        (file.parent.parent, file)
        for file in sorted(folder.rglob("tests/*.json"))
        if any((file.parent.parent / name).exists() for name in _AGENT_FILES)
    ]


def read_session_file(file: Path) -> tuple[dict[str, Any], list[Event]]:
    """Return the content of a file, and its events.

    Args:
      file: the file.

    Raises:
      InputValidationError: it cannot be read, or does not hold the events of a session that a user
        began.
    """
    try:
        document = parse_json(read_text(file), str(file))
    except OSError as error:
        raise InputValidationError(f"{file} cannot be read: {error.strerror}.") from error
    if not isinstance(document, dict):
        raise InputValidationError(f"{file} does not hold a session.")
    session = cast(dict[str, Any], document)
    if session.get("mocks"):
        raise InputValidationError(
            f"{file}: `mocks` patches functions of Python, which is not supported. Give the agent "
            "a tool that a test can replace."
        )
    try:
        events = [Event.model_validate(one) for one in session.get("events") or ()]
    except (ValidationError, TypeError) as error:
        raise InputValidationError(f"{file}: an event is not valid: {error}") from error
    if not events or events[0].author != "user" or not events[0].content:
        raise InputValidationError(f"{file}: the first event has to be a message of the user.")
    return session, events


async def run_session_file(agent: Any, file: Path) -> SessionTestResult:
    """Run the messages of a file with recorded answers of the models, and compare the events.

    Tools run.

    Args:
      agent: the root agent, or an App with its plugins.
      file: the file.

    Raises:
      InputValidationError: the file is not valid.
    """
    document, recorded = read_session_file(file)
    answers = RecordedAnswers(recorded)
    try:
        session = await send_messages(agent, document, recorded, answers)
        problem = compare_events(session.events, recorded)
        if answers.count_left():
            problem.append(f"{answers.count_left()} recorded answers of models were not asked for.")
    except BaseException as raised:  # boundary: the agent's code may raise anything
        error = as_code_error(raised, "The agent's code")
        problem = [describe_failure(error)]
    is_expected = file.stem.endswith(_EXPECTED_TO_FAIL)
    if is_expected and not problem:
        return SessionTestResult(file, False, ["It is expected to fail, and passes."])
    return SessionTestResult(file, is_expected or not problem, [] if is_expected else problem)


def rebuild_session_file(agent: Any, file: Path) -> None:
    """Run the messages of a file with the agent's models, and write the events into it.

    Args:
      agent: the root agent, or an App.
      file: the file.

    Raises:
      InputValidationError: the file is not valid, or cannot be written.
      Exception: what the agent raised; the file is unchanged then.
    """
    document, recorded = read_session_file(file)
    try:
        session = asyncio.run(send_messages(agent, document, recorded))
    except BaseException as raised:  # boundary: the agent's code may raise anything
        raise as_code_error(raised, "The agent's code") from raised.__cause__
    events = [
        one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in session.events
    ]
    text = json.dumps({**document, "events": events}, indent=2, ensure_ascii=False)
    try:
        replace_file(file, f"{text}\n")
    except OSError as error:
        raise InputValidationError(f"{file} cannot be written: {error.strerror}.") from error


async def send_messages(
    agent: Any,
    document: dict[str, Any],
    recorded: list[Event],
    answers: RecordedAnswers | None = None,
) -> Session:
    """Send the recorded messages of the user to an agent; return the session at the end.

    A turn that failed when it was recorded may fail; its last event tells how.

    Args:
      agent: the root agent, or an App.
      document: the content of the file. What its `state` holds and no event sets is the state
        with which the session begins.
      recorded: the recorded events.
      answers: answers in place of the models, after the plugins of the App.

    Raises:
      InputValidationError: an answer of the user has no call to go to.
      Exception: what the agent raised in a turn that did not fail when it was recorded.
    """
    runner = _make_runner(agent, [] if answers is None else [answers])
    names: dict[str, Any] = {"app_name": runner.app_name, "user_id": _USER}
    session = await runner.session_service.create_session(
        state=_read_initial_state(document, recorded), **names
    )
    keys, came, used = list_answer_keys(recorded), list[Event](), set[str]()
    for number, message in enumerate(recorded):
        if message.author != "user" or message.node_info.path or message.content is None:
            continue
        if answers is not None:
            answers.message = number
        waiting: dict[str, list[str]] = {}
        for call_id, key in list_answer_keys(came).items():
            if call_id not in used:
                waiting.setdefault(key, []).append(call_id)
        content = readdress_answers(message.content, keys, waiting)
        if content is None:
            raise InputValidationError("The agent did not make a call that the user answered.")
        answered = [part.function_response for part in content.parts or ()]
        used |= {one.id or "" for one in answered if one is not None}
        stream = runner.run_async(
            user_id=_USER,
            session_id=session.id,
            new_message=content,
            state_delta=dict(message.actions.state_delta) or None,
        )
        try:
            async with Aclosing(stream) as events:
                async for event in events:
                    came.append(event)
        except Exception:  # boundary: the agent's code
            if not _has_failed(recorded[number + 1 :]):
                raise
    found = await runner.session_service.get_session(session_id=session.id, **names)
    return found or session


def _make_runner(agent: Any, plugins: list[BasePlugin]) -> Runner:
    services: dict[str, Any] = {
        "session_service": InMemorySessionService(),
        "artifact_service": InMemoryArtifactService(),
        "memory_service": InMemoryMemoryService(),
    }
    if isinstance(agent, App):
        app = agent.model_copy(update={"plugins": [*agent.plugins, *plugins]})
        return Runner(app=app, **services)
    return Runner(app_name="test_app", agent=agent, plugins=plugins, **services)


def _read_initial_state(document: dict[str, Any], recorded: list[Event]) -> dict[str, Any]:
    state: Any = document.get("state")
    given = cast(dict[str, Any], state) if isinstance(state, dict) else {}
    changed = {key for event in recorded for key in event.actions.state_delta}
    return {key: value for key, value in given.items() if key not in changed}


def _has_failed(recorded: list[Event]) -> bool:
    """Return whether a turn ended with an error.

    Args:
      recorded: the events after its message.
    """
    turn = [*takewhile(lambda event: event.author != "user", recorded)]
    return bool(turn) and turn[-1].error_code is not None

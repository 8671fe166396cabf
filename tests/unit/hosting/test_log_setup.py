"""The log of our processes: lines for people and for programs, with the ids of run and request."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest

from ostinato._log import CURRENT, CURRENT_REQUEST, OutageLog, RunLabel, get_logger
from ostinato.errors import StoreError
from ostinato.hosting.log_setup import log_to_stderr

logger = get_logger("ostinato.test")


def log_all() -> None:
    run = CURRENT.set(RunLabel(("desk", "ann lee", "s1"), "e-1"))
    request = CURRENT_REQUEST.set("r1")
    logger.info("began with postgresql://ann:geheim@host/db", extra={"fields": {"ms": 1.5}})
    CURRENT.reset(run)
    CURRENT_REQUEST.reset(request)
    logging.getLogger("other.library").warning("hm")
    logging.getLogger("other.library").info("not told")
    logger.debug("not told")
    try:
        raise ValueError("postgresql://ann:geheim@host/db")
    except ValueError:
        logger.exception("failed")


def test_a_line_has_time_level_message_and_ids(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to_stderr("info", "text"):
        log_all()
    text = capsys.readouterr().err
    lines = text.splitlines()
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"
    assert re.fullmatch(
        time + r" INFO    began with postgresql://ann:\*\*\*@host/db  "
        r'app=desk user="ann lee" session=s1 invocation=e-1 request=r1',
        lines[0],
    )
    assert re.fullmatch(time + " WARNING hm", lines[1])
    assert re.fullmatch(time + " ERROR   failed", lines[2])
    assert lines[-1] == "ValueError: postgresql://ann:***@host/db"
    assert "not told" not in text


def test_json_has_one_object_per_record(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to_stderr("info", "json"):
        log_all()
    text = capsys.readouterr().err
    assert "geheim" not in text
    first, second, third = (json.loads(line) for line in text.splitlines())
    wanted: dict[str, Any] = {
        "level": "INFO",
        "logger": "ostinato.test",
        "app_name": "desk",
        "user_id": "ann lee",
        "session_id": "s1",
        "invocation_id": "e-1",
        "request_id": "r1",
        "ms": 1.5,
    }
    assert wanted.items() <= first.items()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}\+00:00", first["time"])
    assert (second["logger"], second["session_id"]) == ("other.library", None)
    assert third["exception"].startswith("Traceback")


def test_the_level_decides_and_nothing_is_left_behind(capsys: pytest.CaptureFixture[str]) -> None:
    handlers = list(logging.getLogger().handlers)
    with log_to_stderr("error", "text"):
        log_all()
    text = capsys.readouterr().err
    assert " ERROR   failed" in text and "began" not in text
    assert logging.getLogger().handlers == handlers
    assert logging.getLogger("ostinato").level == logging.NOTSET


def test_an_outage_is_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    outage = OutageLog()
    outage.note_answer()
    with caplog.at_level("INFO", "ostinato"):
        for _ in range(50):
            outage.note_failure(StoreError("The session store 'agents' cannot be reached."))
        outage.note_answer()
        outage.note_answer()
    assert len(caplog.messages) == 2
    assert caplog.messages[0].startswith("The session store 'agents' cannot be reached.")
    assert "50 operation(s) failed" in caplog.messages[1]
    assert outage.failures == 50


def test_a_store_that_fails_and_answers_in_turns_is_not_logged_each_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("ostinato._log.time.monotonic", lambda: now)
    outage = OutageLog()
    with caplog.at_level("INFO", "ostinato"):
        for _ in range(20):
            outage.note_failure(StoreError("The disk is full."))
            outage.note_answer()
        assert len(caplog.messages) == 2
        now += 11.0
        outage.note_failure(StoreError("The disk is full."))
    assert len(caplog.messages) == 3


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_left_out_of_messages_and_tracebacks(
    form: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = (
        "hunter2-password",
        "Bearer abcdefghijk0123",
        "sk-proj-abcdefghijklmnop0123",
        "AKIAIOSFODNN7EXAMPLE",
        "postgresql://ann:geheim@host/db",
    )
    text = " ".join(secrets).replace("hunter2-password", "password=hunter2-password")
    with log_to_stderr("info", form):
        logger.warning("It failed: %s", text)
        try:
            raise ValueError(text)
        except ValueError:
            logger.exception("failed")
    written = capsys.readouterr().err
    assert written.count("It failed") == 1
    for secret in ("hunter2", "abcdefghijk0123", "sk-proj", "AKIA", "geheim"):
        assert secret not in written


def test_a_long_text_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    with log_to_stderr("info", "text"):
        logger.warning("begin %s end", "a " * 100_000)
    written = capsys.readouterr().err
    assert len(written) < 33_000
    assert "begin" in written
    assert " characters left out ... " in written
    assert "end" in written

"""Each error names the command that explains it."""

from __future__ import annotations

import pytest

from ostinato.cli.main import main
from ostinato.errors import AgentFileNotFoundError, SessionBusyError, TemplateError


class OwnError(SessionBusyError):
    """An error of a program."""


@pytest.mark.parametrize("kind", [SessionBusyError, TemplateError, AgentFileNotFoundError])
def test_the_command_names_the_class(kind: type[SessionBusyError]) -> None:
    assert kind("x").help_command == f"ostinato docs {kind.__name__}"


def test_a_subclass_names_the_class_that_is_documented() -> None:
    assert OwnError("x").help_command == "ostinato docs SessionBusyError"


def test_the_command_line_ends_an_error_with_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(args: object) -> int:
        raise SessionBusyError("Wait.")

    monkeypatch.setattr("ostinato.cli.docs.main", fail)
    assert main(["docs"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "error: SessionBusyError: Wait.",
        "Explained by: ostinato docs SessionBusyError",
    ]

"""The traceback of an error ends with the command that explains it."""

from __future__ import annotations

import copy
import pickle
import traceback

from ostinato.errors import AgentFileNotFoundError, SessionBusyError, TemplateError

HELP = "Explained by: ostinato docs SessionBusyError"


class OwnError(SessionBusyError):
    """An error of a program."""


def test_a_traceback_ends_with_the_command() -> None:
    shown = "".join(traceback.format_exception_only(SessionBusyError("Wait.")))
    assert shown == f"ostinato.errors.SessionBusyError: Wait.\n{HELP}\n"
    assert str(SessionBusyError("Wait.")) == "Wait."


def test_errors_that_are_errors_of_python_too_have_it() -> None:
    assert TemplateError("x").__notes__ == ["Explained by: ostinato docs TemplateError"]
    missing = AgentFileNotFoundError("x", file="a.yaml")
    assert missing.__notes__ == ["Explained by: ostinato docs AgentFileNotFoundError"]


def test_a_subclass_names_the_class_that_is_documented() -> None:
    assert OwnError("x").help_command == "ostinato docs SessionBusyError"


def test_a_copy_has_it_once() -> None:
    error = SessionBusyError("Wait.")
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert same.__notes__ == [HELP]

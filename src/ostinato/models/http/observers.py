"""Observers of answers: traces and the command line learn each answer's status and request id."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class ObservedAnswer(Protocol):
    """An answer whose headers are there."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def request_id(self) -> str:
        """The provider's id of the request; empty if it names none."""
        ...


#: Is called with each answer as soon as its headers are there.
AnswerObserver = Callable[[ObservedAnswer], None]

_observer: ContextVar[AnswerObserver | None] = ContextVar("answer_observer", default=None)


def set_answer_observer(observer: AnswerObserver | None) -> None:
    """Set the observer of this context; None removes it."""
    _observer.set(observer)


@contextmanager
def observe_answers(observer: AnswerObserver) -> Generator[None, None, None]:
    """Call an observer with each answer that arrives in this context."""
    earlier = _observer.get()
    _observer.set(observer)
    try:
        yield
    finally:
        _observer.set(earlier)


def notify_observer(answer: ObservedAnswer) -> None:
    """Call the observer of this context, if there is one."""
    observer = _observer.get()
    if observer is not None:
        observer(answer)

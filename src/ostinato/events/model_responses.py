"""Recognition of the events that are responses of models, for counts of model calls."""

from __future__ import annotations

from .event import Event
from .pending import CONFIRMATION, CREDENTIAL
from .request_input import REQUEST_INPUT

_QUESTIONS = (CONFIRMATION, CREDENTIAL, REQUEST_INPUT)


class ModelResponseFilter:
    """Finds the complete responses of models among the events of a run, given in their order.

    Some events have the role of a model though no model was called: the framework's requests to a
    person, the results of executed code, and the text that repeats the arguments of
    `set_model_response`.
    """

    __slots__ = ("_structured",)

    def __init__(self) -> None:
        self._structured: set[tuple[str, str | None]] = set()

    def is_response(self, event: Event) -> bool:
        """Return whether an event is the complete response of a model."""
        source = event.author, event.branch
        if event.actions.set_model_response is not None:
            self._structured.add(source)
        content = event.content
        if event.partial or content is None or content.role != "model":
            return False
        if source in self._structured:
            self._structured.discard(source)
            return False
        if event.has_trailing_code_execution_result():
            return False
        return not any(call.name in _QUESTIONS for call in event.get_function_calls())

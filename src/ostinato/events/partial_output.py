"""PartialOutput: structured output while it streams, read from the events of a run."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json

from .. import types
from ..models.llm_response import RESTARTED
from .event import Event


class PartialOutput:
    """Turns the pieces of a JSON answer into what they say so far.

    Reading the pieces costs the length of the text at each one, so feed it only where the parts are
    shown.

    Args:
      schema: the agent's output schema: a type such as a pydantic model; a JSON schema or a
        `types.Schema` leaves the answer as JSON values.

    Attributes:
      value: the whole answer, validated; None until it is complete.
    """

    def __init__(self, schema: Any) -> None:
        plain = isinstance(schema, dict | types.Schema)
        self._adapter: TypeAdapter[Any] = TypeAdapter(Any) if plain else TypeAdapter(schema)
        self._texts: dict[tuple[str, str | None], str] = {}
        self.value: Any = None

    def feed(self, event: Event) -> Any:
        """Take the next event of the run.

        Returns:
          After a partial event, the JSON values so far (a dict that lacks fields which have not
          come yet, and whose last text may be cut); after the whole response, the validated object;
          None if the event holds no output.

        Raises:
          pydantic.ValidationError: the whole response does not fit the schema. A run hands such
            output back to its model and marks it, and what is marked is passed over.
        """
        author = (event.author, event.branch)
        parts = (event.content.parts if event.content is not None else None) or ()
        text = "".join(part.text for part in parts if part.text and not part.thought)
        if event.partial:
            if event.custom_metadata and RESTARTED in event.custom_metadata:
                self._texts.pop(author, None)
                return None
            if not text:
                return None
            text = self._texts[author] = self._texts.get(author, "") + text
            return _read_partial_json(text)
        self._texts.pop(author, None)
        is_answer = event.author != "user" and event.is_final_response() and not event.error_code
        if not is_answer or not text.strip():
            return None
        self.value = self._adapter.validate_json(text)
        return self.value


def _read_partial_json(text: str) -> Any:
    """Return the value of an incomplete JSON text, or None if it has none yet."""
    try:
        return from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return None

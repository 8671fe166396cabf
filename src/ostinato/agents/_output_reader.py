"""OutputReader: reads an agent's final text as its output schema says."""

import json
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .. import types


class OutputReader:
    """Reads final texts of one agent.

    Args:
      schema: the output schema: a type, a dict or a Schema.
      agent_name: the agent, for errors.

    Attributes:
      schema: the output schema.
    """

    __slots__ = ("_adapter", "_agent_name", "schema")

    def __init__(self, schema: Any, agent_name: str) -> None:
        self.schema = schema
        self._agent_name = agent_name
        self._adapter: TypeAdapter[Any] | None = None
        if not isinstance(schema, dict | types.Schema):
            self._adapter = TypeAdapter(schema)

    def read(self, text: str) -> Any:
        """Return a text as JSON values.

        Raises:
          ValueError: it does not fit; pydantic's ValidationError, where the schema is a type.
        """
        if self._adapter is None:
            return json.loads(text)
        try:
            value = self._adapter.validate_json(text)
        except ValidationError as error:
            error.add_note(
                f"the final output of agent {self._agent_name!r} does not fit its output_schema"
            )
            raise
        return self._adapter.dump_python(value, exclude_none=True)

"""FinishTaskTool: ends the task of an agent of mode `task` and gives its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from .. import types
from ..models.llm_request import LlmRequest
from ..sessions.log.event_log import FINISH_TASK
from ._schema import given_json_schema
from .base_tool import BaseTool
from .model_mistake import ModelMistake, missing_arguments, read_reasons, wrong_arguments

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

_DESCRIPTION = "Say that the task you were given is done, and give its result."
_INSTRUCTION = (
    "You work on a task that another agent gave you. Do all of it with the tools you have; where "
    "something is unclear, ask the user and wait for the answer. When the task is done, and not "
    f"before, call `{FINISH_TASK}` by itself and say nothing with it."
)
FINISH_TASK_TOOL_NAME = FINISH_TASK
FINISH_TASK_SUCCESS_RESULT = "Task completed."
_KEY = "result"


class FinishTaskTool(BaseTool):
    """Ends a task with an output (Spec 4 §1, FEATURES row 70).

    The fields of a pydantic model are the tool's parameters; any other schema, and none, has the
    one parameter `result`.

    Args:
      output_schema: the agent's output schema; text where it is None.
    """

    keeps_result = True
    repeatable = True

    def __init__(self, output_schema: Any = None) -> None:
        super().__init__(name=FINISH_TASK, description=_DESCRIPTION)
        self.output_schema = output_schema
        self._json_schema = given_json_schema(output_schema)
        self._is_model = _is_model(output_schema)
        accepted: Any = Any if self._json_schema is not None else output_schema
        self._adapter: TypeAdapter[Any] = TypeAdapter(str if output_schema is None else accepted)
        self._declaration: types.FunctionDeclaration | None = None

    def _get_declaration(self) -> types.FunctionDeclaration:
        if self._declaration is None:
            self._declaration = types.FunctionDeclaration(
                name=self.name,
                description=self.description,
                parameters_json_schema=self._parameters(),
            )
        return self._declaration

    def _parameters(self) -> dict[str, Any]:
        given = dict(self._json_schema or self._adapter.json_schema())
        if self._is_model:
            given.pop("description", None)
            return given
        schema: dict[str, Any] = {"type": "object"}
        # References in the given schema are written from its root, which is now this one.
        if "$defs" in given:
            schema["$defs"] = given.pop("$defs")
        return {**schema, "properties": {_KEY: given}, "required": [_KEY]}

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Check the output.

        Returns:
          That the task is done; or a dict with `error` where the output does not fit the schema.
        """
        output = self.output_of(args)
        return (
            output if isinstance(output, ModelMistake) else {"result": FINISH_TASK_SUCCESS_RESULT}
        )

    def output_of(self, args: dict[str, Any]) -> Any:
        """Return the output of a call as JSON values, or a ModelMistake if it does not fit."""
        if not self._is_model and _KEY not in args:
            return missing_arguments(self.name, (_KEY,))
        try:
            output = self._adapter.validate_python(args if self._is_model else args[_KEY])
        except ValidationError as error:
            return wrong_arguments(self.name, read_reasons(error))
        plain = self._adapter.dump_python(output, mode="json")
        return {_KEY: plain} if self.output_schema is None else plain

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool, and when to call it."""
        llm_request.append_tools([self])
        llm_request.append_instructions([_INSTRUCTION])


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)

"""set_model_response: the final answer as a tool call, for models that cannot have both tools and
an output schema. The flow's output-schema processor adds it and turns the answer into an event.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from .. import types
from ._schema import given_json_schema, parameters_schema
from .base_tool import BaseTool
from .function.function_signature import EMPTY, Parameter
from .model_mistake import ModelMistake, missing_arguments, read_reasons

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

NAME = "set_model_response"
_DESCRIPTION = (
    "Give your final answer in the form that is asked for.\n\n"
    "When you have what you need, call this instead of answering in text."
)


class SetModelResponseTool(BaseTool):
    """Takes the final answer in the form of an output schema (Spec 2 §6.3, FEATURES row 127).

    The fields of a pydantic model are the tool's parameters; `list[Model]` has the one parameter
    `items`, and any other schema the one parameter `response`.

    Args:
      output_schema: pydantic model, type such as `list[Model]` or `dict[str, int]`, JSON schema as
        a dict, or a `types.Schema`.
    """

    keeps_result = True
    repeatable = True

    def __init__(self, output_schema: Any) -> None:
        super().__init__(name=NAME, description=_DESCRIPTION)
        self.output_schema = output_schema
        self._json_schema = given_json_schema(output_schema)
        self._is_model = isinstance(output_schema, type) and _is_model(output_schema)
        accepted = dict[str, Any] if self._json_schema is not None else output_schema
        key = "items" if _is_list_of_models(output_schema) else "response"
        self._answer = Parameter(NAME, key, accepted, EMPTY, inject_default=False)
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
        if self._is_model:
            schema = self._answer.adapter.json_schema()
            schema.pop("description", None)
            return {**schema, "title": f"{NAME}Params"}
        schema = parameters_schema(NAME, [self._answer])
        if self._json_schema is not None:
            given = dict(self._json_schema)
            # References in the given schema are written from its root, which is now this one.
            if "$defs" in given:
                schema["$defs"] = given.pop("$defs")
            schema["properties"][self._answer.name] = given
        return schema

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Check the answer and set it as the run's final one, in `actions.set_model_response`.

        Returns:
          The answer as JSON values; or a dict with `error` where it does not fit the schema.
        """
        key = self._answer.name
        if not self._is_model and key not in args:
            return missing_arguments(self.name, (key,))
        adapter: TypeAdapter[Any] = self._answer.adapter
        try:
            answer = adapter.validate_python(args if self._is_model else args[key])
        except ValidationError as error:
            return ModelMistake(
                error=f"`{NAME}()` was not accepted, as the answer does not fit its schema:\n"
                + "\n".join(read_reasons(error))
                + f"\nCall {NAME} again with every required field, each of its declared type."
            )
        plain = adapter.dump_python(answer, mode="json", exclude_none=True)
        tool_context.actions.set_model_response = plain
        return plain


def _is_model(schema: type[Any]) -> bool:
    return not typing.get_args(schema) and issubclass(schema, BaseModel)


def _is_list_of_models(schema: Any) -> bool:
    arguments = typing.get_args(schema)
    return (
        typing.get_origin(schema) is list
        and isinstance(arguments[0], type)
        and _is_model(arguments[0])
    )

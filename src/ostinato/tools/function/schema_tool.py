"""SchemaTool: a function tool whose parameters a schema describes, instead of the signature.

The wrappers of other libraries' tools derive from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError

from ... import types
from ...errors import AgentConfigError
from .._schema import declaration_of
from ..base_tool import BaseTool
from ..function_tool import FunctionTool
from ..json_fit import fit_schema
from ..model_mistake import describe_mismatch, wrong_arguments
from .function_signature import (
    CONTEXT_PARAMETER,
    EMPTY,
    Parameter,
    Signature,
    find_reading,
    read_model,
    read_record,
    target_of,
)

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

#: A pydantic model, or a JSON schema of an object.
ArgumentsSchema = type[BaseModel] | dict[str, Any]


class SchemaTool(FunctionTool):
    """A function that is called with the arguments of a schema (FEATURES row 141).

    The function gets only arguments that the schema has. If it has a parameter `tool_context`, it
    gets the context.

    Args:
      func: the function, plain or async.
      name: what the model calls it by.
      description: what the model is told about it.
      schema: of the arguments, which are checked and converted by it. If
        None, the function's signature describes them, as for a FunctionTool.
      injected: parameters that the model is not told of.

    Raises:
      AgentConfigError: `schema` does not describe an object, or the runtime reserves the name.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        name: str,
        description: str,
        schema: ArgumentsSchema | None,
        injected: Collection[str] = (),
    ) -> None:
        super().__init__(func)
        # Again for the name, which may be one that the runtime reserves.
        BaseTool.__init__(self, name=name, description=description)
        self._model = None if isinstance(schema, dict) else schema
        self._schema = None if schema is None else describe_arguments(schema, name)
        self._injected = injected

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Call the function with the model's arguments.

        Returns:
          What the function returned; or a dict with `error` if an argument is missing or does not
          fit the schema.
        """
        if self._model is None:
            if self._schema is not None:
                args, complaints = _fit_arguments(self.pick_known(args), self._schema)
                if complaints:
                    return wrong_arguments(self.name, complaints)
            return await super().run_async(args=args, tool_context=tool_context)
        given = self.pick_known(args)
        try:
            record = read_model(self._model, given, find_reading(self))
        except ValidationError as error:
            missing = [one for one in error.errors() if one["type"] == "missing"]
            if len(missing) == len(error.errors()) and all(len(one["loc"]) == 1 for one in missing):
                return await super().run_async(args=given, tool_context=tool_context)
            complaint = describe_mismatch("args", self._model.__name__, given, error)
            return wrong_arguments(self.name, [complaint])
        return await super().run_async(
            args={
                field.alias or name: getattr(record, name)
                for name, field in self._model.model_fields.items()
            },
            tool_context=tool_context,
        )

    @property
    def ignores_unknown(self) -> bool:
        """Whether unknown names within arguments are dropped: a JSON schema drops none."""
        return self._schema is None or self._model is not None

    def read_arguments(self, args: Mapping[str, Any], names: Collection[str]) -> Any:
        """Return the record that the model makes of the arguments; see `BaseTool`."""
        if self._model is None:
            return super().read_arguments(args, names)
        return read_record(self._model, self.pick_known(args), find_reading(self))

    def _read_signature(self) -> Signature:
        if self._signature is None:
            if self._schema is None:
                signature = Signature(self.func, self.name)
            else:
                signature = Signature(_take_nothing, self.name)
                required = self._schema.get("required", ())
                signature.parameters = [
                    Parameter(self.name, name, Any, EMPTY if name in required else None, False)
                    for name in self._schema["properties"]
                ]
                if CONTEXT_PARAMETER in _read_parameters(self.func):
                    signature.context_name = CONTEXT_PARAMETER
            signature.parameters = [
                one for one in signature.parameters if one.name not in self._injected
            ]
            self._signature = signature
        return self._signature

    def pick_known(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return those arguments that the schema has."""
        known = {parameter.name for parameter in self._read_signature().parameters}
        return {name: value for name, value in args.items() if name in known}

    def _declare(self) -> types.FunctionDeclaration:
        if self._schema is None:
            return declaration_of(self.name, self.description, self._read_signature())
        declaration = types.FunctionDeclaration(
            name=self.name, description=self.description or None
        )
        if self._schema["properties"]:
            declaration.parameters_json_schema = self._schema
        return declaration


def describe_arguments(schema: ArgumentsSchema, tool: str) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, without the parameter of the context.

    Args:
      schema: a pydantic model or a JSON schema.
      tool: the tool's name, for errors.

    Raises:
      AgentConfigError: `schema` does not describe an object.
    """
    found: Any = schema
    if not isinstance(found, dict):
        describe = getattr(found, "model_json_schema", None)
        found = describe() if callable(describe) else None
    if not isinstance(found, dict) or not isinstance(
        cast("dict[str, Any]", found).get("properties", {}), dict
    ):
        raise AgentConfigError(
            f"Tool {tool!r}: its arguments' schema {schema!r} is neither a pydantic model nor the "
            "JSON schema of an object."
        )
    whole = cast("dict[str, Any]", found)
    properties = {
        name: value
        for name, value in whole.get("properties", {}).items()
        if name != CONTEXT_PARAMETER
    }
    required = [name for name in whole.get("required", ()) if name in properties]
    described = {**whole, "type": "object", "properties": properties, "required": required}
    return {name: value for name, value in described.items() if name != "required" or value}


def _fit_arguments(
    args: dict[str, Any], schema: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return arguments in the form that a JSON schema asks for, and what does not fit it."""
    fitted: dict[str, Any] = {}
    complaints: list[str] = []
    shared = {"$defs": schema.get("$defs", {})}
    for name, value in args.items():
        wanted: Any = schema["properties"].get(name)
        fitted[name] = value
        # None stands for an argument that is not given.
        if not isinstance(wanted, dict) or (
            value is None and name not in schema.get("required", ())
        ):
            continue
        try:
            fitted[name] = fit_schema(value, cast("dict[str, Any]", wanted) | shared, name)
        except ValueError as error:
            complaints.append(str(error))
    return fitted, complaints


def _read_parameters(func: Callable[..., Any]) -> frozenset[str]:
    """Return the names of a function's parameters; none if it does not have a signature."""
    try:
        return frozenset(inspect.signature(target_of(func)).parameters)
    except (TypeError, ValueError):
        return frozenset()


def _take_nothing() -> None:
    """Stand for the function whose parameters the schema gives."""

"""Function declarations: what a model is told of a function's parameters, as JSON schema.

FunctionTool and the tools built on it call `declaration_of`, once each.
"""

from __future__ import annotations

from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from .. import types
from .function.function_signature import EMPTY, Parameter, Signature

_REFERENCE = "#/$defs/{model}"


def declaration_of(name: str, description: str, signature: Signature) -> types.FunctionDeclaration:
    """Return the declaration of a function (Spec 1 §10).

    Args:
      name: the tool's name.
      description: the tool's description.
      signature: the function's parameters.

    Returns:
      A record with `parameters_json_schema`; without it where there are no parameters.
    """
    declaration = types.FunctionDeclaration(name=name, description=description or None)
    if signature.parameters:
        declaration.parameters_json_schema = parameters_schema(name, signature.parameters)
    return declaration


def parameters_schema(name: str, parameters: list[Parameter]) -> dict[str, Any]:
    """Return the JSON schema of an object with one property for each parameter."""
    schemas, shared = TypeAdapter.json_schemas(
        [(parameter.name, "validation", parameter.adapter) for parameter in parameters],
        ref_template=_REFERENCE,
    )
    schema: dict[str, Any] = {
        "properties": {p.name: _property(p, schemas[p.name, "validation"]) for p in parameters},
        "title": f"{name}Params",
        "type": "object",
    }
    required = [parameter.name for parameter in parameters if parameter.default is EMPTY]
    if required:
        schema["required"] = required
    if "$defs" in shared:
        schema["$defs"] = shared["$defs"]
    return schema


def given_json_schema(schema: Any) -> dict[str, Any] | None:
    """Return a schema that is given as JSON schema or as a Schema, or None if it is a type."""
    if isinstance(schema, types.Schema):
        return schema.json_schema.to_json_values()
    return cast("dict[str, Any]", schema) if isinstance(schema, dict) else None


def _property(parameter: Parameter, schema: dict[str, Any]) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    # What is a definition of its own carries its own title.
    if "$ref" not in schema and "title" not in schema:
        extra["title"] = parameter.name.title().replace("_", " ").strip()
    if parameter.default is not EMPTY:
        try:
            extra["default"] = parameter.adapter.dump_python(
                parameter.default, mode="json", warnings=False
            )
        except PydanticSerializationError:
            # The model need not know a default that JSON cannot say.
            extra.pop("default", None)
    return {**schema, **extra}

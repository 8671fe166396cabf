"""JSON schemas for requests: of parameters, of the wanted output, and in OpenAI's strict form."""

from __future__ import annotations

import copy
import re
from typing import Any, cast

from pydantic import TypeAdapter

from ... import types
from .reading import fields_of

# What OpenAI's strict mode cannot check; a schema with one of these is sent without it.
_NOT_STRICT = frozenset(
    "oneOf allOf not if then else patternProperties propertyNames dependentRequired "
    "dependentSchemas unevaluatedProperties minProperties maxProperties prefixItems contains "
    "uniqueItems".split()
)


def json_schema_of(schema: Any) -> dict[str, Any]:
    """Return a schema as JSON schema.

    Args:
      schema: a Schema, a dict in either dialect, or a type that pydantic knows.
    """
    if isinstance(schema, types.Schema):
        return schema.json_schema.to_json_values()
    if isinstance(schema, dict):
        fields = cast(dict[str, Any], schema)
        kind = fields.get("type")
        if isinstance(kind, str) and kind.isupper():  # the OpenAPI dialect of Gemini
            return json_schema_of(types.Schema.model_validate(fields))
        return fields
    return TypeAdapter(schema).json_schema()


def parameters_of(declaration: types.FunctionDeclaration) -> dict[str, Any]:
    """Return a function's parameters as JSON schema; an empty object where it has none."""
    given = declaration.parameters_json_schema
    if given is None:
        given = declaration.parameters
    schema = json_schema_of(given) if given is not None else {}
    if schema.get("type") != "object":
        return {"type": "object", "properties": {}, **schema}
    return schema if "properties" in schema else {**schema, "properties": {}}


def output_schema_of(config: types.GenerateContentConfig) -> dict[str, Any] | None:
    """Return the output schema, or None if the request has none."""
    if config.response_json_schema is not None:
        return json_schema_of(config.response_json_schema)
    schema = cast(Any, config.response_schema)
    return json_schema_of(schema) if schema is not None else None


def schema_name(schema: dict[str, Any]) -> str:
    """Return a name for a schema, in letters that OpenAI takes."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", str(schema.get("title") or ""))
    return name[:64] or "response"


def strict_form(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return a schema as OpenAI's strict mode wants it: closed objects, all properties required.

    An answer that follows it follows the given one, too.

    Returns:
      The schema, or None if strict mode cannot express it: open objects, alternatives other
      than anyOf.
    """
    form = copy.deepcopy(schema)
    return form if _close(form) else None


def _close(node: Any) -> bool:
    """Edit a schema into the strict form; return whether that can be done."""
    if isinstance(node, list):
        return all([_close(item) for item in cast(list[Any], node)])
    if not isinstance(node, dict):
        return not isinstance(node, bool)
    fields = cast(dict[str, Any], node)
    if _NOT_STRICT & fields.keys():
        return False
    fields.pop("default", None)
    if fields.get("type") == "object" or "properties" in fields:
        properties = fields_of(fields.get("properties"))
        if fields.get("additionalProperties") or not properties:
            return False
        fields["additionalProperties"] = False
        fields["required"] = list(properties)
    inner = [
        *fields_of(fields.get("properties")).values(),
        *fields_of(fields.get("$defs")).values(),
    ]
    inner += [fields[name] for name in ("items", "anyOf") if name in fields]
    return all([_close(one) for one in inner])

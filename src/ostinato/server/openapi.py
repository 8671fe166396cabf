"""The OpenAPI document, built from the same table as the routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from ..version import __version__
from .endpoint import Empty, Endpoint

_PARTS = ("body", "query", "answer")
_REF = "#/components/schemas/{model}"
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_EVERYWHERE = (400, 401, 403, 404, 408, 413, 415, 422, 429, 500, 503, 504)
_WORDS = {
    400: "The request cannot be done as it was asked for",
    401: "The token is missing or wrong",
    403: "Calls from that host or origin are not allowed",
    404: "What was named does not exist",
    408: "The body did not arrive in time",
    409: "It conflicts with what is stored, or with what runs",
    413: "The body is too large",
    415: "The body is not JSON",
    422: "The body or the query does not fit",
    429: "Too many requests",
    500: "The agent's code or the server failed",
    501: "This is not offered here",
    502: "The model's provider failed",
    503: "The app, its model, the store or the server is not available",
    504: "It took too long",
}
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["detail", "error"],
    "properties": {
        "detail": {"description": "A text, or the findings of a validation"},
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
        },
    },
}


def build_document(endpoints: Iterable[Endpoint], prefix: str = "") -> dict[str, Any]:
    """Return the OpenAPI document of endpoints below a path prefix."""
    table = list(endpoints)
    keys, schemas = _build_schemas(table)
    paths: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(table):
        path = prefix + _PARAMETER.sub(r"{\1}", one.path)
        of_one = {part: keys[number, part] for part in _PARTS if (number, part) in keys}
        paths.setdefault(path, {})[one.method.lower()] = _build_operation(one, of_one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Ostinato", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _build_schemas(
    table: list[Endpoint],
) -> tuple[dict[tuple[int, str], dict[str, Any]], dict[str, Any]]:
    """Return the schema of each body, query and answer, and the schemas that they refer to."""
    inputs: list[tuple[tuple[int, str], JsonSchemaMode, TypeAdapter[Any]]] = []
    for number, one in enumerate(table):
        if one.body is not None:
            inputs.append(((number, "body"), "validation", TypeAdapter(one.body)))
        inputs.append(((number, "query"), "validation", TypeAdapter(one.query)))
        inputs.append(((number, "answer"), "serialization", TypeAdapter(one.answer)))
    keyed, definitions = TypeAdapter.json_schemas(
        inputs, ref_template=_REF, schema_generator=GenerateJsonSchema
    )
    found = {key: schema for (key, _), schema in keyed.items()}
    return found, dict(definitions.get("$defs", {}))


def _build_operation(
    one: Endpoint, keys: dict[str, dict[str, Any]], schemas: dict[str, Any]
) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(one.path)
    ]
    if one.query is not Empty:
        query = keys["query"]
        if "$ref" in query:
            query = schemas[query["$ref"].rpartition("/")[2]]
        parameters += [
            {"name": name, "in": "query", "required": False, "schema": schema}
            for name, schema in query.get("properties", {}).items()
        ]
    parameters += [
        {"name": name, "in": "header", "required": False, "schema": {"type": "string"}}
        for name in one.headers
    ]
    operation: dict[str, Any] = {
        "summary": one.summary,
        "operationId": re.sub(r"\W+", "_", f"{one.method.lower()}{one.path}").strip("_"),
        "parameters": parameters,
        "responses": _build_responses(one, keys["answer"]),
    }
    if one.body is not None:
        schema = keys["body"]
        operation["requestBody"] = {
            "required": not one.optional,
            "content": {"application/json": {"schema": schema}},
        }
    if not one.open:
        operation["security"] = [{"token": []}, {}]
    return operation


def _build_responses(one: Endpoint, answer: dict[str, Any]) -> dict[str, Any]:
    schema = answer if one.media == "application/json" else {"type": "string"}
    found: dict[str, Any] = {
        str(one.status): {"description": one.summary, "content": {one.media: {"schema": schema}}}
    }
    for status in sorted({*_EVERYWHERE, *one.problems}):
        found[str(status)] = {
            "description": _WORDS[status],
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    return found

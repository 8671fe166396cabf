"""Small OpenAPI documents for tests."""

from __future__ import annotations

from typing import Any

from ostinato.tools.openapi.parsed_operation import ParsedOperation
from ostinato.tools.openapi.spec_parser import OpenApiSpecParser


def make_document(paths: dict[str, Any], *, version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    """Return a document with these paths; `components` and the like are given by name."""
    return {
        "openapi": version,
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://api.example.com/v1"}],
        "paths": paths,
        **more,
    }


def make_operation(
    method: str = "get", path: str = "/things", *, version: str = "3.1.0", **fields: Any
) -> dict[str, Any]:
    """Return a document with one operation, `do_it`; `components` is the document's."""
    more = {name: fields.pop(name) for name in ("components", "security_all") if name in fields}
    if "security_all" in more:
        more["security"] = more.pop("security_all")
    operation = {"operationId": "doIt", "responses": {}, **fields}
    return make_document({path: {method: operation}}, version=version, **more)


def make_body(schema: Any, *, kind: str = "application/json", **body: Any) -> dict[str, Any]:
    """Return a request body of one media type."""
    return {"content": {kind: {"schema": schema}}, **body}


def parse_one(document: dict[str, Any], **options: Any) -> ParsedOperation:
    """Return the only operation of a document."""
    (parsed,) = OpenApiSpecParser(**options).parse(document)
    return parsed


def schema_of(parsed: ParsedOperation) -> dict[str, Any]:
    """Return the schemas of an operation's arguments, by name."""
    return {str(one.py_name): one.schema_record.raw for one in parsed.parameters}

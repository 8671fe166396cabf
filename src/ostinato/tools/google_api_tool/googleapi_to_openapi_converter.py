"""GoogleApiToOpenApiConverter: discovery documents of Google's APIs as OpenAPI documents."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._log import get_logger
from .discovery_document import DiscoverySource, fetch_document, read_document

_log = get_logger(__name__)

_AUTHORIZATION_URL = "https://accounts.google.com/o/oauth2/auth"
_TOKEN_URL = "https://oauth2.googleapis.com/token"
_VARIABLE = re.compile(r"\{(\+?)([^{}]+)\}")
_RESPONSES = {
    "200": "Successful operation",
    "400": "Bad request",
    "401": "Unauthorized",
    "403": "Forbidden",
    "404": "Not found",
    "500": "Server error",
}
_NO_MEDIA = "This sends and receives JSON only; a file's content cannot be uploaded with it."
_KEPT = ("format", "enum", "pattern", "description", "readOnly", "deprecated")

_Json = dict[str, Any]


class GoogleApiToOpenApiConverter:
    """Converts the discovery document of one API to OpenAPI 3.0.

    Args:
      api_name: the API's name, such as `calendar`.
      api_version: its version, such as `v3`.
      discovery_url: where the document is, in place of Google's addresses; `{api}` and
        `{apiVersion}` are replaced.
      discovery_document: the document itself, as a dict or the path of a JSON file; nothing is
        fetched.
    """

    def __init__(
        self,
        api_name: str,
        api_version: str,
        *,
        discovery_url: str | None = None,
        discovery_document: DiscoverySource | None = None,
    ) -> None:
        self._api_name, self._api_version = api_name, api_version
        self._discovery_url = discovery_url
        self._source = discovery_document
        self._document: Mapping[str, Any] | None = None
        self._openapi: _Json = {}

    def fetch_google_api_spec(self) -> None:
        """Read the discovery document; it blocks.

        Raises:
          AgentConfigError: there is no such API, or the document is not one.
          GoogleApiError: the service cannot be reached or failed.
        """
        if self._source is not None:
            self._document = read_document(self._source)
        else:
            self._document = fetch_document(self._api_name, self._api_version, self._discovery_url)

    def convert(self) -> _Json:
        """Return the OpenAPI document; it blocks where the discovery document is not there yet.

        Raises:
          AgentConfigError, GoogleApiError: as `fetch_google_api_spec`.
        """
        if self._document is None:
            self.fetch_google_api_spec()
        document = self._document or {}
        self._openapi = {
            "openapi": "3.0.0",
            "info": self._convert_info(document),
            "servers": [self._convert_server(document)],
            "paths": self._convert_paths(document),
            "components": {
                "schemas": {
                    name: convert_schema(schema)
                    for name, schema in document.get("schemas", {}).items()
                },
                "securitySchemes": _convert_schemes(document),
            },
            "security": [{"oauth2": list(_read_scopes(document))}, {"apiKey": []}],
        }
        link = document.get("documentationLink")
        if link:
            self._openapi["externalDocs"] = {"description": "API Documentation", "url": link}
        if not _read_scopes(document):
            self._openapi["security"][0] = {}
        return self._openapi

    def save_openapi_spec(self, output_path: str) -> None:
        """Write the OpenAPI document as JSON; `convert` makes it.

        Args:
          output_path: of the file.
        """
        text = json.dumps(self._openapi or self.convert(), indent=2)
        Path(output_path).write_text(text, encoding="utf-8")

    def _convert_info(self, document: Mapping[str, Any]) -> _Json:
        return {
            "title": document.get("title", f"{self._api_name} API"),
            "description": document.get("description", ""),
            "version": document.get("version", self._api_version),
            "contact": {},
            "termsOfService": document.get("documentationLink", ""),
        }

    def _convert_server(self, document: Mapping[str, Any]) -> _Json:
        base = document.get("rootUrl", "") + document.get("servicePath", "")
        described = f"{self._api_name} {self._api_version} API"
        return {"url": base.removesuffix("/"), "description": described}

    def _convert_paths(self, document: Mapping[str, Any]) -> dict[str, _Json]:
        paths: dict[str, _Json] = {}
        for method in _walk_methods(document):
            path, variables = _read_path(method)
            operations = paths.setdefault(path, {})
            name = method.get("httpMethod", "GET").lower()
            if name in operations:
                _log.warning(
                    "API %s: method %s is left out, as %s has the same address.",
                    self._api_name,
                    method.get("id"),
                    operations[name]["operationId"],
                )
                continue
            operations[name] = _convert_operation(method, variables, document.get("schemas", {}))
        return paths


def convert_schema(schema: Mapping[str, Any]) -> _Json:
    """Return a schema of a discovery document, or one of its parameters, as OpenAPI's.

    Args:
      schema: with `type`, `$ref`, `properties`, `items` and so on.
    """
    converted: _Json = {name: schema[name] for name in _KEPT if name in schema}
    kind = schema.get("type")
    if kind is not None and kind != "any":
        converted["type"] = kind
    if "$ref" in schema:
        converted["$ref"] = _convert_reference(schema["$ref"])
    if "items" in schema:
        converted["items"] = convert_schema(schema["items"])
    if "additionalProperties" in schema:
        converted["additionalProperties"] = convert_schema(schema["additionalProperties"])
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    if properties:
        converted["properties"] = {
            name: convert_schema(inner) for name, inner in properties.items()
        }
        required = [name for name, inner in properties.items() if inner.get("required") is True]
        if required:
            converted["required"] = required
    if "default" in schema:
        converted["default"] = _read_value(schema["default"], kind)
    for name in ("minimum", "maximum"):
        if name in schema and kind in ("integer", "number"):
            converted[name] = _read_value(schema[name], kind)
    return converted


def _walk_methods(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the methods of all resources, nested ones after their parent's; then the API's own."""
    for resource in document.get("resources", {}).values():
        yield from resource.get("methods", {}).values()
        yield from _walk_methods({"resources": resource.get("resources", {})})
    yield from document.get("methods", {}).values()


def _read_path(method: Mapping[str, Any]) -> tuple[str, dict[str, bool]]:
    """Return a method's path, and its variables with whether a value may contain slashes.

    A flat path writes a variable that holds slashes as several. It has names without descriptions,
    so the other is taken if both have the same variables.
    """
    path: str = method.get("path") or "/"
    flat: str = method.get("flatPath") or path
    is_same = _VARIABLE.sub("{}", path) == _VARIABLE.sub("{}", flat)
    has_flat = "flatPath" in method
    chosen = path if is_same else flat
    variables = {found[2]: bool(found[1]) and not has_flat for found in _VARIABLE.finditer(chosen)}
    return "/" + _VARIABLE.sub(r"{\2}", chosen).removeprefix("/"), variables


def _convert_operation(
    method: Mapping[str, Any], variables: Mapping[str, bool], schemas: Mapping[str, Any]
) -> _Json:
    described: str = method.get("description", "")
    if method.get("supportsMediaUpload"):
        described = f"{described} {_NO_MEDIA}".strip()
    responses: dict[str, _Json] = {
        status: {"description": text} for status, text in _RESPONSES.items()
    }
    answer = _convert_body(method.get("response"))
    if answer:
        responses["200"]["content"] = answer
    operation: _Json = {
        "operationId": method.get("id", ""),
        "summary": described,
        "description": described,
        "parameters": _convert_parameters(method, variables),
        "responses": responses,
    }
    request: Mapping[str, Any] = method.get("request", {})
    body = _convert_body(request)
    if body and not _is_empty(schemas.get(request["$ref"].removeprefix("#"), {})):
        operation["requestBody"] = {
            "description": "Request body",
            "content": body,
            "required": True,
        }
    scopes: Sequence[str] = method.get("scopes", ())
    if scopes:
        operation["security"] = [{"oauth2": list(scopes)}]
    if method.get("deprecated"):
        operation["deprecated"] = True
    return operation


def _convert_parameters(method: Mapping[str, Any], variables: Mapping[str, bool]) -> list[_Json]:
    given: Mapping[str, Mapping[str, Any]] = method.get("parameters", {})
    parameters: list[_Json] = []
    for name, has_slashes in variables.items():
        about = given.get(name, {"type": "string"})
        parameter = _convert_parameter(name, {**about, "location": "path", "required": True})
        if has_slashes:
            parameter["allowReserved"] = True
        parameters.append(parameter)
    for name, about in given.items():
        # A flat path may write one variable as several; the one is then not part of the address.
        if name not in variables and about.get("location", "query") != "path":
            parameters.append(_convert_parameter(name, about))
    return parameters


def _convert_parameter(name: str, about: Mapping[str, Any]) -> _Json:
    schema = convert_schema({"type": "string", **about})
    parameter: _Json = {
        "name": name,
        "in": about.get("location", "query"),
        "description": schema.pop("description", ""),
        "required": bool(about.get("required", False)),
    }
    if schema.pop("deprecated", False):
        parameter["deprecated"] = True
    if about.get("repeated"):
        schema = {"type": "array", "items": schema}
    return {**parameter, "schema": schema}


def _convert_body(reference: Mapping[str, Any] | None) -> _Json | None:
    if not reference or "$ref" not in reference:
        return None
    return {"application/json": {"schema": {"$ref": _convert_reference(reference["$ref"])}}}


def _is_empty(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema is that of an object without properties, which need not be sent."""
    is_object = schema.get("type") == "object"
    return is_object and not schema.get("properties") and "additionalProperties" not in schema


def _convert_reference(name: str) -> str:
    return f"#/components/schemas/{name.removeprefix('#')}"


def _convert_schemes(document: Mapping[str, Any]) -> _Json:
    schemes: _Json = {}
    scopes = _read_scopes(document)
    if scopes:
        flow = {
            "authorizationUrl": _AUTHORIZATION_URL,
            "tokenUrl": _TOKEN_URL,
            "scopes": scopes,
        }
        schemes["oauth2"] = {
            "type": "oauth2",
            "description": "OAuth 2.0 authentication",
            "flows": {"authorizationCode": flow},
        }
    schemes["apiKey"] = {
        "type": "apiKey",
        "in": "query",
        "name": "key",
        "description": "API key for accessing this API",
    }
    return schemes


def _read_scopes(document: Mapping[str, Any]) -> dict[str, str]:
    scopes: Mapping[str, Mapping[str, Any]] = (
        document.get("auth", {}).get("oauth2", {}).get("scopes", {})
    )
    return {scope: about.get("description", "") for scope, about in scopes.items()}


def _read_value(text: Any, kind: str | None) -> Any:
    """Return a default or limit as a value of its type; discovery documents write all as text."""
    if not isinstance(text, str):
        return text
    try:
        if kind == "integer":
            return int(text)
        if kind == "number":
            return float(text)
    except ValueError:
        return text
    return text == "true" if kind == "boolean" and text in ("true", "false") else text


def main() -> int:
    """Convert an API from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description="Convert the discovery document of a Google API to OpenAPI 3."
    )
    parser.add_argument("api_name", help="name of the API, such as 'calendar'")
    parser.add_argument("api_version", help="version of the API, such as 'v3'")
    parser.add_argument(
        "--output", "-o", default="openapi_spec.json", help="the file that is written"
    )
    given = parser.parse_args()
    converter = GoogleApiToOpenApiConverter(given.api_name, given.api_version)
    converter.convert()
    converter.save_openapi_spec(given.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

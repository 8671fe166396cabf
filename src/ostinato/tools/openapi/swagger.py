"""Swagger 2.0 documents converted to OpenAPI 3.0."""

from __future__ import annotations

from typing import Any, cast

from .spec_record import dict_of, list_of

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_JSON = "application/json"
# Fields of a parameter that is not a body which describe its value.
_SCHEMA_FIELDS = (
    "type format items default maximum exclusiveMaximum minimum exclusiveMinimum maxLength "
    "minLength pattern maxItems minItems uniqueItems enum multipleOf x-nullable"
).split()
_COLLECTIONS: dict[str, dict[str, Any]] = {
    "csv": {"explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "tsv": {"style": "tabDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "multi": {"style": "form", "explode": True},
}
INNER_STYLES = "x-inner-styles"
"""Field of a parameter or an encoding: the styles of lists in its list, the outermost first."""
_INNER = {name: one.get("style", "form") for name, one in _COLLECTIONS.items() if name != "multi"}
_FLOWS = {
    "implicit": "implicit",
    "password": "password",
    "application": "clientCredentials",
    "accessCode": "authorizationCode",
}
_MOVED = (
    ("#/definitions/", "#/components/schemas/"),
    ("#/parameters/", "#/components/parameters/"),
    ("#/responses/", "#/components/responses/"),
    ("#/securityDefinitions/", "#/components/securitySchemes/"),
)


def convert_swagger(document: dict[str, Any]) -> dict[str, Any]:
    """Return a Swagger 2.0 document as OpenAPI 3.0.

    Bodies and form fields become request bodies, `host`, `basePath` and `schemes` servers,
    `collectionFormat` a style.

    Args:
      document: the document; it is not changed.
    """
    return _Conversion(document).convert()


class _Conversion:
    """The conversion of one document.

    Args:
      document: the document.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._parameters = dict_of(document.get("parameters"))

    def convert(self) -> dict[str, Any]:
        """Return the document as OpenAPI 3.0."""
        known = self._document
        kept = {
            name: value
            for name, value in known.items()
            if name in ("info", "security", "tags", "externalDocs") or name.startswith("x-")
        }
        components = {
            "schemas": dict_of(known.get("definitions")),
            "responses": {
                name: self._convert_response(dict_of(response), list_of(known.get("produces")))
                for name, response in dict_of(known.get("responses")).items()
            },
            "parameters": {
                name: self._convert_parameter(dict_of(parameter))
                for name, parameter in self._parameters.items()
                if dict_of(parameter).get("in") not in ("body", "formData")
            },
            "securitySchemes": {
                name: _convert_security(dict_of(scheme))
                for name, scheme in dict_of(known.get("securityDefinitions")).items()
            },
        }
        paths = {
            path: self._convert_path(dict_of(item))
            for path, item in dict_of(known.get("paths")).items()
        }
        converted = {"openapi": "3.0.4", **kept, "paths": paths, "components": components}
        servers = self._convert_servers(list_of(known.get("schemes")))
        moved = _move_references(converted | ({"servers": servers} if servers else {}))
        return cast("dict[str, Any]", moved)

    def _convert_servers(self, schemes: list[Any]) -> list[dict[str, Any]]:
        host, base = (
            str(self._document.get("host") or ""),
            str(self._document.get("basePath") or ""),
        )
        if not host:
            return [{"url": base}] if base else []
        # A secure server first, whatever the order of the document.
        known = [str(one) for one in schemes if one in ("https", "http")] or ["https"]
        ordered = sorted(set(known), key=("https", "http").index)
        return [{"url": f"{scheme}://{host}{base.rstrip('/')}"} for scheme in ordered]

    def _convert_path(self, item: dict[str, Any]) -> dict[str, Any]:
        shared = [self._find_parameter(one) for one in list_of(item.get("parameters"))]
        # A body that operations share has no place in a path of OpenAPI 3.
        bodies = [one for one in shared if one.get("in") in ("body", "formData")]
        converted: dict[str, Any] = {}
        for name, value in item.items():
            if name == "parameters":
                converted[name] = [
                    self._convert_parameter(one) for one in shared if one not in bodies
                ]
            elif name in _METHODS:
                converted[name] = self._convert_operation(dict_of(value), bodies)
            else:
                converted[name] = value
        return converted

    def _convert_operation(
        self, operation: dict[str, Any], shared: list[dict[str, Any]]
    ) -> dict[str, Any]:
        own = [self._find_parameter(one) for one in list_of(operation.get("parameters"))]
        named = {_name_of(one) for one in own}
        has_body = any(one.get("in") == "body" for one in own)
        given = own + [
            one
            for one in shared
            if _name_of(one) not in named and not (has_body and one.get("in") == "body")
        ]
        consumes = list_of(operation.get("consumes", self._document.get("consumes")))
        produces = list_of(operation.get("produces", self._document.get("produces")))
        gone = ("parameters", "consumes", "produces", "schemes", "responses")
        converted = {name: value for name, value in operation.items() if name not in gone}
        if "schemes" in operation:
            servers = self._convert_servers(list_of(operation["schemes"]))
            converted |= {"servers": servers} if servers else {}
        converted["parameters"] = [
            self._convert_parameter(one)
            for one in given
            if one.get("in") not in ("body", "formData")
        ]
        body = next((one for one in given if one.get("in") == "body"), None)
        fields = [one for one in given if one.get("in") == "formData"]
        if body is not None:
            converted["requestBody"] = _convert_body(body, consumes)
        elif fields:
            converted["requestBody"] = _convert_form(fields, consumes)
        converted["responses"] = {
            str(code): self._convert_response(dict_of(response), produces)
            for code, response in dict_of(operation.get("responses")).items()
        }
        return converted

    def _find_parameter(self, parameter: Any) -> dict[str, Any]:
        known = dict_of(parameter)
        reference = str(known.get("$ref", ""))
        if reference.startswith("#/parameters/"):
            name = reference.removeprefix("#/parameters/").replace("~1", "/").replace("~0", "~")
            target = dict_of(self._parameters.get(name))
            if target.get("in") in ("body", "formData"):
                return target
        return known

    def _convert_parameter(self, parameter: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in parameter:
            return parameter
        kept = {
            name: value
            for name, value in parameter.items()
            if name not in (*_SCHEMA_FIELDS, "collectionFormat", "allowEmptyValue")
        }
        kept["schema"] = _schema_of(parameter)
        if parameter.get("type") == "array":
            style = _read_collection(parameter)
            # Commas are what paths and headers have anyway.
            is_comma = "style" not in style or style["style"] == "form"
            kept |= {} if is_comma and parameter.get("in") != "query" else style
            kept |= _read_inner_collections(parameter)
        return kept

    def _convert_response(self, response: dict[str, Any], produces: list[Any]) -> dict[str, Any]:
        kept = {name: one for name, one in response.items() if name not in ("schema", "examples")}
        if "schema" in response:
            kinds = [str(one) for one in produces] or [_JSON]
            kept["content"] = {kind: {"schema": response["schema"]} for kind in kinds}
        return kept


def _name_of(parameter: dict[str, Any]) -> tuple[str, str]:
    return str(parameter.get("name")), str(parameter.get("in"))


def _convert_body(body: dict[str, Any], consumes: list[Any]) -> dict[str, Any]:
    kinds = [str(one) for one in consumes] or [_JSON]
    media = {"schema": body.get("schema", {})}
    kept = {name: body[name] for name in ("description", "required") if name in body}
    return kept | {"content": dict.fromkeys(kinds, media)}


def _convert_form(fields: list[dict[str, Any]], consumes: list[Any]) -> dict[str, Any]:
    has_file = any(one.get("type") == "file" for one in fields)
    forms = ("multipart/form-data", "application/x-www-form-urlencoded")
    named = [str(one) for one in consumes if one in forms]
    kind = forms[0] if has_file else (named or [forms[1]])[0]
    properties: dict[str, Any] = {}
    encoding: dict[str, Any] = {}
    for one in fields:
        name = str(one.get("name", ""))
        properties[name] = _schema_of(one)
        if "description" in one:
            properties[name]["description"] = one["description"]
        if one.get("type") == "array":
            encoding[name] = {"style": "form"} | _read_collection(one)
            encoding[name] |= _read_inner_collections(one)
    required = [str(one["name"]) for one in fields if one.get("required") and "name" in one]
    schema = {"type": "object", "properties": properties, "required": required}
    media = {"schema": schema} | ({"encoding": encoding} if encoding else {})
    return {"content": {kind: media}, "required": bool(required)}


def _read_collection(parameter: dict[str, Any]) -> dict[str, Any]:
    """Return the style of a list; an unknown format is a style, which the reader refuses."""
    format_name = str(parameter.get("collectionFormat", "csv"))
    return _COLLECTIONS.get(format_name, {"style": format_name, "explode": False})


def _read_inner_collections(parameter: dict[str, Any]) -> dict[str, Any]:
    """Return the styles of the lists in a parameter's list, if there are some."""
    styles: list[str] = []
    items = dict_of(parameter.get("items"))
    while items.get("type") == "array":
        format_name = str(items.get("collectionFormat", "csv"))
        styles.append(_INNER.get(format_name, format_name))
        items = dict_of(items.get("items"))
    return {INNER_STYLES: styles} if styles else {}


def _schema_of(parameter: dict[str, Any]) -> dict[str, Any]:
    schema = {name: parameter[name] for name in _SCHEMA_FIELDS if name in parameter}
    if schema.get("type") == "file":
        schema |= {"type": "string", "format": "binary"}
    return schema


def _convert_security(scheme: dict[str, Any]) -> dict[str, Any]:
    kind = scheme.get("type")
    if kind == "basic":
        return {"type": "http", "scheme": "basic"} | _copy_description(scheme)
    if kind != "oauth2":
        return scheme
    urls = ("authorizationUrl", "tokenUrl", "scopes")
    flow = {name: scheme[name] for name in urls if name in scheme}
    flow.setdefault("scopes", {})
    name = _FLOWS.get(str(scheme.get("flow")), "implicit")
    return {"type": "oauth2", "flows": {name: flow}} | _copy_description(scheme)


def _copy_description(scheme: dict[str, Any]) -> dict[str, Any]:
    return {"description": scheme["description"]} if "description" in scheme else {}


def _move_references(node: Any) -> Any:
    """Return a part of a document with references to where OpenAPI 3 has its components."""
    if isinstance(node, list):
        return [_move_references(one) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    moved: dict[str, Any] = {}
    for name, value in cast("dict[str, Any]", node).items():
        if name == "$ref" and isinstance(value, str):
            start = next((pair for pair in _MOVED if value.startswith(pair[0])), ("", ""))
            moved[name] = start[1] + value.removeprefix(start[0])
        elif name == "x-nullable":
            moved["nullable"] = value
        else:
            moved[name] = _move_references(value)
    return moved

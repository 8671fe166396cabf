"""OperationParser: the arguments, the schema and the documentation of one operation."""

from __future__ import annotations

import inspect
import json
from textwrap import dedent
from typing import Any, cast

from .api_parameter import ApiParameter, PydocHelper, rename_python_keywords, to_snake_case
from .media_types import body_kind, choose_media_type
from .spec_record import Operation, Schema, dict_of, list_of, to_plain
from .swagger import INNER_STYLES

_MAX_SHAPE = 4_000  # characters of a schema that a description tells
MAX_NAME = 60  # characters of a tool's name; some models accept 64
BODY = "body"
_BINARY_HINT = "Text, or artifact:NAME for the content of that artifact."
# By kind of body, the types that are written as a text unchanged.
_TEXT_TYPES = {"text": ("string", "integer", "number", "boolean"), "other": ("string",)}
_RESTRICTIONS = frozenset(
    ("required", "title", "description", "type", "properties", "additionalProperties")
)
_OPEN = ("additionalProperties", "patternProperties", "propertyNames")
# OpenAPI says of these headers that a parameter of their name is ignored.
_IGNORED_HEADERS = ("accept", "content-type", "authorization")
# What the HTTP library writes itself; another value would break the connection's framing.
CONNECTION_HEADERS = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)


class OperationParser:
    """Reads an operation whose references are resolved (OpenAPI 3.1 §4.8.10).

    Args:
      operation: the operation: a record, a dict, JSON text, or a record of another library.
      should_parse: whether to read the parameters now; `load` gives them instead.
      preserve_property_names: keep names as the document spells them, not in snake_case.
    """

    def __init__(
        self,
        operation: Operation | dict[str, Any] | str,
        should_parse: bool = True,
        *,
        preserve_property_names: bool = False,
    ) -> None:
        self.operation = read_operation(operation)
        self._preserve_property_names = preserve_property_names
        self._params: list[ApiParameter] = []
        self._return_value: ApiParameter | None = None
        if should_parse:
            self._read_parameters()
            self._read_body()
            self._number_names()

    @classmethod
    def load(
        cls,
        operation: Operation | dict[str, Any],
        params: list[ApiParameter],
        return_value: ApiParameter | None = None,
        *,
        preserve_property_names: bool = False,
    ) -> OperationParser:
        """Return a parser of an operation whose parameters are known.

        Args:
          operation: the operation.
          params: its parameters.
          return_value: its result; read from the operation if None.
          preserve_property_names: as for the class.
        """
        parser = cls(operation, should_parse=False, preserve_property_names=preserve_property_names)
        parser._params = params
        parser._return_value = return_value
        return parser

    def get_function_name(self) -> str:
        """Return the name of the tool: the operation's id in snake_case, at most 60 characters.

        Raises:
          ValueError: the operation has no id.
        """
        if not self.operation.operationId:
            raise ValueError("Operation ID is missing")
        return to_snake_case(self.operation.operationId)[:MAX_NAME]

    def get_parameters(self) -> list[ApiParameter]:
        """Return the parameters: those of path, query, header and cookie, then the body's."""
        return self._params

    def get_return_value(self) -> ApiParameter:
        """Return the result of the response that succeeds with the lowest status."""
        if self._return_value is None:
            self._return_value = ApiParameter(
                original_name="",
                param_location="",
                param_schema=Schema(find_result_schema(self.operation.raw)),
            )
        return self._return_value

    def get_return_type_hint(self) -> str:
        """Return the type of the result as text."""
        return self.get_return_value().type_hint

    def get_return_type_value(self) -> Any:
        """Return the type of the result."""
        return self.get_return_value().type_value

    def get_auth_scheme_name(self) -> str:
        """Return the first security scheme that the operation itself names, or ''."""
        for requirement in self.operation.raw.get("security") or ():
            return next(iter(requirement), "")
        return ""

    def get_pydoc_string(self) -> str:
        """Return a docstring: what the operation does, its arguments and its result."""
        arguments = "\n".join(f"        {one.to_pydoc_string()}" for one in self._params)
        result = PydocHelper.generate_return_doc(self.operation.raw.get("responses") or {})
        title = self.operation.summary or self.operation.description or ""
        return dedent(
            f'''
        """{title}

        Args:
        {arguments}

        {result}
        """
            '''
        ).strip()

    def get_json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        schema: dict[str, Any] = {
            "properties": {one.py_name: one.schema_record.raw for one in self._params},
            "required": [one.py_name for one in self._params if one.required],
            "title": f"{self.operation.operationId or 'unnamed'}_Arguments",
            "type": "object",
        }
        if self.operation.defs:
            schema["$defs"] = self.operation.raw["$defs"]
        return schema

    def get_signature_parameters(self) -> list[inspect.Parameter]:
        """Return the parameters of a function that calls the operation."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return [
            inspect.Parameter(str(one.py_name), kind, annotation=one.type_value)
            for one in self._params
        ]

    def get_annotations(self) -> dict[str, Any]:
        """Return the types of the arguments and of the result, by name."""
        named: dict[str, Any] = {str(one.py_name): one.type_value for one in self._params}
        return {**named, "return": self.get_return_type_value()}

    def _read_parameters(self) -> None:
        for raw in self.operation.raw.get("parameters") or ():
            name, location = raw.get("name"), raw.get("in")
            if not name or not location:
                continue  # an unresolved reference
            if location == "header" and name.lower() in (*_IGNORED_HEADERS, *CONNECTION_HEADERS):
                continue
            content_type = next(iter(raw.get("content") or ()), None)
            given: Any = raw["content"][content_type] if content_type else raw
            schema = dict(to_plain(given.get("schema")) or {})
            description = raw.get("description") or ""
            if description and not schema.get("description"):
                schema["description"] = description
            self._params.append(
                ApiParameter(
                    original_name=name,
                    param_location=location,
                    param_schema=Schema(schema),
                    description=description,
                    required=bool(raw.get("required")) or location == "path",
                    py_name=self._own_name(name),
                    style=raw.get("style"),
                    explode=raw.get("explode"),
                    allow_reserved=bool(raw.get("allowReserved")),
                    inner_styles=raw.get(INNER_STYLES),
                    content_type=content_type,
                )
            )

    def _read_body(self) -> None:
        body = dict_of(self.operation.raw.get("requestBody"))
        content = dict_of(body.get("content"))
        chosen = choose_media_type(content)
        if chosen is None:
            return
        schema = dict_of(to_plain(dict_of(content[chosen]).get("schema")))
        kind = body_kind(chosen)
        is_required = bool(body.get("required"))
        if takes_properties(schema, chosen):
            required = list_of(schema.get("required")) if is_required else []
            for name, raw in dict_of(schema.get("properties")).items():
                one = _hint_binary(dict_of(raw)) if kind == "multipart" else dict_of(raw)
                self._params.append(
                    ApiParameter(
                        original_name=name,
                        param_location=BODY,
                        param_schema=Schema(one),
                        description=one.get("description"),
                        py_name=self._own_name(name),
                        required=name in required,
                    )
                )
            self._add_other_properties(schema)
            return
        name = _body_name(schema)
        if kind in _TEXT_TYPES and schema and schema.get("type") not in _TEXT_TYPES[kind]:
            schema = _describe_as_text(schema, chosen)
        if kind in ("binary", "other"):
            schema = _hint_binary({"type": "string", "format": "binary"} | schema)
        self._params.append(
            ApiParameter(
                original_name=name,
                param_location=BODY,
                param_schema=Schema(schema),
                description=body.get("description"),
                required=is_required,
            )
        )

    def _add_other_properties(self, schema: dict[str, Any]) -> None:
        """Add an argument for the properties that an object takes beside its named ones."""
        is_closed = schema.get("additionalProperties") in (None, False)
        if not is_closed or "patternProperties" in schema:
            kept = {name: schema[name] for name in _OPEN if name in schema}
            self._params.append(
                ApiParameter(
                    original_name="",
                    param_location=BODY,
                    param_schema=Schema({"type": "object"} | kept),
                    description="Further properties of the body, by name.",
                    py_name="additional_properties",
                )
            )

    def _own_name(self, name: str) -> str:
        return rename_python_keywords(name) if self._preserve_property_names else ""

    def _number_names(self) -> None:
        """Give each parameter a name of its own: name, name_0, name_1."""
        taken = {one.py_name for one in self._params}
        seen: dict[str, int] = {}
        for one in self._params:
            name = str(one.py_name)
            if name in seen:
                while (candidate := f"{name}_{seen[name]}") in taken:
                    seen[name] += 1
                one.py_name = candidate
                taken.add(candidate)
                seen[name] += 1
            else:
                seen[name] = 0


def read_operation(operation: Any) -> Operation:
    """Return an operation given as a record, a dict, JSON text or a record of another library.

    Raises:
      ValueError: it is something else.
    """
    if isinstance(operation, str):
        return Operation.model_validate_json(operation)
    return Operation.model_validate(operation)


def is_open_object(schema: dict[str, Any]) -> bool:
    """Return whether a body is given property by property; else it is one argument."""
    kind = schema.get("type")
    kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    is_object = "object" in kinds or (kind is None and "properties" in schema)
    if not is_object or set(kinds) - {"object", "null", None}:
        return False
    if any(name in schema for name in ("allOf", "not", "if")):
        return False
    properties = dict_of(schema.get("properties"))
    for one in map(dict_of, [*list_of(schema.get("oneOf")), *list_of(schema.get("anyOf"))]):
        # An alternative that only restricts leaves the properties to the object.
        if not one.keys() <= _RESTRICTIONS or dict_of(one.get("properties")).keys() - properties:
            return False
    return bool(properties) or schema.get("additionalProperties") is False


def takes_properties(schema: dict[str, Any], media_type: str) -> bool:
    """Return whether a body of a media type is given property by property."""
    return body_kind(media_type) in ("json", "form", "multipart") and is_open_object(schema)


def find_result_schema(operation: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the response that succeeds with the lowest status; {} without one."""
    responses = dict_of(operation.get("responses"))
    for code in sorted(str(one) for one in responses if str(one).startswith("2"))[:1]:
        for media in dict_of(responses[code].get("content")).values():
            if media.get("schema"):
                return dict_of(to_plain(media["schema"]))
    return {}


def _body_name(schema: dict[str, Any]) -> str:
    """Return the name of a body that is one argument, as google-adk gives it."""
    kind = schema.get("type")
    if kind == "array":
        return "array"
    mixed = any(schema.get(name) for name in ("oneOf", "anyOf", "allOf"))
    return "" if isinstance(kind, str) and kind != "object" and not mixed else BODY


def _describe_as_text(schema: dict[str, Any], media_type: str) -> dict[str, Any]:
    """Return the schema of a text that stands for values which are no JSON, such as XML."""
    own = str(schema.get("description") or "").strip()
    told = [own] if own else []
    told.append(f"The text of the body, of the type {media_type}.")
    shape = {name: one for name, one in schema.items() if name != "description"}
    if shape:
        told.append(f"Its schema: {json.dumps(shape, ensure_ascii=False)[:_MAX_SHAPE]}")
    return {"type": "string", "description": " ".join(told)}


def _hint_binary(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose description says how bytes are given, if it is one of bytes."""
    if schema.get("format") == "binary" or "contentMediaType" in schema:
        own = str(schema.get("description") or "").rstrip()
        told = f"{own}{'' if own.endswith('.') or not own else '.'} {_BINARY_HINT}".strip()
        return schema | {"description": told}
    return schema

"""ApiParameter: one argument of an operation, with its type hint and documentation."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import Any, Dict, List, cast  # noqa: UP035 - programs compare with these types

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_serializer

from .spec_record import Schema, SpecRecord, to_plain

_DEFAULT_NAMES = {
    "body": "body",
    "query": "query_param",
    "path": "path_param",
    "header": "header_param",
    "cookie": "cookie_param",
}
_TYPES: dict[str, tuple[Any, str]] = {
    "integer": (int, "int"),
    "number": (float, "float"),
    "boolean": (bool, "bool"),
    "string": (str, "str"),
    "object": (Dict[str, Any], "Dict[str, Any]"),  # noqa: UP006
}
# Of an array's items; the hint of nested arrays is google-adk's.
_ITEM_TYPES: dict[str, tuple[Any, str]] = {**_TYPES, "array": (List[Any], "Any")}  # noqa: UP006


def to_snake_case(text: str) -> str:
    """Return a name in snake_case; any character but letters and digits separates words."""
    words = re.sub(r"[^a-zA-Z0-9]+", "_", text)
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words)
    words = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "_", words)
    return re.sub(r"_+", "_", words.lower()).strip("_")


def rename_python_keywords(s: str, prefix: str = "param_") -> str:
    """Return a name that is not a keyword of Python.

    Args:
      s: the name.
      prefix: what a keyword gets in front.
    """
    return prefix + s if keyword.iskeyword(s) else s


class ApiParameter(BaseModel):
    """An argument of an operation (OpenAPI 3.1 §4.8.12).

    Attributes:
      original_name: its name in the document; empty for a body that is one value.
      param_location: `path`, `query`, `header`, `cookie`, `querystring` or `body`.
      param_schema: its schema, or that as JSON text.
      description: what the model is told about it; else the schema's.
      py_name: its name as an argument; made of the original name if it is empty.
      type_value, type_hint: the Python type, and its text; made of the schema.
      required: whether a call must give it.
      style, explode: how a value is written; the location's default if None.
      allow_reserved: whether reserved characters of a value are sent unchanged.
      inner_styles: how lists in a list are written, the outermost first.
      content_type: media type that the value is written in, in place of a style.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    original_name: str
    param_location: str
    param_schema: Schema | str
    description: str | None = ""
    py_name: str | None = ""
    type_value: type[Any] = Field(default=None, init_var=False)  # type: ignore[assignment, call-overload]
    type_hint: str = Field(default=None, init_var=False)  # type: ignore[assignment, call-overload]
    required: bool = False
    style: str | None = None
    explode: bool | None = None
    allow_reserved: bool = False
    inner_styles: list[str] | None = None
    content_type: str | None = None

    @field_validator("param_schema", mode="before")
    @classmethod
    def _read_schema(cls, value: Any) -> Any:
        if isinstance(value, str):
            return Schema.model_validate_json(value)
        return Schema.model_validate(value) if value is not None else Schema()

    def model_post_init(self, context: Any, /) -> None:
        """Fill in the names and types that follow from the schema."""
        schema = self.schema_record
        if not self.py_name:
            name = rename_python_keywords(to_snake_case(self.original_name))
            self.py_name = name or _DEFAULT_NAMES.get(self.param_location, "value")
        self.description = self.description or schema.description or ""
        self.type_value = TypeHintHelper.get_type_value(schema)
        self.type_hint = TypeHintHelper.get_type_hint(schema)

    @property
    def schema_record(self) -> Schema:
        """The schema as a record."""
        return cast("Schema", self.param_schema)

    @model_serializer
    def _serialize(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "original_name": self.original_name,
            "param_location": self.param_location,
            "param_schema": self.schema_record.raw,
            "description": self.description,
            "py_name": self.py_name,
        }
        names = "required style explode allow_reserved inner_styles content_type".split()
        for name in names:
            value = getattr(self, name)
            if value not in (None, False) or (name == "explode" and value is False):
                shown[name] = value
        return shown

    def __str__(self) -> str:
        return f"{self.py_name}: {self.type_hint}"

    def to_arg_string(self) -> str:
        """Return the argument of a call that passes it on: `limit=limit`."""
        return f"{self.py_name}={self.py_name}"

    def to_dict_property(self) -> str:
        """Return the item of a dict that holds it: `"limit": limit`."""
        return f'"{self.py_name}": {self.py_name}'

    def to_pydoc_string(self) -> str:
        """Return its line of a docstring."""
        return PydocHelper.generate_param_doc(self)


class TypeHintHelper:
    """Python types of schemas."""

    @staticmethod
    def get_type_value(schema: Schema) -> Any:
        """Return the Python type of a schema's values; Any if it has several."""
        kind, item = _read_types(schema)
        if kind != "array":
            return _TYPES.get(kind, (Any, ""))[0]
        item_type: Any = _ITEM_TYPES.get(item, (Any, ""))[0]
        return List[item_type]  # noqa: UP006

    @staticmethod
    def get_type_hint(schema: Schema) -> str:
        """Return the Python type of a schema's values as text."""
        kind, item = _read_types(schema)
        if kind != "array":
            return _TYPES.get(kind, (Any, "Any"))[1]
        return f"List[{_ITEM_TYPES.get(item, (Any, 'Any'))[1]}]"


class PydocHelper:
    """Docstrings of parameters and results."""

    @staticmethod
    def generate_param_doc(param: ApiParameter) -> str:
        """Return a parameter's line of a docstring, with a line for each property of an object."""
        text = f"{param.py_name} ({param.type_hint}): {_read_text(param.description).strip()}"
        return text + _describe_properties(param.schema_record, " " * 7)

    @staticmethod
    def generate_return_doc(responses: Mapping[str, Any]) -> str:
        """Return the docstring's line of the result: of the first response that succeeds."""
        known = {str(code): SpecRecord(one) for code, one in responses.items()}
        for code in sorted(known, key=lambda one: (len(one), one)):
            content = known[code].content
            if not code.startswith("2") or not content:
                continue
            media = next(iter(content.values()))
            schema = Schema(to_plain(getattr(media, "schema_", None)) or {})
            text = f"Returns ({TypeHintHelper.get_type_hint(schema)}): "
            text += _read_text(known[code].description).strip()
            return text + _describe_properties(schema, " " * 8)
        return ""


def _read_types(schema: Any) -> tuple[str, str]:
    """Return the type of a schema, and of its items; empty if it has none or several."""
    items = getattr(schema, "items", None)
    return _single_type(schema.type), _single_type(getattr(items, "type", None))


def _single_type(kind: Any) -> str:
    if isinstance(kind, list):
        named = [one for one in cast("list[Any]", kind) if one != "null"]
        return str(named[0]) if len(named) == 1 else ""
    value = getattr(kind, "value", kind)  # a word of another library's enumeration
    return value if isinstance(value, str) else ""


def _read_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _describe_properties(schema: Schema, indent: str) -> str:
    properties = schema.properties
    if _single_type(schema.type) != "object" or not isinstance(properties, dict) or not properties:
        return ""
    lines = [
        f"{indent}{name} ({TypeHintHelper.get_type_hint(one)}): {_read_text(one.description)}\n"
        for name, one in cast("dict[str, Any]", properties).items()
        if isinstance(one, Schema)
    ]
    return " Object properties:\n" + "".join(lines)

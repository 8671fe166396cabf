"""Values of a file as expressions of a program: plain data, records and enums."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, cast

from pydantic import BaseModel

from .. import types
from ..agent_files.file_reading import FieldFault
from .layout import Expression, Group, Item, Text, call_source, list_source, quote_text
from .source_names import Names


def value_source(value: Any, names: Names) -> Expression:
    """Return the expression that makes a value.

    Raises:
      FieldFault: it is of a kind that no source text makes.
    """
    if isinstance(value, Enum):
        return _enum_source(value, names)
    if isinstance(value, BaseModel):
        return record_source(value, names)
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, dict):
        entries = cast("dict[Any, Any]", value).items()
        return Group(
            "{",
            [Item(value_source(one, names), f"{_key_source(key)}: ") for key, one in entries],
            "}",
        )
    if isinstance(value, list | tuple):
        return list_source([value_source(one, names) for one in cast("list[Any]", value)])
    if value is None or isinstance(value, bool | int | float | bytes):
        return _plain_source(value)
    raise FieldFault(
        f"no Python source can be written for a value of type {type(value).__name__}; name it in "
        "code instead, or give it as text."
    )


def record_source(value: BaseModel, names: Names, without: Collection[str] = ()) -> Expression:
    """Return the call that makes a record_source, with the fields that were set.

    Args:
      value: the record.
      names: the program's names.
      without: fields to leave out.
    """
    fields = {
        name: getattr(value, name)
        for name in type(value).model_fields
        if name in value.model_fields_set and name not in without
    }
    fields |= {k: v for k, v in (value.model_extra or {}).items() if k not in without}
    return call_source(class_name(type(value), names), argument_list(fields, names))


def argument_list(fields: Mapping[str, Any], names: Names) -> list[Item]:
    """Return keyword arguments."""
    items = [
        Item(value_source(value, names), f"{name}=")
        for name, value in fields.items()
        if _is_name(name)
    ]
    others = {name: value for name, value in fields.items() if not _is_name(name)}
    return [*items, Item(value_source(others, names), "**")] if others else items


def class_name(cls: type[Any], names: Names) -> str:
    """Return what a class is called in the program, importing it."""
    if getattr(types, cls.__name__, None) is cls:
        return f"{names.import_name('ostinato', 'types')}.{cls.__name__}"
    outer, *inner = cls.__qualname__.split(".")
    return ".".join([names.use_found(cls.__module__, outer), *inner])


def _enum_source(value: Enum, names: Names) -> Expression:
    if value.name in type(value).__members__:
        return f"{class_name(type(value), names)}.{value.name}"
    return value_source(value.value, names)  # a member that a newer service has


def _plain_source(value: Any) -> str:
    text = repr(value)
    if isinstance(value, float) and text in ("inf", "-inf", "nan"):
        return f'float("{text}")'
    return text


def _key_source(key: Any) -> str:
    return quote_text(key) if isinstance(key, str) else _plain_source(key)


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)

"""Reading of JSON files as records; an error names the file, the line and the field."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from .._regular_files import read_regular_file
from ..errors import InputValidationError

_R = TypeVar("_R", bound=BaseModel)
_BLANK = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)
_MAX_SHOWN = 5
_MAX_BYTES = 256 * 2**20
_REPEATED = "an object holds the key {!r} twice, and only the last one would count."


def read_text(path: Path) -> str:
    """Return the text of a file.

    Args:
      path: the file.

    Raises:
      FileNotFoundError: it does not exist.
      OSError: it is not a regular file, has more than 256 MiB, or cannot be read.
      InputValidationError: it is not UTF-8.
    """
    try:
        text = read_regular_file(path, _MAX_BYTES).decode("utf-8-sig")
        return text.replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputValidationError(f"{path} is not UTF-8 text: {error.reason}.") from error


def _name_lines(text: str, key: str) -> str:
    """Return the lines of a key that a text holds twice; "" if it stands elsewhere, too."""
    written = re.escape(json.dumps(key, ensure_ascii=False))
    places = [one.start() for one in re.finditer(rf"{written}\s*:", text)]
    if len(places) != 2:
        return ""
    return ", lines {} and {}".format(*(text.count("\n", 0, place) + 1 for place in places))


def parse_json(text: str, name: str) -> Any:
    """Return the value of a JSON text.

    Args:
      text: the text.
      name: what to call it in errors, such as the file's path.

    Raises:
      InputValidationError: it is not JSON, or an object has two members of the same name.
    """

    def check_keys(members: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(members)
        if len(found) < len(members):
            keys = [key for key, _ in members]
            key = next(one for one in keys if keys.count(one) > 1)
            raise InputValidationError(f"{name}{_name_lines(text, key)}: {_REPEATED.format(key)}")
        return found

    try:
        return json.loads(text, object_pairs_hook=check_keys)
    except json.JSONDecodeError as error:
        raise InputValidationError(
            f"{name}, line {error.lineno}: not valid JSON ({error.msg}, column {error.colno})."
        ) from error
    except InputValidationError:
        raise
    except RecursionError as error:
        raise InputValidationError(f"{name} is nested too deeply.") from error
    except ValueError as error:  # Python's limit for the digits of an integer
        raise InputValidationError(f"{name} holds a number with too many digits.") from error


def read_json_record(path: Path, kind: type[_R]) -> _R:
    """Return the record in a file.

    Args:
      path: the file.
      kind: the class of the record.

    Raises:
      FileNotFoundError: the file does not exist.
      InputValidationError: it is not JSON, or does not describe a record of this class.
    """
    text = read_text(path)
    return parse_record(text, str(path), kind)


def parse_record(text: str, name: str, kind: type[_R]) -> _R:
    """Return the record that a JSON text describes.

    Args:
      text: the text.
      name: what to call it in errors.
      kind: the class of the record.

    Raises:
      InputValidationError: it is not JSON, or does not describe a record of this class.
    """
    value = parse_json(text, name)
    try:
        return kind.model_validate_json(text.lstrip("\ufeff"))
    except ValidationError as error:
        if not isinstance(value, dict):
            raise InputValidationError(
                f"{name} must hold a JSON object ({kind.__name__}), not a {type(value).__name__}."
            ) from error
        raise InputValidationError(explain_problems(error, text, name, kind)) from error


def explain_problems(
    error: ValidationError, text: str, name: str, kind: type[BaseModel] | None = None
) -> str:
    """Return what is wrong with a JSON text, with the line and the path of each field.

    Args:
      error: the error of its validation.
      text: the text.
      name: what to call it.
      kind: the class of its record.
    """
    lines = [f"{name}, {line}" for line in _describe_problems(error, text, kind)]
    more = len(lines) - _MAX_SHOWN
    title = f"{name} is not a valid {kind.__name__}" if kind is not None else f"{name} is not valid"
    shown = "\n".join(f"  {line}" for line in lines[:_MAX_SHOWN])
    return f"{title}:\n{shown}" + (f"\n  and {more} more" if more > 0 else "")


def _describe_problems(
    error: ValidationError, text: str, kind: type[BaseModel] | None
) -> list[str]:
    """Return a line for each problem; the members of a union say the same once."""
    told: dict[str, bool] = {}  # whether another class that may stand there has the field
    for problem in error.errors():
        place, message = problem["loc"], problem["msg"].removeprefix("Value error, ")
        found, path = find_place(text, place)
        is_known = False
        if kind is not None and problem["type"] in ("extra_forbidden", "missing"):
            field, known = str(place[-1]), list_field_names(kind, place[:-1])
            if problem["type"] == "missing":
                message += f": {_spell_as_declared(field, known)!r}."
            elif field in known or field in map(to_camel, known):
                is_known = True
                message = f"The field {field!r} does not go with the other fields of its object."
            else:
                message = f"Unknown field {field!r}. {suggest_field(field, known)}"
        shown = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
        line = text.count("\n", 0, found) + 1
        told[f"line {line}, {shown.lstrip('.') or 'the document'}: {message}"] = is_known
    return [line for line, is_known in told.items() if not is_known] or [*told]


def _spell_as_declared(field: str, known: Sequence[str]) -> str:
    return next((one for one in known if to_camel(one) == field), field)


def suggest_field(name: str, known: Sequence[str]) -> str:
    """Return a sentence with the field that a misspelled name is nearest to, or with all fields.

    Args:
      name: the name.
      known: the names of the fields.
    """
    near = difflib.get_close_matches(name, [*known, *map(to_camel, known)], 1)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."


def list_field_names(kind: Any, place: Sequence[int | str]) -> list[str]:
    """Return the names of the fields of the record at a place, those of all members of a union.

    Args:
      kind: the class of the document's record.
      place: the path of the record in the document, as in an error of its validation.
    """
    kinds = _list_members(kind)
    for step in place:
        inner = [one for kind in kinds for one in _list_inner_kinds(kind, step)]
        if inner:  # else the step is the name of a union's member
            kinds = inner
    names = (name for one in kinds if _is_record(one) for name in one.model_fields)
    return list(dict.fromkeys(names))


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _list_members(kind: Any) -> list[Any]:
    """Return the members of a union, or the type alone."""
    if get_origin(kind) is Annotated:
        return _list_members(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [one for member in get_args(kind) for one in _list_members(member)]
    return [kind]


def _list_inner_kinds(kind: Any, step: int | str) -> list[Any]:
    """Return the types that may stand at a step into a value of a type."""
    if _is_record(kind):
        fields = kind.model_fields
        found = [one.annotation for name, one in fields.items() if step in (name, to_camel(name))]
        return [one for field in found for one in _list_members(field)]
    args = get_args(kind)
    if not args or (get_origin(kind) is dict) is not isinstance(step, str):
        return []
    if get_origin(kind) is tuple and isinstance(step, int):
        return _list_members(args[step]) if step < len(args) else []
    return _list_members(args[-1])


def find_place(text: str, place: Sequence[int | str]) -> tuple[int, list[int | str]]:
    """Return the offset of a field in a JSON text, and the part of its path that exists.

    Args:
      text: valid JSON.
      place: the path of the field; names in snake_case are found in camelCase, too, and names
        that are not in the text, such as those of a union's members, are skipped.
    """
    offset, path = _BLANK.match(text, text.startswith("\ufeff")).end(), list[int | str]()  # type: ignore[union-attr]
    for step in place:
        found = _find_step(text, offset, step)
        if found is None:
            continue
        offset = found
        path.append(step)
    return offset, path


def _find_step(text: str, offset: int, step: int | str) -> int | None:
    """Return the offset of a member of the object or list that begins at an offset."""
    opening = text[offset : offset + 1]
    if opening not in ("{", "["):
        return None
    wanted = {step, to_camel(step)} if isinstance(step, str) else {step}
    position, number = _skip_blanks(text, offset + 1), 0
    while position < len(text) and text[position] not in "}]":
        key: int | str = number
        if opening == "{":
            key, position = _DECODER.raw_decode(text, position)
            position = _skip_blanks(text, _skip_blanks(text, position) + 1)
        if key in wanted:
            return position
        _, position = _DECODER.raw_decode(text, position)
        position = _skip_blanks(text, position)
        number += 1
    return None


def _skip_blanks(text: str, offset: int) -> int:
    found = _BLANK.match(text, offset)
    return found.end() if found is not None else offset

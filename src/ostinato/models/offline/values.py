"""Values: looks things up in tools' results and puts results into sentences."""

from __future__ import annotations

from typing import Any, cast

from .reading import Result
from .words import spoken, stems

_TEXTS = ("report", "answer", "message", "summary", "text")
_ERRORS = ("error", "error_message")
_NEST = 4
_SHOWN = 6


def same_named(name: str, results: list[Result]) -> Any:
    """Return the value that results give under a name, where they agree on one; else None."""
    found: list[Any] = []
    for result in results:
        _collect(name, result.value, found, 0)
    distinct: list[Any] = []
    for value in found:
        if value not in distinct and not isinstance(value, (dict, list)):
            distinct.append(value)
    return distinct[0] if len(distinct) == 1 else None


def _collect(name: str, value: Any, found: list[Any], depth: int) -> None:
    if depth > _NEST:
        return
    if isinstance(value, dict):
        for key, inner in cast(dict[str, Any], value).items():
            if key == name and inner is not None:
                found.append(inner)
            _collect(name, inner, found, depth + 1)
    elif isinstance(value, list):
        for inner in cast(list[Any], value):
            _collect(name, inner, found, depth + 1)


def failure_of(value: Any) -> str:
    """Return what went wrong, where a result says that something did; else empty."""
    if not isinstance(value, dict):
        return ""
    fields = cast(dict[str, Any], value)
    for key in _ERRORS:
        if fields.get(key):
            return str(fields[key]).strip()
    if str(fields.get("status", "")).lower() in ("error", "failed"):
        return next((str(fields[key]) for key in _TEXTS if fields.get(key)), "it failed")
    return ""


def sentence(result: Result) -> str:
    """Return a result as a readable sentence."""
    name = spoken(result.tool)
    if failure := failure_of(result.value):
        return f"{name.capitalize()} did not work: {_ended(failure.splitlines()[0])}"
    value = _inner(result.value)
    if value is None or value in ({}, ""):
        return f"Done: {name}."
    if isinstance(value, str):
        return _ended(value)
    if isinstance(value, list):
        return _listed(name, cast(list[Any], value))
    if isinstance(value, dict):
        return _described(name, cast(dict[str, Any], value))
    return f"{name.capitalize()}: {_plain(value)}."


def _inner(value: Any) -> Any:
    """Take off the wrapping of a value: `{"result": x}`, or a status beside a text."""
    if not isinstance(value, dict):
        return value
    fields = cast(dict[str, Any], value)
    rest = {key: inner for key, inner in fields.items() if key != "status"}
    if len(rest) == 1:
        key, only = next(iter(rest.items()))
        if key in ("result", "output", *_TEXTS) and (key not in _TEXTS or isinstance(only, str)):
            return only
    if "status" in fields and str(fields["status"]).lower() in ("success", "ok"):
        return rest
    return fields


def _described(name: str, fields: dict[str, Any]) -> str:
    lists = [key for key, value in fields.items() if _is_list_of_records(value)]
    text = next((fields[key] for key in _TEXTS if isinstance(fields.get(key), str)), "")
    plain = {k: v for k, v in fields.items() if k not in lists and v is not text}
    pieces = [_ended(text)] if text else []
    if plain:
        told = ", ".join(f"{spoken(key)} {_plain(value)}" for key, value in plain.items())
        pieces.append(_ended(told) if text else _ended(f"{name.capitalize()}: {told}"))
    pieces += [_counted(spoken(key), fields[key]) for key in lists]
    return " ".join(pieces)


def _is_list_of_records(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(x, dict) for x in cast(list[Any], value))


def _listed(name: str, values: list[Any]) -> str:
    if not values:
        return f"{name.capitalize()}: nothing found."
    if all(isinstance(value, str) and value.endswith(".") for value in values):
        return " ".join(values)
    if not _is_list_of_records(values):
        return _ended(f"{name.capitalize()}: {_plain(values)}")
    return f"{name.capitalize()} found {len(values)}: {_rows(values)}"


def _counted(name: str, values: list[Any]) -> str:
    things = name.removesuffix("s") if len(values) == 1 else name
    return f"Found {len(values)} {things}: {_rows(values)}"


def _rows(values: list[Any]) -> str:
    rows = [f"({n}) {_plain(value)}" for n, value in enumerate(values[:_SHOWN], 1)]
    more = f"; and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return _ended("; ".join(rows) + more)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return ", ".join(f"{spoken(key)} {_plain(inner)}" for key, inner in fields.items())
    if isinstance(value, list):
        return ", ".join(_plain(inner) for inner in cast(list[Any], value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    return "unknown" if value is None else str(value)


def _ended(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?…" else text + "."


def closest(name: str, results: list[Result]) -> Any:
    """Return the first value in results whose key shares a word with `name`; else None."""
    wanted = set(stems(name))
    stack: list[Any] = [result.value for result in results]
    while stack:
        value = stack.pop(0)
        if isinstance(value, dict):
            for key, inner in cast(dict[str, Any], value).items():
                if inner is not None and wanted & set(stems(key)):
                    return inner
            stack.extend(cast(dict[str, Any], value).values())
        elif isinstance(value, list):
            stack.extend(cast(list[Any], value)[:_SHOWN])
    return None

"""Generation settings as google-genai takes them. The Gemini adapters build requests with these."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import BaseModel

from ... import types
from ..request_text import declared_functions

#: What Gemini takes as the name of a function.
FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")


def refused_function_names(config: types.GenerateContentConfig) -> Iterator[str]:
    """Yield the names of declared functions that Gemini would refuse."""
    for declaration in declared_functions(config):
        if not FUNCTION_NAME.fullmatch(declaration.name or ""):
            yield declaration.name or ""


def sdk_settings(
    config: types.GenerateContentConfig, contents: Sequence[dict[str, Any]], *, developer: bool
) -> dict[str, Any]:
    """Return settings and contents as the SDK's `config` argument.

    The contents ride in `extra_body`, which the SDK sends as it is: as its `contents` it would
    validate and convert the whole history again at each call.

    Args:
      config: the settings.
      contents: the contents on the wire.
      developer: whether this goes to the Gemini Developer API, which takes no labels.
    """
    settings = _set_fields(config)
    if developer:
        settings.pop("labels", None)
    settings["automatic_function_calling"] = {"disable": True}
    options: dict[str, Any] = settings.get("http_options") or {}
    options.pop("retry_options", None)
    options["extra_body"] = {**(options.get("extra_body") or {}), "contents": contents}
    settings["http_options"] = options
    return settings


def _set_fields(record: Any) -> dict[str, Any]:
    """Return what is set of a record, one level plain; values that are no records stay."""
    fields = ((name, getattr(record, name)) for name in record.model_fields_set)
    return {name: plain(value) for name, value in fields if value is not None}


def plain(value: Any) -> Any:
    """Return records, or a list with some, as dicts; callables, classes and text stay."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if isinstance(value, list):
        return [plain(item) for item in cast(list[Any], value)]
    return value

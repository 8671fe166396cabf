"""Pickled actions of google-adk 1, read without running anything that a pickle names.

Records of google-adk and google-genai become their plain fields; any other object is refused.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, cast

from ...errors import StoreError

_MODULES = ("google.adk.", "google.genai.types", "fastapi.openapi.models")


class _Fields:
    """Stands for a record of those modules, or, called with a value, for that of an enum."""

    def __new__(cls, *arguments: Any) -> Any:
        return arguments[0] if arguments else super().__new__(cls)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fields: dict[str, Any] = state.get("__dict__", state)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a record; nothing is imported."""
        if f"{module}.".startswith(_MODULES):
            return _Fields
        if (module, name) in (("builtins", "set"), ("__builtin__", "set")):
            return set
        raise StoreError(
            f"An event holds a pickled {module}.{name}, which is not read because a pickle can run "
            "anything; only records of google-adk are."
        )


def read_pickle(data: bytes) -> Any:
    """Return what a pickle holds: plain values, records as dicts without what is None.

    Raises:
      StoreError: it holds an object that is no record of google-adk, or is damaged.
    """
    try:
        return _to_plain(_Reader(io.BytesIO(data)).load())
    except StoreError:
        raise
    except Exception as error:  # boundary: a damaged pickle may raise anything
        raise StoreError(
            f"An event holds pickled actions that cannot be read: {type(error).__name__}."
        ) from error


def _to_plain(value: Any) -> Any:
    if isinstance(value, _Fields):
        fields = vars(value).get("fields", {})
        return {name: _to_plain(each) for name, each in fields.items() if each is not None}
    if isinstance(value, dict):
        return {name: _to_plain(each) for name, each in cast(dict[Any, Any], value).items()}
    if isinstance(value, (list, tuple, set)):
        return [_to_plain(each) for each in cast(list[Any], value)]
    return value

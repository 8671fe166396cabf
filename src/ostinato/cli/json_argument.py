"""JSON objects on the command line."""

from __future__ import annotations

from typing import Any, cast

from ..hosting.input_answers import read_json
from .cli_error import USAGE, CliError


def read_object(text: str, what: str) -> dict[str, Any]:
    """Return the JSON object of an argument.

    Args:
      text: what was typed.
      what: the argument, for the error.

    Raises:
      CliError: it is not a JSON object, or has a key twice, and so contradicts itself.
    """
    try:
        value = read_json(text)
    except ValueError as error:
        raise CliError(f"{what} needs a JSON object; this is not JSON: {error}.", USAGE) from error
    if not isinstance(value, dict):
        raise CliError(
            f'{what} needs a JSON object such as \'{{"city": "Rome"}}\', not {text[:40]}.', USAGE
        )
    return cast("dict[str, Any]", value)

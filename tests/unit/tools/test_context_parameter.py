"""Which parameter takes the context, through its public face."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import pytest

from ostinato.agents.callback_context import CallbackContext
from ostinato.agents.invocation_context import InvocationContext
from ostinato.tools.tool_context import ToolContext
from ostinato.utils.context_utils import find_context_parameter

if TYPE_CHECKING:
    from nowhere import Stranger  # type: ignore[import-not-found]


def plain(x: int, c: ToolContext) -> None: ...
def by_name_only(x: int, tool_context) -> None: ...  # type: ignore[no-untyped-def]
def optional(x: int, c: Optional[ToolContext] = None) -> None: ...
def first_of_two(c: CallbackContext, d: ToolContext) -> None: ...
def other_context(x: int, c: InvocationContext) -> None: ...
def stranger(x: Stranger, c: ToolContext) -> None: ...
def returns_one(x: int) -> ToolContext: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (plain, "c"),
        (by_name_only, None),
        (optional, "c"),
        (first_of_two, "c"),
        (other_context, None),
        (stranger, "c"),
        (returns_one, None),
        (print, None),
    ],
)
def test_which(function: Any, name: str | None) -> None:
    assert find_context_parameter(function) == name

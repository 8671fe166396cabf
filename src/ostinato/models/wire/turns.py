"""Turns: contents as the items of an API that ties calls and responses by id. Adapters keep them in
`Converted`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ... import types
from ..converted import Converted
from .call_ids import lacks_ids, with_call_ids

Item = dict[str, Any]


class Turn(NamedTuple):
    """One content on the wire.

    Attributes:
      items: its messages or items.
      unnamed: whether a call or response in it has no id.
    """

    items: list[Item]
    unnamed: bool


def items_for(
    contents: Sequence[types.Content],
    convert: Callable[[types.Content], list[Item]],
    known: Converted[Turn],
) -> list[Item]:
    """Return the items for a conversation; only contents that are not known yet are converted.

    The items are shared and must not be edited.
    """
    make = partial(_turn, convert)
    turns = [known.of(content, make) for content in contents]
    if any([turn.unnamed for turn in turns]):
        named = with_call_ids(contents)
        turns = [known.of(content, make) for content in named]
    return [item for turn in turns for item in turn.items]


def _turn(convert: Callable[[types.Content], list[Item]], content: types.Content) -> Turn:
    return Turn(convert(content), lacks_ids(content))

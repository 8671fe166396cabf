"""Turns: contents as the items of an API that ties calls and responses by id. Adapters keep them in
`Converted`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ... import types
from ..converted import Converted
from .call_ids import lacks_ids, with_call_ids
from .json_item import JsonItem

Item = dict[str, Any]
ItemType = TypeVar("ItemType", bound=Item)


class Turn(NamedTuple):
    """One content on the wire.

    Attributes:
      items: its messages or items.
      unnamed: whether a call or response in it has no id.
    """

    items: list[Any]
    unnamed: bool


def items_for(
    contents: Sequence[types.Content],
    convert: Callable[[types.Content], Sequence[ItemType]],
    known: Converted[Turn],
) -> list[ItemType]:
    """Return the items for a conversation; only contents that are not known yet are converted.

    The items are JsonItems, which are shared and must not be edited.
    """
    make = partial(_turn, convert)
    turns = known.of_all(contents, make)
    if any([turn.unnamed for turn in turns]):
        turns = known.of_all(with_call_ids(contents), make)
    return [item for turn in turns for item in turn.items]


def _turn(convert: Callable[[types.Content], Sequence[Item]], content: types.Content) -> Turn:
    items = [one if isinstance(one, JsonItem) else JsonItem(one) for one in convert(content)]
    return Turn(items, lacks_ids(content))

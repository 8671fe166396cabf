"""Converted: what contents became on the wire, so that a long history is converted once. Adapters
hold one each.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from .. import types

Wire = TypeVar("Wire")


class Converted(Generic[Wire]):
    """Remembers each Content's converted form for as long as the Content lives.

    Contents of a history are shared from request to request and not edited (see `LlmRequest`), so
    that one is known by its identity. A request whose hooks were given copies converts them all.
    """

    def __init__(self) -> None:
        self._forms: dict[int, tuple[weakref.ref[types.Content], Wire]] = {}

    def __len__(self) -> int:
        return len(self._forms)

    def of(self, content: types.Content, convert: Callable[[types.Content], Wire]) -> Wire:
        """Return the form of `content`; call `convert` if it is not cached.

        The form is shared: the caller must not edit it.
        """
        return self.of_all((content,), convert)[0]

    def of_all(
        self, contents: Iterable[types.Content], convert: Callable[[types.Content], Wire]
    ) -> list[Wire]:
        """Return the forms of contents; see `of`."""
        known = self._forms.get
        found: list[Wire] = []
        for content in contents:  # nothing is called here for a content that is known
            entry = known(id(content))
            if entry is None or entry[0]() is not content:
                found.append(self._add(content, convert(content)))
            else:
                found.append(entry[1])
        return found

    def _add(self, content: types.Content, form: Wire) -> Wire:
        key, forms = id(content), self._forms

        def forget(gone: weakref.ref[types.Content]) -> None:
            entry = forms.get(key)
            if entry is not None and entry[0] is gone:  # the id may serve another one by now
                del forms[key]

        forms[key] = (weakref.ref(content, forget), form)
        return form

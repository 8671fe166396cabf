"""Read-only properties of request bodies: where they are, and that no value sets them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from .name_guard import ArgumentError, cut_name, fold_name
from .spec_document import SpecDocument
from .spec_record import dict_of, list_of

READ_ONLY = "x-read-only"
"""Field of a compiled media type object that holds what `find_read_only` returns."""
_PARTS = ("allOf", "oneOf", "anyOf")
_EACH = ("items", "additionalProperties")

Node = dict[str, Any]


def is_read_only(document: SpecDocument, schema: Any) -> bool:
    """Return whether a property is read-only, by itself or by the schema that it refers to."""
    known = dict_of(schema)
    if known.get("readOnly") is True:
        return True
    reference = known.get("$ref")
    if not isinstance(reference, str):
        return False
    return dict_of(document.find_target(reference)).get("readOnly") is True


def find_read_only(document: SpecDocument, schema: Any) -> list[Node]:
    """Return where a schema has read-only properties, in a form that JSON can hold.

    Schemas may hold themselves, so that the places are a graph: the first node is the schema. Of
    each, `locked` and `open` are the names of its properties, `below` and `each` the numbers of
    the nodes of properties by name and of all items, `also` those of its alternatives and parts.
    """
    nodes: list[Node] = []
    numbers: dict[int, int] = {}
    waiting: list[dict[str, Any]] = []

    def number_of(one: Any) -> list[int]:
        if not isinstance(one, dict):
            return []
        known = cast("dict[str, Any]", one)
        if id(known) not in numbers:
            numbers[id(known)] = len(numbers)
            waiting.append(known)
        return [numbers[id(known)]]

    number_of(schema)
    while waiting:
        known = waiting.pop(0)
        node: Node = {"locked": [], "open": [], "below": {}, "each": [], "also": []}
        nodes.append(node)
        for name, one in dict_of(known.get("properties")).items():
            node["locked" if is_read_only(document, one) else "open"].append(name)
            if found := number_of(one):
                node["below"][name] = found[0]
        every = [known.get(name) for name in _EACH]
        every += dict_of(known.get("patternProperties")).values()
        node["each"] = [at for one in (*every, *list_of(known.get("prefixItems")))
                        for at in number_of(one)]  # fmt: skip
        parts = [one for name in _PARTS for one in list_of(known.get(name))]
        if isinstance(known.get("$ref"), str):
            parts.append(document.find_target(known["$ref"]))
        node["also"] = [at for one in parts for at in number_of(one)]
    return nodes if any(node["locked"] for node in nodes) else []


def refuse_read_only(nodes: list[Node], value: Any, *, is_form: bool = False) -> None:
    """Refuse a body that sets a read-only property.

    Names are compared without regard to case and as far as their first bracket, as many services
    read them.

    Args:
      nodes: what `find_read_only` returned for the body's schema.
      value: the body.
      is_form: whether fields of the body may be objects that are written as JSON already.

    Raises:
      ArgumentError: it does; the message names the place.
    """
    if nodes:
        _check(nodes, {0}, value, "", is_form)


def _check(
    nodes: list[Node], active: Iterable[int], value: Any, place: str, reads_text: bool
) -> None:
    known = [nodes[at] for at in _widen(nodes, active)]
    if not known:
        return
    each = [at for node in known for at in node["each"]]
    if isinstance(value, list):
        for at, one in enumerate(cast("list[Any]", value)):
            _check(nodes, each, one, f"{place}{at}.", reads_text)
        return
    if isinstance(value, str) and reads_text and place:
        value = _read_object(value)
    if not isinstance(value, dict):
        return
    free = {name for node in known for name in node["open"]}
    locked = {fold_name(name) for node in known for name in node["locked"] if name not in free}
    for name, one in cast("dict[str, Any]", value).items():
        if name not in free and {fold_name(name), cut_name(fold_name(name))} & locked:
            raise ArgumentError(
                f"The field {place + name!r} is read-only: the service alone sets it. Leave it out."
            )
        below = [node["below"][name] for node in known if name in node["below"]]
        _check(nodes, below or each, one, f"{place}{name}.", reads_text)


def _widen(nodes: list[Node], active: Iterable[int]) -> set[int]:
    """Return nodes with their parts and alternatives, and those of these."""
    found: set[int] = set()
    waiting = list(active)
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            waiting += nodes[at]["also"]
    return found


def _read_object(text: str) -> Any:
    """Return the object or list that a text is as JSON; the text if it is neither."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

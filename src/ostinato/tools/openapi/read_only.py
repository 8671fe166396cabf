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
_EACH = ("items", "additionalProperties", "contains", "unevaluatedItems", "unevaluatedProperties")

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
    the nodes of properties by name and of all items, `also` those of its alternatives and parts,
    `cases` those that count under a condition, and `test` the condition.
    """
    anchors: dict[str, list[Any]] | None = None
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

    def numbers_of(some: Iterable[Any]) -> list[int]:
        return [at for one in some for at in number_of(one)]

    number_of(schema)
    while waiting:
        known = waiting.pop(0)
        node: Node = {"locked": [], "open": [], "below": {}}
        nodes.append(node)
        for name, one in dict_of(known.get("properties")).items():
            node["locked" if is_read_only(document, one) else "open"].append(name)
            if found := number_of(one):
                node["below"][name] = found[0]
        every = [known.get(name) for name in _EACH]
        every += dict_of(known.get("patternProperties")).values()
        node["each"] = numbers_of([*every, *list_of(known.get("prefixItems"))])
        parts = [one for name in _PARTS for one in list_of(known.get(name))]
        if isinstance(known.get("$ref"), str):
            parts.append(document.find_target(known["$ref"]))
        anchor: Any = known.get("$dynamicRef")
        if isinstance(anchor, str) and anchor.startswith("#/"):
            parts.append(document.find_target(anchor))
        elif isinstance(anchor, str):
            # Which of the schemas with this anchor is meant depends on the way to it.
            anchors = _find_anchors(document.root) if anchors is None else anchors
            parts += anchors.get(anchor.removeprefix("#"), ())
        node["also"] = numbers_of(parts)
        cases = dict_of(known.get("dependentSchemas")).values()
        node["cases"] = numbers_of([known.get("then"), known.get("else"), *cases])
        node["test"] = number_of(known.get("if"))
    return nodes if any(node["locked"] for node in nodes) else []


def _find_anchors(root: Any) -> dict[str, list[Any]]:
    """Return the schemas of a document by the anchors that references name."""
    found: dict[str, list[Any]] = {}
    waiting, seen = [root], set[int]()
    while waiting:
        one: Any = waiting.pop()
        if id(one) in seen:  # YAML may name one part many times
            continue
        seen.add(id(one))
        inner: Iterable[Any] = list_of(one)
        if isinstance(one, dict):
            known = cast("dict[str, Any]", one)
            for name in ("$anchor", "$dynamicAnchor"):
                if isinstance(known.get(name), str):
                    found.setdefault(known[name], []).append(known)
            inner = known.values()
        waiting += [each for each in inner if isinstance(each, dict | list)]
    return found


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
    plain = _widen(nodes, active, ("also",))
    cases = _widen(nodes, plain, ("also", "cases"))
    known = [nodes[at] for at in _widen(nodes, cases, ("also", "cases", "test"))]
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
    # A case opens what another case locks, and a condition nothing.
    free = {name for at in plain for name in nodes[at]["open"]}
    fixed = {name for at in plain for name in nodes[at]["locked"]} - free
    free |= {name for at in cases for name in nodes[at]["open"]} - fixed
    locked = {fold_name(name) for node in known for name in node["locked"] if name not in free}
    for name, one in cast("dict[str, Any]", value).items():
        if name not in free and {fold_name(name), cut_name(fold_name(name))} & locked:
            raise ArgumentError(
                f"The field {place + name!r} is read-only: the service alone sets it. Leave it out."
            )
        below = [node["below"][name] for node in known if name in node["below"]]
        _check(nodes, below or each, one, f"{place}{name}.", reads_text)


def _widen(nodes: list[Node], active: Iterable[int], names: Iterable[str]) -> set[int]:
    """Return nodes with those that they name in these fields, and those of these."""
    found: set[int] = set()
    waiting = list(active)
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            waiting += [one for name in names for one in nodes[at][name]]
    return found


def _read_object(text: str) -> Any:
    """Return the object or list that a text is as JSON; the text if it is neither."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

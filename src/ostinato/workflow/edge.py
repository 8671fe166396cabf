"""Edge: a way from one node to the next; and the chains in which edges are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, SkipValidation

from ..context.node import BaseNode
from ..errors import GraphError

Route = bool | int | str


class Edge(BaseModel):
    """A way from one node to the next (FEATURES A.25).

    Attributes:
      from_node: where it begins.
      to_node: where it leads.
      route: the route, or the routes, of `from_node` that take it; None for any.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    from_node: SkipValidation[BaseNode]
    to_node: SkipValidation[BaseNode]
    route: bool | int | str | list[bool | int | str] | None = None

    @property
    def routes(self) -> list[Route] | None:
        """The routes that take it; None for any."""
        if self.route is None:
            return None
        return self.route if isinstance(self.route, list) else [self.route]

    def __str__(self) -> str:
        route = "" if self.route is None else f" (route {self.route!r})"
        return f"{self.from_node.name} -> {self.to_node.name}{route}"


class _Way(NamedTuple):
    node: BaseNode
    route: Route | None


def edges_of(chain: Sequence[Any], make: Callable[[Any], BaseNode]) -> Iterator[Edge]:
    """Yield the edges of a chain such as `(START, a, (b, c), join)` or `(a, {"yes": b})`.

    A tuple stands for several nodes side by side, a dict for routes and where they lead.

    Args:
      chain: two or more elements.
      make: makes a node of an element.

    Raises:
      GraphError: the chain is too short, or an element is no node.
    """
    if len(chain) < 2:
        raise GraphError(
            f"The chain {_show_chain(chain)} has no edge: it needs two elements or more."
        )
    before = [way.node for way in _read_ways(chain[0], chain, make)]
    for element in chain[1:]:
        ways = list(_read_ways(element, chain, make))
        for source in before:
            for way in ways:
                yield Edge(from_node=source, to_node=way.node, route=way.route)
        before = list({id(way.node): way.node for way in ways}.values())


def _read_ways(
    element: Any, chain: Sequence[Any], make: Callable[[Any], BaseNode]
) -> Iterator[_Way]:
    if isinstance(element, dict):
        for route, target in cast(dict[Any, Any], element).items():
            if not isinstance(route, (bool, int, str)):
                raise GraphError(
                    f"The chain {_show_chain(chain)} has the route {route!r}, which is not a "
                    "text, number or bool."
                )
            for way in _read_ways(target, chain, make):
                yield _Way(way.node, route)
        return
    for one in cast(Sequence[Any], element if isinstance(element, (tuple, list)) else (element,)):
        try:
            yield _Way(make(one), None)
        except ValueError as error:
            raise GraphError(f"In the chain {_show_chain(chain)}: {error}") from None


def _show_chain(chain: Sequence[Any]) -> str:
    return " -> ".join(_show_one(element) for element in chain) or "()"


def _show_one(element: Any) -> str:
    if isinstance(element, dict):
        items = cast(dict[Any, Any], element).items()
        return "{" + ", ".join(f"{route!r}: {_show_one(target)}" for route, target in items) + "}"
    if isinstance(element, (tuple, list)):
        return "(" + ", ".join(_show_one(one) for one in cast(Sequence[Any], element)) + ")"
    name = getattr(element, "name", None) or getattr(element, "__name__", None)
    return str(name) if name else repr(element)[:40]

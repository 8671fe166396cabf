"""What the tests of workflows share: nodes of few words, and events as lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ostinato._adk_mode import set_follows_adk
from ostinato.events import Event
from ostinato.workflow import FunctionNode


def gives(name: str, output: Any = None, *, route: Any = None, **options: Any) -> FunctionNode:
    """A node that gives its name, or `output`, and maybe a route."""

    def give(node_input: Any) -> Any:
        value = name if output is None else output
        return value if route is None else Event(output=value, route=route)

    return FunctionNode(func=give, name=name, **options)


def shows(name: str = "show", **options: Any) -> FunctionNode:
    """A node that gives what it got, as text."""

    def show(node_input: Any) -> str:
        return f"{name} got {node_input!r}"

    return FunctionNode(func=show, name=name, **options)


@contextmanager
def adk_ways() -> Iterator[None]:
    """A block that runs as programs do that come through the alias."""
    set_follows_adk(True)
    try:
        yield
    finally:
        set_follows_adk(False)


def line(event: Event) -> str:
    """An event in a line: where, on which branch, and what."""
    place = event.node_info.path or event.author
    if event.branch:
        place += f" [{event.branch}]"
    said: list[str] = []
    if event.error_code:
        said.append(f"! {event.error_code}")
    if event.output is not None:
        said.append(f"= {json.dumps(event.output, sort_keys=True)}")
    for part in event.content.parts or [] if event.content is not None else []:
        if part.function_call is not None:
            said.append(f"? {part.function_call.name}")
        elif part.function_response is not None:
            said.append(f"answers {json.dumps(part.function_response.response)}")
        elif part.text:
            said.append(f"says {part.text!r}")
    if event.actions.route is not None:
        said.append(f"-> {event.actions.route!r}")
    if event.actions.state_delta:
        said.append(f"state {json.dumps(event.actions.state_delta, sort_keys=True)}")
    return " ".join([place, *said])


def lines(events: Iterable[Event]) -> list[str]:
    return [line(event) for event in events if not event.partial]


def asked(events: Iterable[Event]) -> list[Any]:
    """The requests among events, as function calls."""
    return [
        call
        for event in events
        for call in event.get_function_calls()
        if call.name == "adk_request_input"
    ]

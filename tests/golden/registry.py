"""The table of scenarios: scenario files add to it by decorator; recorder and tests read it."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import scenarios
from .kit import Kit

PEER, NEWER = "2.3.0", "2.13.0"


@dataclass(frozen=True)
class Scenario:
    """A named script with the rows of FEATURES.md it shows and the release it is recorded from."""

    name: str
    run: Callable[[Kit], Any]
    rows: tuple[str, ...]
    adk: str
    show: tuple[str, ...]
    words: tuple[str, ...]


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    *rows: int | str, adk: str = PEER, show: tuple[str, ...] = (), words: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Register an async function as a scenario.

    `show` adds "system" or "config" to its requests, or leaves the contents out ("no contents").
    `words` are what the package's own sentences (errors given to the model,
    hints) have to name; the sentences themselves are not recorded.
    """

    def register(run: Callable[[Kit], Any]) -> Callable[[Kit], Any]:
        name = run.__name__
        if name in SCENARIOS:
            raise ValueError(f"two scenarios are called {name!r}")
        SCENARIOS[name] = Scenario(name, run, tuple(map(str, rows)), adk, show, words)
        return run

    return register


def load() -> dict[str, Scenario]:
    """All scenarios, from every file in scenarios/."""
    for module in pkgutil.iter_modules(scenarios.__path__):
        importlib.import_module(f"{scenarios.__name__}.{module.name}")
    return SCENARIOS


async def play(
    chosen: Scenario, package: str, load_file: Callable[..., Any] | None = None
) -> dict[str, Any]:
    """Run one scenario on a package and return its trace; `load_file` makes agents of files."""
    kit = Kit(package, chosen.show, chosen.words)
    if load_file is not None:
        kit.load_file = load_file
    await chosen.run(kit)
    return await kit.trace()

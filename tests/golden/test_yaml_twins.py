"""The program that is generated of a YAML agent does what the YAML agent does: its traces are those
that google-adk's reading of the file gave."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ostinato.agent_files.own_package import own_package
from ostinato.agent_source.program import program_of
from tests.golden.test_golden import SCENARIOS, expected, play, to_text

pytestmark = pytest.mark.long

YAML = sorted(name for name in SCENARIOS if name.startswith("yaml_"))
WRITTEN: dict[str, str] = {}


def twin_of(path: Path) -> Any:
    """The agent of the program that is generated of a file, as if it lay beside it."""
    source = program_of(path)
    assert WRITTEN.setdefault(path.name, source) == source, "not the same twice"
    module = ModuleType(f"{own_package(path.parent)}.generated")
    module.__package__ = own_package(path.parent)
    module.__file__ = str(path.with_suffix(".py"))
    sys.modules[module.__name__] = module
    exec(compile(source, module.__file__, "exec"), vars(module))
    return module.root_agent


def test_there_are_scenarios() -> None:
    assert len(YAML) >= 12


@pytest.mark.parametrize("name", YAML)
async def test_the_generated_program_has_the_same_trace(name: str) -> None:
    async with asyncio.timeout(120):
        trace = await play(SCENARIOS[name], "ostinato", twin_of)
    assert to_text(trace) == to_text(expected(name))

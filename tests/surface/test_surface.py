"""Our modules hold the recorded surface of google-adk 2.3.0, but for the listed absences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.surface.absences import ABSENCES, ALLOWED_IN_CORE, PARTS
from tests.surface.compare import Finding, compare, not_built
from tests.surface.record import PACKAGES, to_text

HERE = Path(__file__).parent
SURFACE: dict[str, Any] = json.loads((HERE / "surface.json").read_text(encoding="utf-8"))

# Imported most by programs in the wild.
FAVOURITES = """
    agents:Agent agents:BaseAgent agents:InvocationContext agents:LiveRequestQueue
    agents:LlmAgent agents.callback_context:CallbackContext
    agents.invocation_context:InvocationContext agents.readonly_context:ReadonlyContext apps:App
    apps.app:App auth:AuthConfig auth.auth_tool:AuthConfig events:Event events.event:Event
    models.base_llm_connection:BaseLlmConnection models.llm_request:LlmRequest
    models.llm_response:LlmResponse models:LlmRequest models:LlmResponse
    plugins.plugin_manager:PluginManager runners:InMemoryRunner runners:Runner
    sessions:InMemorySessionService sessions:Session sessions.session:Session tools:FunctionTool
    tools:ToolContext tools.tool_context:ToolContext utils.context_utils:Aclosing workflow:START
    workflow:Workflow
""".split()


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    return list(compare(SURFACE))


def test_nothing_is_missing_but_the_listed_absences(findings: list[Finding]) -> None:
    unlisted = [
        str(finding)
        for finding in findings
        if not any(absence.covers(finding.where) for absence in ABSENCES)
    ]
    assert not unlisted, "list each in absences.py with its reason, or build it"


def test_no_absence_is_listed_that_is_not_needed(findings: list[Finding]) -> None:
    places = [finding.where for finding in findings]
    stale = [str(a) for a in ABSENCES if not any(a.covers(place) for place in places)]
    assert not stale, "these are there now; take them out of absences.py"


def test_each_absence_names_its_part_and_reason_once() -> None:
    assert {absence.part for absence in ABSENCES} <= PARTS
    assert all(absence.reason.endswith(".") for absence in ABSENCES)
    places = [absence.place for absence in ABSENCES]
    assert len(places) == len(set(places))


def test_nothing_of_the_core_is_missing() -> None:
    wrong = [str(a) for a in ABSENCES if a.is_in_core and a.part not in ALLOWED_IN_CORE]
    assert not wrong


def test_the_record_is_whole_and_in_its_form() -> None:
    assert {name.split(".")[0] for name in SURFACE["modules"]} == set(PACKAGES)
    described = [what for names in SURFACE["modules"].values() for what in (names or {}).values()]
    assert len(described) > 450 and len(SURFACE["types"]) > 60
    assert (HERE / "surface.json").read_text(encoding="utf-8") == to_text(SURFACE)


@pytest.mark.parametrize("place", FAVOURITES)
def test_what_programs_import_most_is_there(place: str) -> None:
    module, _, name = place.partition(":")
    assert getattr(import_module(f"ostinato.{module}"), name) is not None


def names_not_built() -> Iterator[tuple[str, Any]]:
    """Every name of the surface that exists and raises when used."""
    for module, names in SURFACE["modules"].items():
        for name in names or {}:
            try:
                value = getattr(import_module(f"ostinato.{module}"), name, None)
            except ModuleNotFoundError:
                continue
            if not_built(value):
                yield f"{module}:{name}", value


def test_what_is_not_built_says_so_when_used() -> None:
    found = dict(names_not_built())
    assert len(found) > 10
    for place, value in found.items():
        with pytest.raises(NotImplementedError) as caught:
            value(name="x")
        told = str(caught.value)
        assert told.startswith(f"{not_built(value).name} is not built yet"), (place, told)
        assert "it comes with" in told and "Until then: " in told and told.endswith("."), told

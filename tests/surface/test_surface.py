"""Our modules hold the recorded surface of google-adk 2.3.0, but for the listed absences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ostinato._absences import absence_error
from tests.surface.absences import ALLOWED_IN_CORE, DIFFERENCES, missing_places
from tests.surface.compare import Finding, compare
from tests.surface.record import to_text

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


KNOWN = [*DIFFERENCES, *missing_places()]


def test_nothing_is_missing_but_the_listed_absences(findings: list[Finding]) -> None:
    unlisted = [
        str(finding)
        for finding in findings
        if not any(absence.covers(finding.where) for absence in KNOWN)
    ]
    assert not unlisted, "list each with its reason, or build it"


def test_no_absence_is_listed_that_is_not_needed(findings: list[Finding]) -> None:
    places = [finding.where for finding in findings]
    stale = [str(a) for a in KNOWN if not any(a.covers(place) for place in places)]
    assert not stale, "these are there now; take them off the list"


def test_each_absence_has_a_reason_and_stands_once() -> None:
    assert all(difference.reason.endswith(".") for difference in DIFFERENCES)
    places = [absence.place for absence in KNOWN]
    assert len(places) == len(set(places))


def test_nothing_of_the_core_is_missing() -> None:
    wrong = [str(a) for a in missing_places() if a.is_in_core and a.part not in ALLOWED_IN_CORE]
    assert not wrong


def test_the_record_is_whole_and_in_its_form() -> None:
    rooms = {name.split(".")[0] for name in SURFACE["modules"]}
    assert {"", "cli", "environment", "platform", "runners", "telemetry", "tools"} <= rooms
    described = [what for names in SURFACE["modules"].values() for what in names.values()]
    assert len(SURFACE["modules"]) > 500 and len(described) > 1300 and len(SURFACE["types"]) > 60
    assert (HERE / "surface.json").read_text(encoding="utf-8") == to_text(SURFACE)


@pytest.mark.parametrize("place", FAVOURITES)
def test_what_programs_import_most_is_there(place: str) -> None:
    module, _, name = place.partition(":")
    assert getattr(import_module(f"ostinato.{module}"), name) is not None


def absent_names(findings: list[Finding]) -> Iterator[tuple[str, str]]:
    """Every module and name of the surface that is not there, as (module, name)."""
    for finding in findings:
        if finding.what in ("no such module", "no such name"):
            module, _, name = finding.where.partition(":")
            yield module, name


def test_each_absent_name_says_why_and_what_to_use(findings: list[Finding]) -> None:
    absent = [pair for pair in absent_names(findings) if pair[0] != "types"]
    assert len(absent) > 200
    for module, name in absent:
        error = absence_error(module, name)
        place = f"google.adk.{module}" + (f".{name}" if name else "")
        assert error is not None and error.name == place
        assert str(error).startswith(f"{place} is not in Ostinato. "), place
        assert str(error).endswith('See docs/from-adk.md, "What is not built yet".')
        if name:
            with pytest.raises(ModuleNotFoundError, match=rf"\.{name} is not in Ostinato"):
                getattr(import_module(f"ostinato.{module}"), name)
        elif "." in module:
            above, _, last = module.rpartition(".")
            if (parent := present(above)) is not None and hasattr(parent, "__path__"):
                with pytest.raises((ModuleNotFoundError, AttributeError), match=last):
                    getattr(parent, last)


def present(module: str) -> Any:
    """The module of ours, or None."""
    try:
        return import_module(f"ostinato.{module}")
    except ModuleNotFoundError:
        return None


@pytest.mark.parametrize(
    ("module", "name"), [("", "nope"), ("tools", "McpTolset"), ("agents", "_x"), ("tools", "mcpp")]
)
def test_what_google_adk_has_not_either_is_no_absence(module: str, name: str) -> None:
    assert absence_error(module, name) is None
    ours = import_module(f"ostinato.{module}".rstrip("."))
    assert not hasattr(ours, name)

"""App and its settings: fields, names, and values that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.apps.app import EventsCompactionConfig
from ostinato.models.context_cache_config import ContextCacheConfig
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.runners import InMemoryRunner, Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import ScriptedModel


def agent() -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel())


@pytest.mark.spec(216)
def test_an_app_has_the_specified_fields_and_defaults() -> None:
    app = App(name="app", root_agent=agent())
    assert app.plugins == [] and app.tool_errors == "raise"
    assert app.events_compaction_config is None
    assert app.context_cache_config is None and app.resumability_config is None
    with pytest.raises(ValidationError, match="agents"):
        App(name="app", root_agent=agent(), agents=[])  # type: ignore[call-arg]


@pytest.mark.spec(216)
@pytest.mark.parametrize("name", ["a", "my_app", "my-app", "App2"])
def test_a_name_of_letters_digits_underscores_and_hyphens_is_taken(name: str) -> None:
    assert App(name=name, root_agent=agent()).name == name


@pytest.mark.spec(216)
@pytest.mark.parametrize("name", ["", "2app", "_app", "my app", "ä", "a.b", "a\n", "user"])
def test_any_other_name_and_user_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=r"[Aa]pp name"):
        App(name=name, root_agent=agent())


def test_a_root_of_another_type_is_a_type_error_and_a_missing_one_a_validation_error() -> None:
    for root in ("str", 5):
        with pytest.raises(TypeError, match=f"must be .* got {type(root).__name__} .*'desk'"):
            App(name="desk", root_agent=root)
    nothing: list[dict[str, Any]] = [{}, {"root_agent": None}]
    for missing in nothing:
        with pytest.raises(ValidationError, match="root_agent must be provided"):
            App(name="desk", **missing)


@pytest.mark.spec(3, 216)
def test_a_runner_takes_its_settings_from_the_app() -> None:
    class Quiet(BasePlugin):
        """Does nothing."""

    root, plugin = agent(), Quiet(name="quiet")
    app = App(
        name="app",
        root_agent=root,
        plugins=[plugin],
        context_cache_config=ContextCacheConfig(),
        resumability_config=ResumabilityConfig(is_resumable=True),
    )
    runner = Runner(app=app, session_service=InMemorySessionService())
    assert (runner.app_name, runner.agent, runner.app) == ("app", root, app)
    assert runner.plugin_manager.plugins == [plugin]
    assert runner.context_cache_config is app.context_cache_config
    assert runner.resumability_config is app.resumability_config
    assert Runner(app=app, app_name="other", session_service=InMemorySessionService()).app_name == (
        "other"
    )


@pytest.mark.spec(3)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"agent": agent()},
        {"app_name": "app"},
        {"app": App(name="app", root_agent=agent()), "agent": agent()},
        {"app": App(name="app", root_agent=agent()), "plugins": []},
    ],
)
def test_a_runner_needs_either_an_app_or_an_agent_and_a_name(given: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError,
        match=r"must be provided|should not be provided|may be provided|app_name is required",
    ):
        Runner(session_service=InMemorySessionService(), **given)


def test_an_in_memory_runner_brings_its_own_services() -> None:
    runner = InMemoryRunner(agent=agent(), app_name="app")
    assert isinstance(runner.session_service, InMemorySessionService)
    assert runner.artifact_service is not None and runner.memory_service is not None


@pytest.mark.spec(210)
def test_a_compaction_config_takes_both_names_of_its_interval() -> None:
    for field in ("compaction_interval", "compaction_invocation_threshold"):
        settings: dict[str, Any] = {field: 2, "overlap_size": 1}
        config = EventsCompactionConfig(**settings)
        assert (config.compaction_interval, config.overlap_size) == (2, 1)
        assert config.token_threshold is None and config.summarizer is None


@pytest.mark.spec(210)
@pytest.mark.parametrize(
    "fields",
    [
        {"overlap_size": 1},
        {"compaction_interval": 2},
        {"compaction_interval": 2, "overlap_size": 0, "token_threshold": 9},
        {"compaction_interval": 2, "overlap_size": 0, "event_retention_size": 9},
        {
            "compaction_interval": 2,
            "overlap_size": 0,
            "token_threshold": 0,
            "event_retention_size": 1,
        },
        {"compaction_interval": 2, "overlap_size": 0, "interval": 2},
    ],
)
def test_a_compaction_config_that_cannot_work_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        EventsCompactionConfig(**fields)


@pytest.mark.spec(210)
def test_an_overlap_below_zero_is_refused_by_the_app_that_would_use_it() -> None:
    config = EventsCompactionConfig(compaction_interval=2, overlap_size=-1)
    with pytest.raises(ValidationError, match=r"App 'desk': overlap_size .* is -1; give"):
        App(name="desk", root_agent=LlmAgent(name="desk"), events_compaction_config=config)

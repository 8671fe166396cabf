"""ADK's switches: an override counts before the environment, the environment before the default."""

from __future__ import annotations

import warnings

import pytest

from ostinato.features import FeatureName, is_feature_enabled, override_feature_enabled
from ostinato.features import feature_registry as registry

ON, OFF = FeatureName.PUBSUB_TOOLSET, FeatureName.SNAKE_CASE_SKILL_NAME


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test sees the switches as a new process does, and no warning of this kind."""
    monkeypatch.setattr(registry, "_overrides", {})
    monkeypatch.setattr(registry, "_warned", {feature.value for feature in FeatureName})
    monkeypatch.setattr(registry, "_STAGES", dict(registry._STAGES))
    monkeypatch.setattr(registry, "_OFF", set(registry._OFF))


def test_defaults() -> None:
    off = {feature for feature in FeatureName if not is_feature_enabled(feature)}
    assert off == {OFF, FeatureName.IN_MEMORY_SESSION_SERVICE_LIGHT_COPY}
    assert is_feature_enabled("PUBSUB_TOOLSET")


@pytest.mark.parametrize("word", ["1", "true", "TRUE"])
def test_the_environment_switches(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ADK_ENABLE_{OFF.value}", word)
    monkeypatch.setenv(f"ADK_DISABLE_{ON.value}", word)
    assert is_feature_enabled(OFF) and not is_feature_enabled(ON)
    monkeypatch.setenv(f"ADK_ENABLE_{ON.value}", word)
    assert is_feature_enabled(ON)


@pytest.mark.parametrize("word", ["0", "", "yes", "no"])
def test_other_words_switch_nothing(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ADK_ENABLE_{OFF.value}", word)
    monkeypatch.setenv(f"ADK_DISABLE_{ON.value}", word)
    assert is_feature_enabled(ON) and not is_feature_enabled(OFF)


def test_an_override_counts_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ADK_ENABLE_{ON.value}", "1")
    override_feature_enabled(ON, False)
    assert not is_feature_enabled(ON)
    with registry.temporary_feature_override(ON, True):
        assert is_feature_enabled(ON)
    assert not is_feature_enabled(ON)
    with registry.temporary_feature_override(OFF, True):
        assert is_feature_enabled(OFF)
    assert not is_feature_enabled(OFF)


def test_an_unfinished_feature_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_warned", set[str]())
    with pytest.warns(UserWarning, match=r"^\[EXPERIMENTAL\] feature FeatureName.PUBSUB_TOOLSET"):
        is_feature_enabled(ON)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_feature_enabled(ON)
        assert is_feature_enabled(FeatureName.SKILL_TOOLSET)  # stable
        assert not is_feature_enabled(OFF)


def test_an_unknown_feature_is_refused() -> None:
    with pytest.raises(ValueError, match="no feature 'nope'; FeatureName lists them"):
        is_feature_enabled("nope")
    with pytest.raises(ValueError, match="nope"):
        override_feature_enabled("nope", True)


def test_a_feature_of_ones_own_and_a_contradiction() -> None:
    registry.register("MINE", registry.FeatureStage.STABLE)
    registry.register("RAW", registry.FeatureStage.WIP)
    assert is_feature_enabled("MINE") and not is_feature_enabled("RAW")
    with pytest.raises(ValueError, match=r"PUBSUB_TOOLSET is experimental.*stable"):
        registry.register(ON, registry.FeatureStage.STABLE)

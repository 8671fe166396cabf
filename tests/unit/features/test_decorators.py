"""Decorators that guard a class or function: behind a switch, or marked as unfinished."""

from __future__ import annotations

import inspect
import warnings

import pytest

from ostinato.features import FeatureName, experimental, stable, working_in_progress
from ostinato.features.feature_registry import temporary_feature_override
from ostinato.utils import feature_decorator as markers

RAW = FeatureName.IN_MEMORY_SESSION_SERVICE_LIGHT_COPY


def test_a_class_and_a_function_behind_a_switch() -> None:
    @stable(FeatureName.SKILL_TOOLSET)
    class Skill:
        """A skill."""

        def __init__(self, level: int) -> None:
            self.level = level

    @stable(FeatureName.SKILL_TOOLSET)
    def learn(level: int) -> Skill:
        return Skill(level)

    assert learn(3).level == 3
    assert Skill.__name__ == "Skill" and Skill.__doc__ == "A skill."
    assert list(inspect.signature(learn).parameters) == ["level"]
    with temporary_feature_override(FeatureName.SKILL_TOOLSET, False):
        for use in (Skill, learn):
            with pytest.raises(RuntimeError, match="SKILL_TOOLSET is not enabled"):
                use(1)


def test_stages() -> None:
    experimental(FeatureName.AGENT_STATE)
    with pytest.raises(RuntimeError, match="LIGHT_COPY is not enabled"):
        working_in_progress(RAW)(lambda: None)()
    with pytest.raises(ValueError, match="is stable"):
        experimental(FeatureName.SKILL_TOOLSET)


@pytest.mark.parametrize("form", ["bare", "called", "told"])
def test_a_marker_warns(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = {
        "bare": markers.experimental,
        "called": markers.experimental(),
        "told": markers.experimental("because"),
    }[form]

    @mark
    def answer() -> int:
        return 42

    with pytest.warns(UserWarning, match=r"^\[EXPERIMENTAL\] answer: ") as seen:
        assert answer() == 42
    assert ("because" in str(seen[0].message)) is (form == "told")
    assert seen[0].filename == __file__
    monkeypatch.setenv("ADK_SUPPRESS_EXPERIMENTAL_FEATURE_WARNINGS", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answer() == 42


def test_a_marker_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    @markers.working_in_progress
    class Half:
        pass

    with pytest.raises(RuntimeError, match=r"^\[WIP\] Half: "):
        Half()
    for word in ("1", "yes", "on", "TRUE"):
        monkeypatch.setenv("ADK_ALLOW_WIP_FEATURES", word)
        assert isinstance(Half(), Half)

"""Switches of the environment, through their public faces."""

from __future__ import annotations

import pytest

from ostinato.utils.env_utils import is_enterprise_mode_enabled, is_env_enabled
from ostinato.utils.variant_utils import GoogleLLMVariant, get_google_llm_variant

NAMES = ("GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI")


def test_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_FLAG", raising=False)
    assert not is_env_enabled("SOME_FLAG") and is_env_enabled("SOME_FLAG", default="1")
    for word, on in (("1", True), ("True", True), ("0", False), ("yes", False), ("", False)):
        monkeypatch.setenv("SOME_FLAG", word)
        assert is_env_enabled("SOME_FLAG") is on


@pytest.mark.parametrize("name", NAMES)
def test_the_back_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in NAMES:
        monkeypatch.delenv(other, raising=False)
    assert not is_enterprise_mode_enabled()
    assert get_google_llm_variant() is GoogleLLMVariant.GEMINI_API
    monkeypatch.setenv(name, "true")
    assert is_enterprise_mode_enabled()
    assert get_google_llm_variant() is GoogleLLMVariant.VERTEX_AI

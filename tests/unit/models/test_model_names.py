"""What a model's name says; the expectations are what google-adk 2.3.0 answers."""

from __future__ import annotations

import pytest

from ostinato.models.lite_llm import LiteLlm
from ostinato.models.offline_llm import OfflineLlm
from ostinato.testing import ScriptedModel
from ostinato.utils import model_name_utils as names
from ostinato.utils.output_schema_utils import can_use_output_schema_with_tools

# name, bare name, Gemini, 1.x, 2 or above
CASES = [
    ("gemini-2.5-flash", "gemini-2.5-flash", 1, 0, 1),
    ("models/gemini-2.0", "gemini-2.0", 1, 0, 1),
    ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro", 1, 0, 1),
    ("apigee/gemini-2.5-flash", "gemini-2.5-flash", 1, 0, 1),
    ("apigee/v1/gemini-2.5-flash", "gemini-2.5-flash", 1, 0, 1),
    ("apigee/vertex_ai/v1/gemini-1.5-pro", "gemini-1.5-pro", 1, 1, 0),
    ("gpt-4", "gpt-4", 0, 0, 0),
    ("gemini", "gemini", 0, 0, 0),
    ("gemini-1", "gemini-1", 1, 0, 0),
    ("gemini-3", "gemini-3", 1, 0, 1),
    ("gemini-flash-latest", "gemini-flash-latest", 1, 0, 0),
    ("gemini-eap-x", "gemini-eap-x", 1, 0, 0),
    ("gemini-10.1", "gemini-10.1", 1, 0, 1),
    ("projects/p/locations/l/models/gemini-2", "projects/p/locations/l/models/gemini-2", 0, 0, 0),
    ("openai/gemini-2.0", "openai/gemini-2.0", 0, 0, 0),
    ("", "", 0, 0, 0),
]


EARLY = [
    ("gemini-flash-early-exp", True),
    ("gemini-flash-early-exp3", True),
    ("gemini-flash-lite-early-exp", True),
    ("gemini-flash_a-early-exp", True),
    ("gemini-1-early-exp", True),
    ("models/gemini-pro-early-exp", True),
    ("apigee/gemini-flash-early-exp", True),
    ("gemini-early-exp", False),
    ("gemini-FLASH-early-exp", False),
    ("gemini-flash-early-exp-3", False),
    ("gemini-1.5-early-exp", False),
    ("x/gemini-flash-early-exp", False),
]


@pytest.mark.parametrize(("name", "counts"), EARLY)
def test_early_experimental_names_count_as_new(name: str, counts: bool) -> None:
    assert names.is_gemini_eap_or_2_or_above(name) is counts


@pytest.mark.parametrize(("name", "bare", "gemini", "one", "two"), CASES)
def test_names(name: str, bare: str, gemini: int, one: int, two: int) -> None:
    assert names.extract_model_name(name) == bare
    assert names.is_gemini_model(name) is bool(gemini)
    assert names.is_gemini_1_model(name) is bool(one)
    assert names.is_gemini_eap_or_2_or_above(name) is bool(two)


def test_no_name_and_live_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not names.is_gemini_model(None) and not names.is_gemini_1_model(None)
    assert names.is_gemini_3_1_flash_live("models/gemini-3.1-flash-live-preview")
    assert not names.is_gemini_3_1_flash_live("gemini-live-2.5-flash")
    assert names.is_gemini_3_5_live_translate("gemini-3.5-live-translate-x")
    assert not names.is_gemini_3_5_live_translate("gemini-3.5-flash")
    assert not names.is_gemini_model_id_check_disabled()
    monkeypatch.setenv("ADK_DISABLE_GEMINI_MODEL_ID_CHECK", "true")
    assert names.is_gemini_model_id_check_disabled()


def test_the_model_says_whether_schema_and_tools_go_together() -> None:
    assert (
        can_use_output_schema_with_tools("offline")
        is OfflineLlm(model="offline").supports_output_schema_with_tools
    )
    assert not can_use_output_schema_with_tools(ScriptedModel([]))
    assert can_use_output_schema_with_tools(LiteLlm("groq/llama"))
    assert can_use_output_schema_with_tools("gemini-2.5-flash") is False
    assert can_use_output_schema_with_tools("no-such-model") is False

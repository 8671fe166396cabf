"""LlmResponse.create: what a provider's answer becomes (Spec 2 §5.3)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ostinato import types
from ostinato.models.llm_response import LlmResponse

HELLO = types.Content(role="model", parts=[types.Part(text="Hello")])


def created(**fields: Any) -> LlmResponse:
    return LlmResponse.create(types.GenerateContentResponse(**fields))


@pytest.mark.spec(119)
def test_a_candidate_with_parts_is_content_whatever_its_finish_reason() -> None:
    grounding = types.GroundingMetadata(web_search_queries=["q"])
    candidate = types.Candidate(
        content=HELLO,
        finish_reason=types.FinishReason.MAX_TOKENS,
        grounding_metadata=grounding,
        avg_logprobs=-0.5,
    )
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=3)
    made = created(candidates=[candidate], usage_metadata=usage, model_version="m-1")
    assert made.content == HELLO and made.grounding_metadata == grounding
    assert made.finish_reason == types.FinishReason.MAX_TOKENS
    assert made.usage_metadata == usage and made.model_version == "m-1"
    assert made.avg_logprobs == -0.5
    assert made.error_code is None and made.error_message is None


@pytest.mark.spec(119)
def test_a_candidate_that_stopped_is_no_error_though_it_is_empty() -> None:
    empty = types.Content(role="model", parts=[])
    made = created(
        candidates=[types.Candidate(content=empty, finish_reason=types.FinishReason.STOP)]
    )
    assert made.content == empty and made.error_code is None


@pytest.mark.spec(119)
def test_a_candidate_without_content_is_an_error_named_after_its_finish_reason() -> None:
    candidate = types.Candidate(finish_reason=types.FinishReason.SAFETY, finish_message="Not this.")
    made = created(candidates=[candidate])
    assert made.content is None
    assert (made.error_code, made.error_message) == ("SAFETY", "Not this.")


@pytest.mark.spec(119)
def test_only_the_first_candidate_counts() -> None:
    other = types.Content(role="model", parts=[types.Part(text="Other")])
    both = [types.Candidate(content=HELLO), types.Candidate(content=other)]
    assert created(candidates=both).content == HELLO


@pytest.mark.spec(119)
def test_a_blocked_prompt_is_an_error_with_the_reason() -> None:
    feedback = types.GenerateContentResponsePromptFeedback(
        block_reason=types.BlockedReason.BLOCKLIST, block_reason_message="A listed word."
    )
    made = created(prompt_feedback=feedback)
    assert (made.error_code, made.error_message) == ("BLOCKLIST", "A listed word.")


@pytest.mark.spec(119)
@pytest.mark.parametrize("candidates", [None, []])
def test_an_answer_without_candidates_is_empty_and_no_error(candidates: Any) -> None:
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=3)
    made = created(candidates=candidates, usage_metadata=usage)
    assert made.content == types.Content(role="model", parts=[])
    assert (made.error_code, made.error_message, made.usage_metadata) == (None, None, usage)


def test_a_response_has_no_other_fields() -> None:
    with pytest.raises(ValidationError, match="text"):
        LlmResponse(text="Hello")  # type: ignore[call-arg]

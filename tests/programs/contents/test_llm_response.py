"""pytest style: LlmResponse.create from answers of Gemini, and LlmRequest's helpers."""

import pytest
from google.adk.models import LlmRequest, LlmResponse
from google.genai import types
from pydantic import BaseModel


def answer(**fields):
    return types.GenerateContentResponse(**fields)


def test_text():
    made = LlmResponse.create(
        answer(
            candidates=[
                types.Candidate(
                    content=types.Content(role="model", parts=[types.Part(text="hi")]),
                    finish_reason=types.FinishReason.STOP,
                )
            ],
            usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=3),
        )
    )
    assert made.content.parts[0].text == "hi"
    assert made.usage_metadata.total_token_count == 3
    assert made.finish_reason == types.FinishReason.STOP
    assert made.error_code is None


def test_stopped_without_content():
    made = LlmResponse.create(
        answer(
            candidates=[
                types.Candidate(finish_reason=types.FinishReason.SAFETY, finish_message="no")
            ]
        )
    )
    assert made.error_code == types.FinishReason.SAFETY
    assert made.error_message == "no"


def test_blocked_prompt():
    feedback = types.GenerateContentResponsePromptFeedback(
        block_reason=types.BlockedReason.SAFETY, block_reason_message="blocked"
    )
    made = LlmResponse.create(answer(prompt_feedback=feedback))
    assert made.error_code == types.BlockedReason.SAFETY
    assert made.error_message == "blocked"


def test_no_candidates():
    made = LlmResponse.create(answer(candidates=[]))
    assert made.error_code is None
    assert made.content.role == "model"


def test_extra_fields():
    with pytest.raises(ValueError):
        LlmResponse(no_such_field=1)
    assert LlmResponse(partial=True).partial
    assert LlmResponse.model_validate({"errorCode": "X"}).error_code == "X"


def test_request():
    class Out(BaseModel):
        a: int

    request = LlmRequest(model="m", contents=[])
    request.set_output_schema(Out)
    assert request.config.response_schema is Out
    assert request.config.response_mime_type == "application/json"
    request.append_instructions(["a"])
    request.append_instructions(["b", "c"])
    assert request.config.system_instruction == "a\n\nb\n\nc"
    assert request.tools_dict == {}

"""Responses of many kinds: usage, finish reasons, errors, custom metadata, several parts."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session

root_replies = [
    LlmResponse(
        content=types.ModelContent("with usage"),
        usage_metadata=types.GenerateContentResponseUsageMetadata(
            prompt_token_count=5, candidates_token_count=2, total_token_count=7
        ),
        finish_reason=types.FinishReason.STOP,
        model_version="m-1",
    ),
    LlmResponse(content=types.ModelContent("with metadata"), custom_metadata={"k": [1]}),
    LlmResponse(error_code="SAFETY", error_message="blocked"),
    LlmResponse(
        content=types.ModelContent(
            [types.Part(text="thinking", thought=True), types.Part(text="answer")]
        )
    ),
    LlmResponse(content=types.ModelContent("cut"), finish_reason=types.FinishReason.MAX_TOKENS),
    LlmResponse(content=types.ModelContent("stopped"), interrupted=True, turn_complete=True),
]


class Replies(BaseLlm):
    model: str = "replies"

    async def generate_content_async(self, llm_request, stream=False):
        yield root_replies.pop(0)


async def main():
    runner = InMemoryRunner(
        agent=Agent(name="desk", model=Replies(), output_key="out"), app_name="desk"
    )
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in "abcdef":
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            show(
                usage=event.usage_metadata,
                finish=event.finish_reason,
                version=event.model_version,
                said=event.error_message,
                flags=[event.interrupted, event.turn_complete],
                final=event.is_final_response(),
            )
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())

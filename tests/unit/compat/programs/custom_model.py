"""A model of one's own, found by name through LLMRegistry."""

import asyncio
import re

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LLMRegistry
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from printing import show


class CountingLlm(BaseLlm):
    calls: int = 0

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"counting-.*"]

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False):
        self.calls += 1
        words = [
            word
            for content in llm_request.contents
            for part in content.parts or []
            for word in re.findall(r"\w+", part.text or "")
        ]
        print("    config:", llm_request.model, llm_request.config.temperature, stream)
        yield LlmResponse(
            content=types.Content(
                role="model", parts=[types.Part(text=f"{len(words)} words, call {self.calls}")]
            ),
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=len(words), candidates_token_count=4
            ),
            finish_reason=types.FinishReason.STOP,
        )


LLMRegistry.register(CountingLlm)

agent = LlmAgent(
    name="counter",
    model="counting-2000",
    generate_content_config=types.GenerateContentConfig(temperature=0.25),
)


async def main():
    print(LLMRegistry.resolve("counting-1").__name__, type(agent.canonical_model).__name__)
    runner = InMemoryRunner(agent=agent, app_name="counting")
    session = await runner.session_service.create_session(app_name="counting", user_id="u")
    for text in ["one two three", "four five"]:
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            show(event)
            print(event.usage_metadata.prompt_token_count, event.finish_reason.name)


asyncio.run(main())

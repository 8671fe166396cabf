"""Compaction by a token threshold: the model's usage decides when older events are summed up."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_request


class Model(BaseLlm):
    model: str = "model"

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        tokens = 10 * len(llm_request.contents)
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text=f"{tokens} tokens")]),
            usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens),
        )


class Summarizer(BaseLlm):
    model: str = "summarizer"

    async def generate_content_async(self, llm_request, stream=False):
        said = types.Part(text="They talked.")
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


async def main():
    app = App(
        name="desk",
        root_agent=Agent(name="desk", model=Model()),
        events_compaction_config=EventsCompactionConfig(
            compaction_interval=100,
            overlap_size=0,
            token_threshold=40,
            event_retention_size=2,
            summarizer=LlmEventSummarizer(llm=Summarizer()),
        ),
    )
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in "abcd":
        async for _ in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    show(authors=[event.author for event in session.events])
    show(summaries=[event.actions.compaction is not None for event in session.events])


asyncio.run(main())

"""An app with events compaction: older turns become a summary in the session."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


class Summarizer(BaseLlm):
    model: str = "summarizer"

    async def generate_content_async(self, llm_request, stream=False):
        said = types.Part(text="They counted.")
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


async def main():
    agent = Agent(name="desk", model=Scripted(replies=[say(str(n)) for n in range(5)]))
    app = App(
        name="desk",
        root_agent=agent,
        events_compaction_config=EventsCompactionConfig(
            compaction_interval=2, overlap_size=1, summarizer=LlmEventSummarizer(llm=Summarizer())
        ),
    )
    runner = InMemoryRunner(app=app)
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    for text in "abcde":
        async for _ in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(app_name="desk", user_id="u", session_id="s")
    for event in session.events:
        summary = event.actions.compaction
        show(
            author=event.author,
            said=event.content and event.content.parts[0].text,
            summary=summary and summary.compacted_content,
        )


asyncio.run(main())

"""An App with a plugin and event compaction through a summarizer of one's own."""

import asyncio

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models import BaseLlm, LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.runners import InMemoryRunner
from google.genai import types
from printing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


class Counting(BasePlugin):
    runs = 0

    async def before_run_callback(self, *, invocation_context):
        self.runs += 1


async def main():
    counting = Counting("counting")
    summaries = Scripted(replies=[say("Summary one."), say("Summary two.")])
    app = App(
        name="long_talk",
        root_agent=Agent(
            name="talker", model=Scripted(replies=[say(f"Answer {n}.") for n in range(1, 6)])
        ),
        plugins=[counting],
        events_compaction_config=EventsCompactionConfig(
            compaction_interval=2,
            overlap_size=0,
            summarizer=LlmEventSummarizer(llm=summaries, prompt_template="{conversation_history}"),
        ),
    )
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="long_talk", user_id="u")
    for number in range(1, 6):
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(f"Question {number}")
        ):
            show(event)
    session = await runner.session_service.get_session(
        app_name="long_talk", user_id="u", session_id=session.id
    )
    print(counting.runs, [event.author for event in session.events])


asyncio.run(main())

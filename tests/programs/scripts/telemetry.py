"""Spans of a run, as a program sees them that sets up a tracer provider."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from showing import show


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)


def ping() -> str:
    """Pings."""
    return "pong"


root_agent = Agent(name="desk", model=Scripted(replies=[call("ping"), say("Ok.")]), tools=[ping])


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    await runner.session_service.create_session(app_name="desk", user_id="u", session_id="s")
    async for _ in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("Ping")
    ):
        pass
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans}
    for span in sorted(spans, key=lambda one: one.start_time):
        print(span.name, "<", names.get(span.parent.span_id) if span.parent else None)
    (tool,) = [span for span in spans if span.name == "execute_tool ping"]
    show(
        tool=tool.attributes["gen_ai.tool.name"], operation=tool.attributes["gen_ai.operation.name"]
    )


asyncio.run(main())

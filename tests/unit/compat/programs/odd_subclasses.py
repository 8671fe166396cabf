"""Records and agents that a program made its own by subclassing them with more fields."""

import asyncio
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner, Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import BaseTool, FunctionTool
from google.genai import types
from printing import show, show_request
from pydantic import Field, PrivateAttr


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


class TaggedEvent(Event):
    tag: str = "none"
    scores: list[int] = Field(default_factory=list)


class TaggedActions(EventActions):
    urgent: bool = False


class CostlyResponse(LlmResponse):
    cost: float = 0.0


class DeskAgent(LlmAgent):
    desk: int
    _seen: int = PrivateAttr(default=0)

    async def _run_async_impl(self, ctx):
        self._seen += 1
        async for event in super()._run_async_impl(ctx):
            event.custom_metadata = {"desk": self.desk, "seen": self._seen}
            yield event


class Tagger(BaseAgent):
    async def _run_async_impl(self, ctx):
        yield TaggedEvent(
            author=self.name,
            invocation_id=ctx.invocation_id,
            content=types.ModelContent("Tagged."),
            tag="blue",
            scores=[1, 2],
            actions=TaggedActions(state_delta={"tagged": True}, urgent=True),
        )


class CostlyLlm(BaseLlm):
    price: float = 0.5

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False):
        yield CostlyResponse(content=types.ModelContent("Dear."), cost=self.price)


class Loud(FunctionTool):
    def __init__(self, func, volume: int):
        super().__init__(func)
        self.volume = volume

    async def run_async(self, *, args: dict[str, Any], tool_context) -> Any:
        found = await super().run_async(args=args, tool_context=tool_context)
        return {"said": str(found).upper(), "volume": self.volume}


class MyRunner(Runner):
    runs = 0

    async def run_async(self, **arguments):
        self.runs += 1
        async for event in super().run_async(**arguments):
            yield event


class MyService(InMemorySessionService):
    appended = 0

    async def append_event(self, session: Session, event: Event) -> Event:
        self.appended += 1
        return await super().append_event(session, event)


def greet(person: str) -> str:
    """Greets."""
    return f"hello {person}"


async def talk(agent, text="Go", **settings):
    print("--", agent.name)
    service = MyService()
    runner = MyRunner(agent=agent, app_name="odd", session_service=service)
    await service.create_session(app_name="odd", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent(text), **settings
    ):
        show(event)
        print("   ", event.custom_metadata, getattr(event, "tag", None))
    session = await service.get_session(app_name="odd", user_id="u", session_id="s")
    print(runner.runs, service.appended, session.state, [e.author for e in session.events])


async def main():
    await talk(Tagger(name="tagger"))
    await talk(LlmAgent(name="costly", model=CostlyLlm(model="c")))
    tools = [Loud(greet, volume=9)]
    model = Scripted(replies=[call("greet", person="Ann"), say("Greeted.")])
    await talk(DeskAgent(name="desk", desk=3, model=model, tools=tools))
    print(isinstance(tools[0], BaseTool), InMemoryRunner.__mro__[1] is Runner)
    try:
        Event(author="a", no_such_field=1)
    except ValueError as error:
        print("refused:", type(error).__name__)
    try:
        RunConfig(no_such_field=1)
    except ValueError as error:
        print("refused:", type(error).__name__)


asyncio.run(main())

"""Events edited after they were yielded, and session.events assigned to and edited in hooks."""

import asyncio

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
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


def forget(callback_context):
    """Drops all but the newest two events from what the agent sees."""
    session = callback_context._invocation_context.session
    if len(session.events) > 3:
        session.events = session.events[-2:]


def slip_in(callback_context):
    session = callback_context._invocation_context.session
    session.events.insert(
        0, Event(author="user", content=types.UserContent("(slipped in)"), invocation_id="x")
    )


class Repeater(BaseAgent):
    async def _run_async_impl(self, ctx):
        event = Event(
            author=self.name, invocation_id=ctx.invocation_id, content=types.ModelContent("One.")
        )
        yield event
        print("   in session:", len(ctx.session.events), ctx.session.events[-1].author)
        yield Event(
            author=self.name, invocation_id=ctx.invocation_id, content=types.ModelContent("Two.")
        )


async def talk(agent, texts, edit=None):
    print("--", agent.name)
    runner = InMemoryRunner(agent=agent, app_name="odd")
    await runner.session_service.create_session(app_name="odd", user_id="u", session_id="s")
    for text in texts:
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=types.UserContent(text)
        ):
            show(event)
            if edit is not None:
                edit(event)
    session = await runner.session_service.get_session(app_name="odd", user_id="u", session_id="s")
    print(len(session.events), session.state)
    session.events.clear()
    session.state["mine"] = 1
    again = await runner.session_service.get_session(app_name="odd", user_id="u", session_id="s")
    print(len(again.events), again.state)


def metadata(event):
    event.custom_metadata = {"seen": True}
    event.actions.state_delta["late"] = True


async def main():
    texts = ["One", "Two", "Three"]

    def model():
        return Scripted(replies=[say(f"Answer {n}.") for n in range(1, 4)])

    await talk(LlmAgent(name="forgets", model=model(), before_agent_callback=forget), texts)
    await talk(LlmAgent(name="slips", model=model(), before_agent_callback=slip_in), texts[:1])
    await talk(LlmAgent(name="edited", model=model()), texts[:2], edit=metadata)
    await talk(Repeater(name="repeater"), texts[:1])


asyncio.run(main())

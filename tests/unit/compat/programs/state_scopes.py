"""State with its prefixes, over two sessions of one user and one of another."""

import asyncio
import time

from google.adk.agents import LlmAgent
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.sessions.state import State
from google.adk.tools.tool_context import ToolContext
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


def set_preferences(theme: str, tool_context: ToolContext) -> dict:
    """Sets preferences."""
    state = tool_context.state
    state[State.USER_PREFIX + "theme"] = theme
    state[State.APP_PREFIX + "uses"] = state.get("app:uses", 0) + 1
    state["temp:step"] = "half"
    state["count"] = state.get("count", 0) + 1
    state.setdefault("list", []).append(theme)
    state.update({"done": True})
    return {"temp": state["temp:step"], "had": "count" in state, "delta": state.has_delta()}


agent = LlmAgent(
    name="prefs",
    model=Scripted(
        replies=[call("set_preferences", theme="dark"), say("Set."), say("Same user."), say("No.")]
    ),
    instruction="Theme is {user:theme?}, used {app:uses?}.",
    tools=[set_preferences],
)


async def main():
    runner = InMemoryRunner(agent=agent, app_name="scopes")
    service = runner.session_service
    await service.create_session(
        app_name="scopes", user_id="ann", session_id="a1", state={"user:lang": "en", "here": 1}
    )
    await service.create_session(app_name="scopes", user_id="ann", session_id="a2")
    await service.create_session(app_name="scopes", user_id="bob", session_id="b1")
    for user, name in [("ann", "a1"), ("ann", "a2"), ("bob", "b1")]:
        async for event in runner.run_async(
            user_id=user,
            session_id=name,
            new_message=types.UserContent("Hi"),
            state_delta={"asked_by": user},
        ):
            show(event)
        session = await service.get_session(app_name="scopes", user_id=user, session_id=name)
        print(user, name, sorted(session.state.items()))
    session = await service.get_session(app_name="scopes", user_id="bob", session_id="b1")
    await service.append_event(
        session,
        Event(
            invocation_id="login",
            author="system",
            actions=EventActions(state_delta={"task": "active", "user:logins": 1, "temp:x": 1}),
            timestamp=time.time(),
        ),
    )
    print(sorted(session.state.items()))
    again = await service.get_session(app_name="scopes", user_id="bob", session_id="b1")
    print(sorted(again.state.items()))
    found = await service.list_sessions(app_name="scopes", user_id="ann")
    print(sorted(session.id for session in found.sessions))
    await service.delete_session(app_name="scopes", user_id="ann", session_id="a1")
    print(await service.get_session(app_name="scopes", user_id="ann", session_id="a1"))


asyncio.run(main())

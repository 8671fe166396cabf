"""unittest style: IsolatedAsyncioTestCase with a runner made in asyncSetUp."""

import unittest
from unittest import mock

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types


class Echo(BaseLlm):
    model: str = "echo"

    async def generate_content_async(self, llm_request, stream=False):
        text = llm_request.contents[-1].parts[-1].text
        yield LlmResponse(content=types.ModelContent(f"You said {text}"))


class DeskTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.service = InMemorySessionService()
        self.runner = Runner(
            app_name="desk", agent=LlmAgent(name="desk", model=Echo()), session_service=self.service
        )
        self.session = await self.service.create_session(
            app_name="desk", user_id="u", session_id="s", state={"count": 0}
        )

    async def ask(self, text):
        content = types.Content(role="user", parts=[types.Part(text=text)])
        return [
            event
            async for event in self.runner.run_async(
                user_id="u", session_id="s", new_message=content
            )
        ]

    async def test_answer(self):
        events = await self.ask("hi")
        self.assertEqual(len(events), 1)
        self.assertEqual(events[0].content.parts[0].text, "You said hi")
        self.assertEqual(events[0].content.parts, [types.Part(text="You said hi")])

    async def test_session_grows(self):
        await self.ask("one")
        await self.ask("two")
        session = await self.service.get_session(app_name="desk", user_id="u", session_id="s")
        self.assertEqual([e.author for e in session.events], ["user", "desk"] * 2)
        self.assertEqual(len(self.session.events), 0)

    async def test_missing_session(self):
        with self.assertRaises(ValueError):
            async for _ in self.runner.run_async(
                user_id="u", session_id="x", new_message=types.UserContent("hi")
            ):
                pass

    async def test_mocked_service(self):
        with mock.patch.object(self.service, "append_event", wraps=self.service.append_event) as m:
            await self.ask("hi")
        self.assertEqual(m.call_count, 2)

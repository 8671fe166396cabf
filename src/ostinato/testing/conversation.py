"""A conversation with an agent, an app or a runner in one session, for tests."""

from __future__ import annotations

from typing import Any, cast

from .. import types
from .._aclosing import Aclosing
from ..agents.agent_run_result import read_output
from ..apps.app import App
from ..errors import InvalidAnswerError
from ..events.event import Event
from ..runners import InMemoryRunner, Runner
from ..sessions.session import Session
from .event_trace import final_text


class Conversation:
    """A talk with an agent; each `say` is one run.

    Attributes:
      runner: the runner behind it.
      events: what the last run yielded; a refused answer makes no run.
    """

    def __init__(
        self,
        agent: Any,
        *,
        user_id: str = "user",
        session_id: str = "session",
        state: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Prepare a talk.

        Args:
          agent: an agent, an App, or a Runner.
          user_id: who talks.
          session_id: the session, created at the first message unless it exists.
          state: the state of a new session.
          **options: passed on to `InMemoryRunner`, such as `plugins`.
        """
        self.runner = _runner_for(agent, options)
        self.events: list[Event] = []
        self._user_id, self._session_id, self._state = user_id, session_id, state

    async def say(
        self, message: str | types.Content | list[types.Part] | None, **options: Any
    ) -> list[Event]:
        """Send a message and return the events of the run.

        Args:
          message: text, a Content, or its parts; None resumes an invocation.
          **options: passed on to `Runner.run_async`, such as `run_config`, `invocation_id`.
        """
        await self.session()
        before, self.events = self.events, []
        run = self.runner.run_async(
            user_id=self._user_id,
            session_id=self._session_id,
            new_message=_make_content(message),
            **options,
        )
        try:
            async with Aclosing(run):
                async for event in run:
                    self.events.append(event)
        except InvalidAnswerError:  # the call stays open
            self.events = self.events or before
            raise
        return self.events

    async def answer(self, call: types.FunctionCall, response: Any, **options: Any) -> list[Event]:
        """Answer a call that waits for the user, and return the events of the run.

        Args:
          call: one of `pending`.
          response: the answer; one that is no dict is sent as `{"result": response}`.
          **options: as for `say`.
        """
        given = types.FunctionResponse(
            id=call.id,
            name=call.name,
            response=cast("dict[str, Any]", response)
            if isinstance(response, dict)
            else {"result": response},
        )
        return await self.say([types.Part(function_response=given)], **options)

    def pending(self) -> list[types.FunctionCall]:
        """Return the calls of the last run that wait for an answer from outside."""
        return [
            call
            for event in self.events
            for call in event.get_function_calls()
            if call.id in (event.long_running_tool_ids or ())
        ]

    @property
    def text(self) -> str:
        """The final text of the last run."""
        return final_text(self.events)

    @property
    def output(self) -> Any:
        """The output of the last run, as `AgentRunResult.output` has it: an object if the agent
        has an `output_schema`, else the text.

        Raises:
          NoOutputError: the run ended with an error event or without text, or waits for an answer.
          pydantic.ValidationError: the text does not match the schema.
        """
        return read_output(self.runner.agent, [one for one in self.events if not one.partial])

    async def session(self) -> Session:
        """Return the stored session; create it if it does not exist."""
        service = self.runner.session_service
        app, user, key = self.runner.app_name, self._user_id, self._session_id
        found = await service.get_session(app_name=app, user_id=user, session_id=key)
        return found or await service.create_session(
            app_name=app, user_id=user, session_id=key, state=self._state
        )


def _runner_for(agent: Any, options: dict[str, Any]) -> Runner:
    if isinstance(agent, Runner):
        return agent
    if isinstance(agent, App):
        return InMemoryRunner(app=agent, **options)
    named: dict[str, Any] = {"app_name": "test", **options}
    return InMemoryRunner(agent=agent, **named)


def _make_content(message: str | types.Content | list[types.Part] | None) -> types.Content | None:
    if message is None or isinstance(message, types.Content):
        return message
    parts = [types.Part(text=message)] if isinstance(message, str) else message
    return types.Content(role="user", parts=parts)

"""RunRequest: one request to a runner, passed through its parts; RunnerAccess: that runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .. import context, types
from ..context.deps import NOT_GIVEN
from ..context.invocation import InvocationContext, new_invocation_context_id
from ..context.live_request_queue import LiveRequestQueue
from ..durable.inbox import dump_content
from ..errors import InputValidationError
from ..events.event import Event
from ..sessions.session import Session
from ..sessions.store.durable_store import Place
from ..sessions.store.keyed_requests import (
    CONTENT_DIGEST,
    RequestDigests,
    digest_content,
    digests_of_metadata,
)

if TYPE_CHECKING:
    from ..agents.base_agent import BaseAgent
    from ..apps.app import App
    from ..context._ports import Spawn
    from ..context.app_config import ResumabilityConfig
    from ..models.context_cache_config import ContextCacheConfig
    from ..plugins.plugin_manager import PluginManager

Execute = Callable[[InvocationContext], AsyncGenerator[Event, None]]


class RunnerHost(Protocol):
    """The public attributes of a Runner that its parts read; users may reassign them."""

    app: App
    app_name: str
    artifact_service: Any
    session_service: Any
    memory_service: Any
    credential_service: Any
    auto_create_session: bool
    context_cache_config: ContextCacheConfig | None
    resumability_config: ResumabilityConfig | None
    plugin_manager: PluginManager
    max_attempts: int


class LoadSession(Protocol):
    """Loads the session of a request; `ContextFactory.load_session` does."""

    def __call__(self, request: RunRequest, *, asks: bool) -> Awaitable[Session]: ...


@dataclass(slots=True)
class RunnerAccess:
    """What the parts of a Runner use of it: its attributes and the methods subclasses may override.

    Each request brings it, because a part that held its Runner would form a reference cycle with
    it. A turn is `Any` here, because it holds its request.
    """

    host: RunnerHost
    load_session: LoadSession
    set_up_new: Callable[[Session, Any], Awaitable[InvocationContext | None]]
    set_up_resumed: Callable[[Session, Any], Awaitable[InvocationContext | None]]
    make_context: Callable[[Session, Any, types.Content | None], Awaitable[InvocationContext]]
    find_agent: Callable[[Session, BaseAgent], BaseAgent]
    execute: Callable[[InvocationContext, Execute], AsyncGenerator[Event, None]]
    spawn: Spawn


def as_content(message: Any) -> types.Content | None:
    """Return a message given as Content, text or dict as Content of role `user`.

    Raises:
      InputValidationError: it has another type.
    """
    if message is None:
        return None
    if isinstance(message, str):
        return types.Content(role="user", parts=[types.Part(text=message)])
    try:
        content = types.Content.model_validate(message)
    except ValueError as error:
        raise InputValidationError(
            f"new_message must be a Content, a dict with role and parts, or a str: {error}"
        ) from error
    if not content.role:
        # A copy: the caller's object must not change.
        content = content.model_copy(update={"role": "user"})
    return content


@dataclass(slots=True)
class RunRequest:
    """One request to run an invocation.

    Attributes:
      runner: the runner that it goes to.
      place: the session.
      id: id of the request and of the invocation that it starts.
      message: the user's message, or function responses: Content, dict or text from the caller,
        Content or None from then on.
      invocation_id: the invocation to resume, or None to start one.
      state_delta: state changes that go with the message.
      config: settings of the run.
      yield_user_message: yield the message's own event first.
      once: whether a started invocation only yields its stored events.
      complete: whether events from before the newest summary are needed.
      live: the user's input to a live run, or None.
      trace: headers of the sender's trace; None for the current trace.
      ends_live: whether it ends an abandoned live run.
      numbers: filled with the number of each event within its session, by the event's id; None if
        the caller does not need them.
      deps: deps for tools, instructions and callbacks.
      accepted: done once the message is stored in the log or in the inbox, or None.
      leave: releases its session; None until it waits for the session.
      recovered: events stored by the recovery of its own abandoned invocation, which its caller
        gets before those of its own run.
      digests: what tells it from another request under its key; None without a key.
    """

    runner: RunnerAccess
    place: Place
    id: str
    message: Any
    invocation_id: str | None
    state_delta: dict[str, Any] | None
    config: context.RunConfig
    yield_user_message: bool = False
    once: bool = False
    complete: bool = False
    live: LiveRequestQueue | None = None
    trace: dict[str, str] | None = None
    ends_live: bool = False
    numbers: dict[str, int] | None = None
    deps: Any = NOT_GIVEN
    accepted: asyncio.Future[None] | None = None
    leave: Callable[[BaseException | None], Awaitable[None]] | None = None
    recovered: list[Event] | None = None
    digests: RequestDigests | None = None

    def use_key(self, invocation_id: str) -> None:
        """Make it the request of an idempotency key, whose invocation it starts.

        A resume without a message needs no key: it begins nothing, and an ended invocation
        continues nowhere. A message starts the invocation of its key, whatever it names.

        Raises:
          InputValidationError: the message has another type.
        """
        self.message = as_content(self.message)
        if self.message is None and self.invocation_id is not None:
            return
        self.id, self.once, self.invocation_id = invocation_id, True, None
        content = dump_content(self.message)
        found = digests_of_metadata(self.config.custom_metadata)
        self.digests = found._replace(
            content=digest_content(invocation_id, content, self.state_delta)
        )

    @property
    def message_metadata(self) -> dict[str, Any] | None:
        """The metadata of the message's event: that of the run, and its digest for a key."""
        given = self.config.custom_metadata
        if self.digests is None or self.digests.content is None:
            return given
        return {**(given or {}), CONTENT_DIGEST: self.digests.content}

    async def release(self, error: BaseException) -> None:
        """Release the session if the request still holds it.

        Args:
          error: the error that ended the run.
        """
        if self.leave is not None:
            await self.leave(error)

    def accept(self) -> None:
        """Mark the message as stored."""
        if self.accepted is not None and not self.accepted.done():
            self.accepted.set_result(None)

    @classmethod
    def internal(cls, runner: RunnerAccess, place: Place, config: context.RunConfig) -> RunRequest:
        """Return a request that needs the session exclusively, but runs no agent."""
        return cls(
            runner, place, new_invocation_context_id(), None, None, None, config, complete=True
        )

    @property
    def needs_all(self) -> bool:
        """Whether events from before the newest summary may be needed."""
        if self.complete or self.once or self.invocation_id is not None:
            return True
        return self.answers_calls

    @property
    def answers_calls(self) -> bool:
        """Whether the message holds function responses."""
        parts = (self.message.parts if self.message is not None else None) or ()
        for part in parts:
            if part.function_response is not None:
                return True
        return False

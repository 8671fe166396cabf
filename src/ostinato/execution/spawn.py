"""Spawned runs: an agent in a hidden session beside an invocation, for AgentTool."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol

from .. import types
from .._aclosing import Aclosing
from ..artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from ..context.invocation import InvocationContext
from ..errors import AlreadyExistsError
from ..events.event import Event
from .store_access import StoreAccess


class SpawnedRunner(Protocol):
    """The part of a runner that `spawn` uses."""

    def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: Any = None,
        invocation_id: str | None = None,
        run_config: Any,
        deps: Any,
    ) -> AsyncGenerator[Event, None]: ...


async def spawn(
    store: StoreAccess,
    make_runner: Callable[[BaseArtifactService | None], SpawnedRunner],
    *,
    parent: InvocationContext,
    call_id: str | None,
    message: types.Content,
    state: dict[str, Any],
) -> AsyncGenerator[Event, None]:
    """Run an agent in a hidden session named by parent session and call, and yield its events.

    If the parent resumes after a crash, the agent resumes in its session, and its earlier events
    are yielded first. The session is deleted once the call's response is committed.

    Args:
      store: the store of the hidden session.
      make_runner: makes the agent's runner with an artifact service.
      parent: the run that waits for the agent.
      call_id: the call of the agent.
      message: the agent's message.
      state: initial state of the hidden session.
    """
    session_id, begun = store.hidden_id(parent.session, call_id), None
    if parent.run_state.resume is not None:
        begun = await store.open_hidden(parent.session, session_id)
    if begun is None:
        try:
            await store.create_hidden(parent.session, session_id, state)
        except AlreadyExistsError:  # stale, or of a new owner, which the commit detects
            await parent.services.commit(())
            await store.delete_hidden(parent.session, session_id)
            await store.create_hidden(parent.session, session_id, state)
    if call_id:
        parent.run_state.cleanup_callbacks[call_id] = lambda: store.delete_hidden(
            parent.session, session_id
        )
    artifacts = parent.artifact_service
    runner = make_runner(
        None if artifacts is None else ParentArtifacts(artifacts, parent.session.id)
    )
    place: dict[str, Any] = {
        "user_id": parent.user_id,
        "session_id": session_id,
        "run_config": parent.run_config,
        "deps": parent.services.deps,
    }
    if begun is not None and begun.events:
        run = runner.run_async(**place, invocation_id=begun.events[0].invocation_id)
        async with Aclosing(run) as events:
            async for _ in events:
                pass
        # Read again, so that the events from before the crash come first.
        begun = await store.open_hidden(parent.session, session_id)
        for event in begun.events if begun is not None else ():
            if event.author != "user":
                yield event
        return
    async with Aclosing(runner.run_async(**place, new_message=message)) as events:
        async for event in events:
            yield event


class ParentArtifacts(BaseArtifactService):
    """An artifact service that maps every session to the parent's.

    Args:
      service: the underlying service.
      session_id: id of the parent's session.
    """

    def __init__(self, service: BaseArtifactService, session_id: str) -> None:
        self._service = service
        self._session_id = session_id

    async def save_artifact(self, **place: Any) -> int:
        """Save an artifact; see the port."""
        return await self._service.save_artifact(**self._in_parent(place))

    async def load_artifact(self, **place: Any) -> types.Part | None:
        """Load an artifact; see the port."""
        return await self._service.load_artifact(**self._in_parent(place))

    async def list_artifact_keys(self, **place: Any) -> list[str]:
        """List names; see the port."""
        return await self._service.list_artifact_keys(**self._in_parent(place))

    async def delete_artifact(self, **place: Any) -> None:
        """Delete an artifact; see the port."""
        await self._service.delete_artifact(**self._in_parent(place))

    async def list_versions(self, **place: Any) -> list[int]:
        """List version numbers; see the port."""
        return await self._service.list_versions(**self._in_parent(place))

    async def list_artifact_versions(self, **place: Any) -> list[ArtifactVersion]:
        """List versions; see the port."""
        return await self._service.list_artifact_versions(**self._in_parent(place))

    async def get_artifact_version(self, **place: Any) -> ArtifactVersion | None:
        """Describe a version; see the port."""
        return await self._service.get_artifact_version(**self._in_parent(place))

    def _in_parent(self, place: dict[str, Any]) -> dict[str, Any]:
        return place | {"session_id": self._session_id}

"""Endpoint of long-term memory: remember a session."""

from __future__ import annotations

from ..sessions._durable_store import Place
from .endpoint import Call, Endpoint
from .place import checked, need_session
from .runs import Wire


class UpdateMemoryRequest(Wire):
    """The session to remember."""

    session_id: str


async def remember(call: Call) -> None:
    """Add a session to the user's memory."""
    await call.host.agents.get(call.path["app"])
    place = checked(Place(call.path["app"], call.path["user"], call.body.session_id))
    session = await need_session(call.host.services.sessions, place)
    await call.host.services.memories.add_session_to_memory(session)


ENDPOINTS = (
    Endpoint(
        "PATCH",
        "/apps/{app}/users/{user}/memory",
        "Add a session to the user's long-term memory",
        remember,
        body=UpdateMemoryRequest,
        problems=(404, 503),
    ),
)

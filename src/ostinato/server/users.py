"""Endpoints of a user: add a session to the long-term memory, and erase everything."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..hosting.erasure import erase_user
from ..sessions.base_session_service import check_name
from ..sessions.store.durable_store import Place
from .endpoint import Call, Endpoint, NoQuery
from .names import Id
from .place import check_place, need_session
from .runs import WireRecord


class UpdateMemoryRequest(WireRecord):
    """The session to remember."""

    session_id: Id


async def remember_session(call: Call) -> None:
    """Add a session to the user's memory."""
    await call.host.agents.get_app(call.path["app"])
    place = check_place(Place(call.path["app"], call.path["user"], call.body.session_id))
    session = await need_session(call.host.services.sessions, place)
    await call.host.services.memories.add_session_to_memory(session)


async def erase_user_data(call: Call) -> dict[str, Any]:
    """Erase a user's data in an app; return the counts."""
    app, user = call.path["app"], call.path["user"]
    check_name("app name", app)
    check_name("user id", user)
    return asdict(await erase_user(call.host.services, app, user))


ENDPOINTS = (
    Endpoint(
        "PATCH",
        "/apps/{app}/users/{user}/memory",
        "Add a session to the user's long-term memory",
        remember_session,
        body=UpdateMemoryRequest,
    ),
    Endpoint(
        "DELETE",
        "/apps/{app}/users/{user}",
        "Erase everything that is stored of a user: sessions, state, artifacts, memories, spans",
        erase_user_data,
        query=NoQuery,
        answer=dict[str, Any],
    ),
)

"""The judge: it creates a round's sessions, lets everything settle in the end, and reads them."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ostinato.errors import OstinatoError
from ostinato.events import Event
from ostinato.sessions.store.durable_store import Place
from tests.crash.world import Record
from tests.jepsen.agent import APP, USER, Tools
from tests.jepsen.checker import CONFIRM
from tests.jepsen.client import ClientPlan, open_runner, open_service
from tests.jepsen.history import Final, Logged

_PATIENCE = 40.0  # seconds within which everything has to settle
_PAUSE = 0.2


async def create_sessions(plan: ClientPlan, service: Any = None) -> None:
    """Create the sessions of a round; a database that was just started may take a moment."""
    made = service or open_service(plan.url, Path(plan.folder))
    for session in plan.sessions:
        await made.create_session(app_name=APP, user_id=USER, session_id=session)
    if service is None:
        await made.close()


async def settle_sessions(plan: ClientPlan, service: Any = None) -> dict[str, Final]:
    """Resume what is open, let each session answer once more, and read it anew.

    Args:
      plan: names store, folder and sessions.
      service: the session service; made from the plan if it is missing.
    """
    folder = Path(plan.folder)
    shown = service or open_service(plan.url, folder)
    runner = open_runner(shown, Tools(Record(folder / "effects")))
    until, left = time.monotonic() + _PATIENCE, ["nothing was tried"]
    while left and time.monotonic() < until:
        try:
            await runner.resume_open()
            left = await _find_rest(shown)
        except OstinatoError as error:
            left = [f"{type(error).__name__}: {error}"]
        if left:
            await asyncio.sleep(_PAUSE)
    finals: dict[str, Final] = {}
    for session in plan.sessions:
        problems = [*left, *await _say_last(runner, session)]
        await shown.flush()  # the release may be committed behind the answer
        finals[session] = await _read_anew(plan, session, service)
        finals[session].left += problems
    await runner.close()
    if service is None:
        await shown.close()
    return finals


async def _find_rest(service: Any) -> list[str]:
    """Return what is left of leases and inboxes."""
    left = [f"open lease {lease}" for lease in await service.open_leases(APP)]
    left += [f"stuck lease {lease}" for lease in await service.open_leases(APP, stuck=True)]
    return left + [f"messages wait in {place}" for place in await service.waiting_places(APP)]


async def _say_last(runner: Any, session: str) -> list[str]:
    words = ""
    try:
        async with asyncio.timeout(_PATIENCE):
            async for event in runner.run_async(
                user_id=USER, session_id=session, new_message=f"final-{session}"
            ):
                words = find_text(event) or words
    except Exception as error:
        return [f"the last message failed: {type(error).__name__}: {error}"]
    return [] if words == "Noted." else [f"the last message was answered by {words!r}"]


async def _read_anew(plan: ClientPlan, session: str, service: Any) -> Final:
    """Read a session with a service that remembers nothing of it."""
    fresh = service or open_service(plan.url, Path(plan.folder))
    final = await _read_final(fresh, session)
    if service is None:
        await fresh.close()
    return final


async def _read_final(service: Any, session: str) -> Final:
    found = await service.get_session(app_name=APP, user_id=USER, session_id=session)
    left = [f"lease {lease}" for lease in [await service.lease(Place(APP, USER, session))] if lease]
    held = [each for each in left if "owner=''" not in each]
    return Final([log_event(event) for event in found.events], dict(found.state), held)


def find_text(event: Event) -> str:
    """Return the text of an event."""
    parts = event.content.parts if event.content is not None else None
    return "".join(part.text or "" for part in parts or ())


def log_event(event: Event) -> Logged:
    """Return what the checker has to know of an event."""
    responses = [
        (str(each.id), str(each.name), dict(each.response or {}))
        for each in event.get_function_responses()
    ]
    tag = find_text(event) if event.author != "root" else ""
    for _, name, response in responses:
        if name == CONFIRM:
            tag = str(response.get("payload", ""))
    return Logged(
        event.id,
        event.author,
        event.invocation_id,
        event.timestamp,
        tag,
        {k: v for k, v in event.actions.state_delta.items() if not k.startswith("temp:")},
        [(str(each.id), str(each.name)) for each in event.get_function_calls()],
        responses,
    )


def save_finals(finals: dict[str, Final], folder: Path) -> None:
    """Write the sessions' ends into a round's folder."""
    told = {session: asdict(final) for session, final in finals.items()}
    (folder / "final.json").write_text(json.dumps(told))


async def judge_round(plan: ClientPlan) -> None:
    """Do the step of a round that a plan is named after: `create` or `settle`."""
    if plan.name == "create":
        await create_sessions(plan)
    else:
        save_finals(await settle_sessions(plan), Path(plan.folder))

"""Selection of the recorded exchanges of a store that are replayed."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..._clock import now
from ...errors import InputValidationError
from ...execution.live_runs import LIVE_DIGEST
from ...execution.store_access import StoreAccess
from ...execution.tree_digest import tree_digest
from ...sessions.base_session_service import HIDDEN_PREFIX
from ...sessions.session import Session
from .recording import Exchange, RecordedSession, split_exchanges

_AGO = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SHARED = ("user:", "app:")
_PAGE = 500
_PARKED = "the agents' names, kinds, parents or tools are not those with which it began"


@dataclass(slots=True)
class Selection:
    """Which exchanges are replayed.

    Attributes:
      app_name, user_id, session_id: those of this app, user, session; None for all.
      since, until: those whose message came in this time, in seconds since 1970.
      labels: keys or `KEY=VALUE` that an event's metadata must have, all of them.
      sample: how many at most, chosen at random.
      seed: of the choice.
    """

    app_name: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    since: float | None = None
    until: float | None = None
    labels: Sequence[str] = ()
    sample: int | None = None
    seed: int = 0


@dataclass(slots=True)
class Selected:
    """The chosen exchanges.

    Attributes:
      exchanges: those that can be replayed.
      skipped: how many others were in the selection, by reason.
    """

    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    skipped: Counter[str] = field(default_factory=Counter[str])


def parse_time(text: str) -> float:
    """Return a time in seconds since 1970.

    Args:
      text: an age such as `90m`, `12h`, `7d` or `2w`, or a date or time of ISO 8601.

    Raises:
      InputValidationError: it is neither.
    """
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now() - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise InputValidationError(
            f"{text!r} is not a time: write an age such as 7d or 12h, or a date such as 2026-11-01."
        ) from error


async def select_exchanges(service: Any, selection: Selection) -> Selected:
    """Return the exchanges of a store that a selection names.

    Args:
      service: the session service; nothing is written to it.
      selection: which ones.
    """
    store, chosen = StoreAccess(service), Selected()
    found: list[Exchange] = []
    token: str | None = None
    while True:
        page = await service.list_sessions(
            app_name=selection.app_name,
            user_id=selection.user_id,
            page_size=_PAGE,
            page_token=token,
        )
        for listed in page.sessions:
            if _may_have(listed, selection):
                found += await _read_exchanges(service, store, listed, selection)
        token = page.next_page_token
        if token is None:
            break
    found.sort(key=lambda one: (one.messages[0].timestamp, one.session.session_id, one.number))
    for exchange in found:
        obstacle = exchange.find_obstacle()
        if obstacle:
            chosen.skipped[obstacle] += 1
        else:
            chosen.exchanges.append(exchange)
    if selection.sample is not None and selection.sample < len(chosen.exchanges):
        numbers = random.Random(selection.seed).sample(
            range(len(chosen.exchanges)), selection.sample
        )
        chosen.exchanges = [chosen.exchanges[number] for number in sorted(numbers)]
    return chosen


def _may_have(listed: Session, selection: Selection) -> bool:
    if selection.session_id not in (None, listed.id):
        return False
    return selection.since is None or listed.last_update_time >= selection.since


async def _read_exchanges(
    service: Any, store: StoreAccess, listed: Session, selection: Selection
) -> list[Exchange]:
    session = await service.get_session(
        app_name=listed.app_name, user_id=listed.user_id, session_id=listed.id
    )
    if session is None:  # deleted just now
        return []
    state = {key: value for key, value in session.state.items() if key.startswith(_SHARED)}
    state |= await store.initial_state(session)
    recorded = RecordedSession(
        session.app_name, session.user_id, session.id, state, list(session.events)
    )
    since = selection.since if selection.since is not None else float("-inf")
    until = selection.until if selection.until is not None else float("inf")
    return [
        one
        for one in split_exchanges(recorded)
        if since <= one.messages[0].timestamp <= until and all(map(one.has_label, selection.labels))
    ]


async def list_parked(service: Any, root: Any, app_name: str | None) -> list[dict[str, str]]:
    """Return the open invocations that an agent would park instead of resuming them.

    Args:
      service: a durable store.
      root: the root agent.
      app_name: only those of this app.
    """
    digest = tree_digest(root)
    return [
        {
            "app_name": lease.place.app_name,
            "user_id": lease.place.user_id,
            "session_id": lease.place.session_id,
            "invocation_id": lease.invocation_id,
            "reason": _PARKED,
        }
        for lease in await service.open_leases(app_name)
        if lease.digest not in (digest, LIVE_DIGEST)
        and not lease.place.session_id.startswith(HIDDEN_PREFIX)
    ]

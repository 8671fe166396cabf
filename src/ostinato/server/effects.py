"""Endpoints of the effects ledger: what tools did, per session and over all sessions of an app."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ..sessions.store.effect_ledger import EffectCursor, EffectFilter, EffectLedger
from .endpoint import SESSION_PATH, Call, Endpoint
from .names import Id
from .problems import Problem
from .runs import StrictRecord, WireRecord


class EffectRecord(WireRecord):
    """One effect; see `ostinato.sessions.store.effect_ledger.Effect`."""

    app_name: str
    user_id: str
    session_id: str
    number: int
    finished: float
    tool: str
    source: str
    agent: str
    invocation_id: str
    call_id: str
    key: str
    asked_by: str
    approved_by: str
    args_digest: str
    result_digest: str
    begun: float
    attempts: int
    outcome: str
    in_doubt: bool
    resolution: str
    ran_in: str
    damaged: str


class EffectList(WireRecord):
    """Effects, newest first.

    Attributes:
      next_page_token: names the page that follows; left out after the last one.
    """

    effects: list[EffectRecord]
    next_page_token: str | None = None


class EffectQuery(StrictRecord):
    """Which effects.

    Attributes:
      tool: those of one tool.
      since: those that finished at this time or later, seconds since 1970.
      in_doubt: those that were in doubt, or that were not.
      page_size: so many at most.
      page_token: where the page before ended.
    """

    tool: str | None = Field(default=None, max_length=256)
    since: float | None = Field(default=None, ge=0, le=253402300799)
    in_doubt: bool | None = None
    page_size: int = Field(default=100, ge=1, le=500)
    page_token: str | None = Field(default=None, pattern=r"^[0-9]{1,16}-[0-9]{1,18}-[0-9]{1,9}$")


class AppEffectQuery(EffectQuery):
    """Which effects of an app.

    Attributes:
      user_id: those of one user; all where it is left out.
    """

    user_id: Id | None = None


async def list_app_effects(call: Call) -> EffectList:
    """List the effects of all sessions of an app."""
    app = await call.host.agents.get_app(call.path["app"])
    return await _list_effects(call, EffectFilter(app.name, call.query.user_id))


async def list_session_effects(call: Call) -> EffectList:
    """List the effects of a session."""
    return await _list_effects(call, EffectFilter(*call.read_place()))


async def _list_effects(call: Call, which: EffectFilter) -> EffectList:
    service, query = call.host.services.sessions, call.query
    if not isinstance(service, EffectLedger):
        raise Problem(
            501,
            "NoEffectsLedger",
            "The session store keeps no effects ledger; use SQLite, PostgreSQL or MariaDB.",
        )
    which = which._replace(since=query.since, tool=query.tool, in_doubt=query.in_doubt)
    token = query.page_token
    after = None if token is None else EffectCursor(*map(int, token.split("-")))
    page = await service.effects(which, limit=query.page_size, after=after)
    records: list[Any] = [EffectRecord(**effect.to_json()) for effect in page.effects]
    following = None if page.next is None else "-".join(map(str, page.next))
    return EffectList(effects=records, next_page_token=following)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/apps/{app}/effects",
        "List what tools did, over all sessions of an app",
        list_app_effects,
        query=AppEffectQuery,
        answer=EffectList,
        problems=(501,),
    ),
    Endpoint(
        "GET",
        f"{SESSION_PATH}/effects",
        "List what tools did in a session",
        list_session_effects,
        query=EffectQuery,
        answer=EffectList,
        problems=(501,),
    ),
)

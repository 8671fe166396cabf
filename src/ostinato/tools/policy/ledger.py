"""PolicyLedger: what limits have counted and what people have granted, in the session store.

Each count of a user, a session or an app is the state of a hidden session. A write replaces the
text under `_VERSION`, and the store refuses an append that would overwrite a value which its writer
has not seen. So of two processes that count at once, one reads again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

from ... import _clock
from ...errors import AlreadyExistsError, StaleSessionError, StoreError
from ...events.event import Event
from ...events.event_actions import EventActions
from ...sessions.base_session_service import HIDDEN_PREFIX, BaseSessionService, mark_id
from ...sessions.session import GetSessionConfig, Session
from .conditions import read_key, select_values, split_pointer
from .exact_numbers import Number, add_numbers, read_number, read_written, write_number
from .rule import Limit, Rule, read_seconds

_VERSION = "version"
_MARK = "mark"
_ATTEMPTS = 200
_NO_EVENTS = GetSessionConfig(num_recent_events=0)
_APP_USER = "ostinato:policy"
_AUTHOR = "policy"
_NONE: Mapping[str, Any] = {}


class Caller:
    """Whose call it is.

    Args:
      app_name: the app.
      user_id: the user.
      session_id: the user's session, also for an agent that runs in a hidden one.
      call_key: names the call; a call that runs again has the same.
    """

    __slots__ = ("app_name", "call_key", "session_id", "user_id")

    def __init__(self, app_name: str, user_id: str, session_id: str, call_key: str) -> None:
        self.app_name = app_name
        self.user_id = user_id
        self.session_id = session_id
        self.call_key = hashlib.sha256(call_key.encode()).hexdigest()[:24]


class PolicyLedger:
    """Counts calls and keeps grants.

    Args:
      service: the session store of the runs.
    """

    def __init__(self, service: BaseSessionService) -> None:
        self._service = service

    async def take(
        self,
        rule: Rule,
        caller: Caller,
        args: Mapping[str, Any],
        read: Mapping[str, Any] = _NONE,
        *,
        force: bool = False,
        in_doubt: bool = False,
    ) -> bool | None:
        """Count a call, once however often it runs, if the rule's limit allows it.

        A call that was counted before counts from now on, with its present amount.

        Args:
          rule: a rule with a limit.
          caller: whose call it is.
          args: its arguments.
          read: arguments as the tool reads them; see `ToolRequest.read`. The larger amount counts.
          force: count it even if it exceeds the limit, for a person has approved it.
          in_doubt: whether the call may have run with what was counted before: the larger amount
            counts.

        Returns:
          True if it was counted now, None if it had been before, False if it exceeds the limit.

        Raises:
          StoreError: other processes wrote the count each time before this one.
        """
        limit = rule.limit
        if limit is None:
            return None
        amount = read_amount(limit.sum, args, read)
        if amount is None and not force:
            return False
        place = self._count_place(rule, caller)
        for _ in range(_ATTEMPTS):
            session = await self._open(*place)
            now = _clock.now()
            entries = _read_entries(session)
            oldest = now - limit.seconds
            past = entries.pop(caller.call_key, None)
            spent = None if past is None else past.find_spent(in_doubt=in_doubt)
            one = _Count(now, max(amount or 0, spent or 0), spent)
            if not force and not _has_room(limit, entries, oldest, past, one.amount):
                return False
            delta: dict[str, Any] = {
                key: None for key, entry in entries.items() if entry.stamp <= oldest
            }
            if await self._write(session, delta | {caller.call_key: one.to_json()}):
                return True if past is None else None
        raise self._make_congestion_error(rule)

    async def has_room(
        self,
        rule: Rule,
        caller: Caller,
        args: Mapping[str, Any],
        read: Mapping[str, Any] = _NONE,
    ) -> bool:
        """Return whether `take` would count a call; with its arguments."""
        limit = rule.limit
        if limit is None:
            return True
        amount = read_amount(limit.sum, args, read)
        if amount is None:
            return False
        entries = _read_entries(await self._open(*self._count_place(rule, caller)))
        past = entries.pop(caller.call_key, None)
        return _has_room(limit, entries, _clock.now() - limit.seconds, past, amount)

    async def give_back(self, rule: Rule, caller: Caller, *, in_doubt: bool = False) -> None:
        """Remove the count of a call that does not run after all.

        Args:
          rule: a rule with a limit.
          caller: whose call it is.
          in_doubt: whether the call may have run. What it may have spent stays counted, also if a
            later call of this says otherwise.
        """
        place = self._count_place(rule, caller)
        for _ in range(_ATTEMPTS):
            session = await self._load(*place)
            past = None if session is None else _read_entries(session).get(caller.call_key)
            if session is None or past is None:
                return
            spent = past.find_spent(in_doubt=in_doubt)
            if spent is not None and (past.amount, past.spent) == (spent, spent):
                return
            left = None if spent is None else _Count(past.stamp, spent, spent).to_json()
            if await self._write(session, {caller.call_key: left}):
                return
        raise self._make_congestion_error(rule)

    async def add_grant(
        self,
        rule: Rule,
        caller: Caller,
        tool: str,
        args: Mapping[str, Any],
        grant: str,
        read: Mapping[str, Any] = _NONE,
    ) -> None:
        """Store a person's grant; a grant for the single call needs none."""
        now = _clock.now()
        ends = None if grant in ("session", "user") else now + read_seconds(grant)
        scope = await self._make_scope(caller) if grant == "session" else ""
        key = _grant_key(rule, tool, args, read, scope)
        for _ in range(_ATTEMPTS):
            session = await self._open(*_grant_place(caller))
            known: Any = session.state.get(key)
            if isinstance(known, dict) and read_key(known, "ends") is None:
                return  # it holds longer already
            value = {"rule": rule.id, "tool": tool, "grant": grant, "given": now, "ends": ends}
            if await self._write(session, {key: value}):
                return
        raise self._make_congestion_error(rule)

    async def find_grant(
        self,
        rule: Rule,
        caller: Caller,
        tool: str,
        args: Mapping[str, Any],
        read: Mapping[str, Any] = _NONE,
    ) -> str | None:
        """Return the kind of the grant that covers a call: `session`, `user` or a duration."""
        session = await self._load(*_grant_place(caller))
        if session is None:
            return None
        scopes = [""]
        if "session" in rule.grants:
            scopes.insert(0, await self._find_scope(caller))
        for scope in scopes:
            known: Any = session.state.get(_grant_key(rule, tool, args, read, scope))
            if isinstance(known, dict):
                ends = read_key(known, "ends")
                if ends is None or ends > _clock.now():
                    return str(read_key(known, "grant"))
        return None

    async def _find_scope(self, caller: Caller) -> str:
        """Return what a grant for the session is bound to; empty without one."""
        mark = await self._load(*_mark_place(caller))
        return "" if mark is None else f"{caller.session_id}\n{mark.state.get(_MARK, '')}"

    async def _make_scope(self, caller: Caller) -> str:
        """Return what a grant for the session is bound to, and mark the session for it."""
        found = await self._find_scope(caller)
        while not found:
            app_name, user_id, session_id = _mark_place(caller)
            with suppress(AlreadyExistsError):  # another call marked it
                await self._service.create_session(
                    app_name=app_name,
                    user_id=user_id,
                    session_id=session_id,
                    state={_MARK: _clock.new_id()},
                )
            found = await self._find_scope(caller)
        return found

    async def revoke_grants(self, app_name: str, user_id: str, rule_id: str | None = None) -> int:
        """End a user's grants, those of the user's sessions included.

        Args:
          app_name: the app.
          user_id: the user.
          rule_id: only grants under this rule.

        Returns:
          How many grants ended.
        """
        place = _grant_place(Caller(app_name, user_id, "", ""))
        for _ in range(_ATTEMPTS):
            session = await self._load(*place)
            keys = [
                key
                for key, value in (session.state.items() if session is not None else ())
                if isinstance(value, dict) and rule_id in (None, read_key(value, "rule"))
            ]
            if session is None or not keys or await self._write(session, dict.fromkeys(keys)):
                return len(keys)
        raise StoreError(f"The grants of user {user_id!r} kept changing; try again.")

    def _count_place(self, rule: Rule, caller: Caller) -> tuple[str, str, str]:
        by = rule.limit.by if rule.limit is not None else "user"
        user = _APP_USER if by == "app" else caller.user_id
        scope = caller.session_id if by == "session" else ""
        name = hashlib.sha256(json.dumps([rule.id, by, scope]).encode()).hexdigest()[:24]
        return caller.app_name, user, f"{HIDDEN_PREFIX}policy:{name}"

    async def _load(self, app_name: str, user_id: str, session_id: str) -> Session | None:
        return await self._service.get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=_NO_EVENTS
        )

    async def _open(self, app_name: str, user_id: str, session_id: str) -> Session:
        """Load a hidden session, or create it."""
        session = await self._load(app_name, user_id, session_id)
        while session is None:
            try:
                return await self._service.create_session(
                    app_name=app_name, user_id=user_id, session_id=session_id
                )
            except AlreadyExistsError:  # another call created it
                session = await self._load(app_name, user_id, session_id)
        return session

    async def _write(self, session: Session, delta: dict[str, Any]) -> bool:
        """Write to a hidden session; return False if another writer came before."""
        actions = EventActions(state_delta={**delta, _VERSION: _clock.new_id()})
        try:
            await self._service.append_event(session, Event(author=_AUTHOR, actions=actions))
        except StaleSessionError:
            return False
        return True

    def _make_congestion_error(self, rule: Rule) -> StoreError:
        return StoreError(
            f"The ledger of policy rule {rule.id!r} kept changing, so the call was not counted and "
            "did not run. Run it again, or spread the load: a limit by user instead of by app."
        )


def _grant_place(caller: Caller) -> tuple[str, str, str]:
    return caller.app_name, caller.user_id, f"{HIDDEN_PREFIX}policy:grants"


def _mark_place(caller: Caller) -> tuple[str, str, str]:
    return caller.app_name, caller.user_id, mark_id(caller.session_id)


def _grant_key(
    rule: Rule, tool: str, args: Mapping[str, Any], read: Mapping[str, Any], scope: str
) -> str:
    """Return the key of a grant: what it is bound to, the rule's text included."""
    same: list[Any] = []
    for steps in map(split_pointer, rule.same):
        values = select_values(args, steps)
        if steps[0] in read:
            values_read = select_values(read, steps)
            if _write_json(values_read) != _write_json(values):
                values = [values, values_read]
        same.append(values)
    text = _write_json([rule.id, rule.digest, tool, scope, same])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _write_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


class _Count(NamedTuple):
    """The count of one call.

    Attributes:
      stamp: when it was counted.
      amount: what it adds to the sum.
      spent: the part that a run which a crash cut off may have spent; None if there was none.
    """

    stamp: float
    amount: Number
    spent: Number | None = None

    def find_spent(self, *, in_doubt: bool) -> Number | None:
        """Return what the call may have spent already; None if it has surely not run."""
        return self.amount if in_doubt else self.spent

    def to_json(self) -> list[Any]:
        """Return the count in the form of the store; earlier versions read no third item."""
        stored = [self.stamp, write_number(self.amount)]
        return stored if self.spent is None else [*stored, write_number(self.spent)]


def _read_entries(session: Session) -> dict[str, _Count]:
    """Return the count of each counted call, by its key."""
    found: dict[str, _Count] = {}
    for key, value in session.state.items():
        if isinstance(value, list):
            stamp, *numbers = cast("list[Any]", value)
            found[key] = _Count(stamp, *map(read_written, numbers))
    return found


def read_amount(
    pointer: str | None, args: Mapping[str, Any], read: Mapping[str, Any] = _NONE
) -> Number | None:
    """Return what a call adds to a sum; None if that is no number of 0 or more.

    Args:
      pointer: to the argument; None to add nothing.
      args: the arguments.
      read: arguments as the tool reads them; the larger amount counts.
    """
    if pointer is None:
        return 0
    steps = split_pointer(pointer)
    amounts: list[Number] = []
    for form in (args, read):
        found = [read_number(value) for value in select_values(form, steps)]
        numbers = [number for number in found if number is not None and number >= 0]
        if len(numbers) < len(found):
            return None
        if numbers:
            amounts.append(add_numbers(numbers))
    return max(amounts, default=None)


def _has_room(
    limit: Limit,
    others: Mapping[str, _Count],
    oldest: float,
    past: _Count | None,
    amount: Number,
) -> bool:
    """Return whether a limit lets a call with this amount through.

    Args:
      limit: the limit.
      others: the counts of other calls.
      oldest: the begin of the window.
      past: the earlier count of the call itself, whose room it keeps.
      amount: the amount.
    """
    if past is not None and past.stamp > oldest and amount <= past.amount:
        return True
    kept = [entry.amount for entry in others.values() if entry.stamp > oldest]
    is_full = limit.count is not None and len(kept) >= limit.count
    return not is_full and not exceeds(limit, [*kept, amount])


def exceeds(limit: Limit, amounts: Sequence[Number]) -> bool:
    """Return whether amounts exceed the sum that a limit lets through."""
    most = read_number(limit.max)
    return most is not None and add_numbers(amounts) > most

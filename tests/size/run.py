"""How long a store takes for each request once it is large: `python -m tests.size.run`.

Fills a store, measures each request some times, prints a table, and exits with 1 if one of them
took longer than the limit. It takes minutes and gigabytes, so it is no part of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from ostinato.server.app import make_app
from ostinato.server.settings import ServerSettings
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.size.filling import APP, USERS, fill_postgres, fill_sqlite, make_sqlite
from tests.support.databases import new_database
from tests.unit.sessions.talk import claim, said

_AGENTS = Path(__file__).parents[1] / "unit" / "server" / "agents"
_PAGES = ("everywhere", "sometimes", "seldom", "nowhere", "every", "session-0000017")

Ask = Callable[[int], Awaitable[Any]]


def requests(store: Any, sessions: int) -> dict[str, Ask]:
    """Return what is measured: a name, and a coroutine function of the number of the try."""

    def some(number: int) -> dict[str, str]:
        which = (number * 7907 + 11) % sessions
        user = f"user{which * 7919 % USERS}"
        return {"app_name": APP, "user_id": user, "session_id": f"session-{which:07}"}

    async def far_page(number: int) -> None:
        token: str | None = None
        for _ in range(3):
            found = await store.list_sessions(app_name=APP, page_size=20, page_token=token)
            token = found.next_page_token

    async def turn(number: int) -> None:
        session = await store.open_session(**some(number), complete=False)
        wish = claim(invocation=f"turn-{number}", message=None)
        fence = await store.append(session, [said("hello")], claim=wish)
        await store.append(session, [said("answer")], fence=fence)
        place = (APP, session.user_id, session.id)
        await store.release(place, fence)

    async def sweep(number: int) -> None:
        await store.open_leases(APP)
        await store.waiting_places(APP)
        await store.take_messages(APP, "me", "p", 30.0, 10)

    asked: dict[str, Ask] = {
        "list": lambda _: store.list_sessions(app_name=APP, page_size=20),
        "list of a user": lambda n: store.list_sessions(
            app_name=APP, user_id=f"user{n}", page_size=20
        ),
        "list of all apps": lambda _: store.list_sessions(app_name=None, page_size=20),
        "three pages": far_page,
        "load": lambda n: store.get_session(**some(n)),
        "append of a turn": turn,
        "sweep": sweep,
        "retention": lambda _: store.delete_sessions_before(APP, 1.0),
    }
    for words in _PAGES:
        asked[f"search {words!r}"] = lambda _, words=words: store.search_sessions(
            app_name=APP, text=words, page_size=20
        )
    asked["search of a user"] = lambda n: store.search_sessions(
        app_name=APP, user_id=f"user{n}", text="sometimes", page_size=20
    )
    return asked


async def measure(asked: dict[str, Ask], tries: int) -> dict[str, tuple[float, float]]:
    """Return median and longest milliseconds of each request."""
    found: dict[str, tuple[float, float]] = {}
    for name, ask in asked.items():
        await ask(tries + 1)  # connections and plans
        taken: list[float] = []
        for number in range(tries):
            begun = time.perf_counter()
            await ask(number)
            taken.append((time.perf_counter() - begun) * 1000)
        found[name] = statistics.median(taken), max(taken)
    return found


async def measure_inbox(db: str, tries: int) -> dict[str, tuple[float, float]]:
    """Measure the list of what waits for a person, over HTTP."""
    app = make_app(ServerSettings(agents=_AGENTS, db=db, grace=5.0))
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app=app)
        base = "http://127.0.0.1:8000"
        async with httpx2.AsyncClient(transport=transport, base_url=base, timeout=300) as client:
            path = f"/apps/{APP}/approvals"
            return await measure({"GET /approvals": lambda _: client.get(path)}, tries)


async def run(url: str, store: Any, options: argparse.Namespace) -> int:
    """Measure a filled store; return the exit status."""
    while await store.index_sessions():  # looks through what was stored past the store
        pass
    found = await measure(requests(store, options.sessions), options.tries)
    await store.close()
    if options.inbox:
        found |= await measure_inbox(url, options.tries)
    print(f"{options.store}: {options.sessions} sessions, {options.events} events")
    for name, (median, longest) in found.items():
        mark = " TOO LONG" if median > options.limit else ""
        print(f"  {name:28} {median:8.1f} ms median {longest:8.1f} ms longest{mark}")
    return int(any(median > options.limit for median, _ in found.values()))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgres"), required=True)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--limit", type=float, default=50.0, help="milliseconds, of the median")
    parser.add_argument("--inbox", action="store_true", help="measure GET /approvals too")
    options = parser.parse_args()
    if options.store == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sessions.db"
            asyncio.run(make_sqlite(path))
            fill_sqlite(path, options.sessions, options.events)
            store: Any = SqliteSessionService(path, synchronous="NORMAL")
            return asyncio.run(run(str(path), store, options))
    with new_database("postgres") as url:

        async def filled() -> int:
            store = DatabaseSessionService(url)
            await store.list_sessions(app_name=APP)
            await fill_postgres(url, options.sessions, options.events)
            return await run(url, store, options)

        return asyncio.run(filled())


if __name__ == "__main__":
    sys.exit(main())

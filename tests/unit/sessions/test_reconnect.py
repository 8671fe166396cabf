"""A database server that goes away for a while: what is tried again, and what is not."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import InvalidRequestError

from ostinato.agents import Agent
from ostinato.errors import InputValidationError, StoreError
from ostinato.runners import Runner
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sql.sql_errors import meaning_of
from ostinato.sessions.sql.sql_pool import _is_closed
from ostinato.sessions.sql.sql_retry import Retry
from ostinato.sessions.sql.sql_url import target_of
from ostinato.sessions.store.durable_store import JournalRow
from ostinato.testing import ScriptedModel
from tests.outage.proxy import Proxy
from tests.support.databases import SERVERS, execute, new_database
from tests.unit.sessions.talk import OWNER, claim, said, texts

pytestmark = pytest.mark.service

KEY: dict[str, Any] = {**OWNER, "session_id": "s1"}
PORTS = {"postgres": 5432, "mariadb": 3306}


class Server:
    """A database of its own behind a proxy.

    Args:
      url: the database.
      port: the standard port of its server.
    """

    def __init__(self, url: str, port: int) -> None:
        self.direct = url
        parsed = make_url(url)
        self.proxy = Proxy(parsed.host or "127.0.0.1", parsed.port or port)
        behind = parsed.set(host="127.0.0.1", port=self.proxy.port)
        self.url = behind.render_as_string(hide_password=False)


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A database on each server, behind a proxy that can be cut."""
    with new_database(request.param) as url:
        made = Server(url, PORTS[request.param])
        yield made
        made.proxy.close()


@pytest.fixture
async def service(server: Server) -> AsyncIterator[DatabaseSessionService]:
    """A service that has reached its server once."""
    made = DatabaseSessionService(server.url)
    await made.create_session(**KEY)
    yield made
    await made.close()


def restore_at(monkeypatch: pytest.MonkeyPatch, server: Server, loss: int) -> list[float | None]:
    """Bring the server back when a connection was lost so often; return the pauses asked for."""
    pauses: list[float | None] = []
    pause_after_loss = Retry.pause_after_loss

    def pause(self: Retry) -> float | None:
        pauses.append(pause_after_loss(self))
        if len(pauses) == loss:
            server.proxy.restore()
        return None if pauses[-1] is None else 0.0

    monkeypatch.setattr(Retry, "pause_after_loss", pause)
    return pauses


@pytest.mark.parametrize("claims", [False, True])
async def test_an_append_outlives_an_outage_and_is_stored_once(
    server: Server,
    service: DatabaseSessionService,
    monkeypatch: pytest.MonkeyPatch,
    claims: bool,
) -> None:
    session = await service.get_session(**KEY)
    assert session is not None
    pauses = restore_at(monkeypatch, server, 6)
    server.proxy.cut()
    rows = [JournalRow("e-1", "c1", "started", "pay")]
    wish = claim() if claims else None
    fence = await service.append(session, [said("a")], rows, claim=wish)
    assert (fence is not None) == claims
    assert len(pauses) == 6 and all(pauses)
    assert texts(session) == ["a"]
    assert execute(server.direct, "SELECT count(*) FROM events") == [(1,)]


async def test_reads_leases_and_messages_outlive_an_outage_too(
    server: Server, service: DatabaseSessionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await service.get_session(**KEY)
    assert session is not None
    fence = await service.append(session, [said("a")], claim=claim())
    assert fence is not None
    place: Any = (KEY["app_name"], KEY["user_id"], KEY["session_id"])
    for act in (
        lambda: service.get_session(**KEY),
        lambda: service.lease(place),
        lambda: service.release(place, fence),
    ):
        with monkeypatch.context() as patch:
            pauses = restore_at(patch, server, 2)
            server.proxy.cut()
            await act()
            assert len(pauses) == 2


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
async def test_a_database_that_accepts_no_connections_for_a_while(
    server: Server, service: DatabaseSessionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a restore or a failover does."""
    database = make_url(server.direct).database
    outside = make_url(server.direct).set(database="postgres").render_as_string(False)

    def allow(answer: str) -> None:
        execute(outside, f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS {answer}')

    session = await service.get_session(**KEY)
    assert session is not None
    pauses: list[float | None] = []
    pause_after_loss = Retry.pause_after_loss

    def pause(self: Retry) -> float | None:
        pauses.append(pause_after_loss(self))
        if len(pauses) == 3:
            allow("true")
        return None if pauses[-1] is None else 0.0

    monkeypatch.setattr(Retry, "pause_after_loss", pause)
    await asyncio.to_thread(allow, "false")
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
    await asyncio.to_thread(execute, outside, ended)
    await service.append(session, [said("a")])
    assert texts(session) == ["a"] and len(pauses) == 3 and all(pauses)
    assert execute(server.direct, "SELECT count(*) FROM events") == [(1,)]


async def test_a_connection_that_goes_silent_is_replaced(server: Server) -> None:
    service = DatabaseSessionService(server.url, answer_seconds=0.3)
    await service.create_session(**KEY)
    session = await service.get_session(**KEY)
    assert session is not None
    fence = await service.append(session, [said("a")], claim=claim())
    assert fence is not None
    place: Any = (KEY["app_name"], KEY["user_id"], KEY["session_id"])
    for act in (
        lambda: service.append(session, [said("b")]),
        lambda: service.lease(place),
        lambda: service.append(session, [said("c")], fence=fence),
        lambda: service.get_session(**KEY),
        lambda: service.release(place, fence),
    ):
        server.proxy.silence()
        async with asyncio.timeout(30):  # without a bound it would wait for ever
            await act()
    assert texts(session) == ["a", "b", "c"]
    assert execute(server.direct, "SELECT count(*) FROM events") == [(3,)]
    await service.close()


async def test_the_next_message_is_answered_after_the_connections_go_silent(
    server: Server,
) -> None:
    service = DatabaseSessionService(server.url, answer_seconds=0.3)
    await service.create_session(**KEY)
    agent = Agent(name="helper", model=ScriptedModel(["one", "two"]))
    runner = Runner(app_name=KEY["app_name"], agent=agent, session_service=service)
    for expected in ("one", "two"):
        async with asyncio.timeout(60):  # without a bound it would wait for ever
            run = runner.run_async(
                user_id=KEY["user_id"], session_id=KEY["session_id"], new_message="go"
            )
            spoken = [
                "".join(part.text or "" for part in event.content.parts or ())
                async for event in run
                if event.content
            ]
        assert spoken == [expected]
        server.proxy.silence()
    await runner.close()
    await service.close()


async def test_closing_a_store_whose_server_is_gone_leaves_no_connection_open(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    service = DatabaseSessionService(server.url)
    await service.create_session(**KEY)
    [pool] = service._engines._open.values()
    drivers: list[Any] = []

    async with pool.engine.connect() as connection:
        drivers.append((await connection.get_raw_connection()).driver_connection)
    server.proxy.reset()
    async with asyncio.timeout(30):
        while not _has_lost_its_peer(drivers[0]):  # noqa: ASYNC110
            await asyncio.sleep(0)
    await service.close()
    assert all(_is_closed(driver) for driver in drivers)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_connection_notices_by_itself_that_its_peer_is_silently_gone(
    server: Server,
) -> None:
    service = DatabaseSessionService(server.url, answer_seconds=None)
    await service.create_session(**KEY)
    [pool] = service._engines._open.values()
    async with pool.engine.connect() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        transport = getattr(driver, "_transport", None) or driver._writer
        found = transport.get_extra_info("socket")
        assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 60
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 60_000
    await service.close()


def _has_lost_its_peer(driver: Any) -> bool:
    """Return whether a connection of asyncpg or aiomysql has noticed that its peer is gone."""
    if hasattr(driver, "is_closed"):
        return driver.is_closed()
    return driver._reader.exception() is not None


async def test_pauses_grow_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("ostinato.sessions.sql.sql_retry.time.monotonic", lambda: now[0])
    monkeypatch.setattr("ostinato.sessions.sql.sql_retry._CHANCE.uniform", lambda least, most: most)
    retry, pauses = Retry(10.0), list[float]()
    while (pause := retry.pause_after_loss()) is not None:
        pauses.append(round(pause, 2))
        now[0] += pause
    assert pauses[:6] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0]
    assert max(pauses) == 1.0 and round(now[0], 3) == 110.0


async def test_a_probe_does_not_try_again(
    server: Server, service: DatabaseSessionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await service.probe()
    pauses = restore_at(monkeypatch, server, 1)
    server.proxy.cut()
    with pytest.raises(StoreError, match="cannot be reached"):
        await service.probe()
    assert pauses == []
    server.proxy.restore()
    await service.probe()


async def test_zero_seconds_try_no_more(server: Server) -> None:
    service = DatabaseSessionService(server.url, reconnect_seconds=0)
    await service.create_session(**KEY)
    server.proxy.cut()
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        await service.get_session(**KEY)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    server.proxy.restore()
    assert await service.get_session(**KEY) is not None
    await service.close()


async def test_a_server_that_never_answered_is_not_tried_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = restore_at(monkeypatch, server, 1)
    server.proxy.cut()
    service = DatabaseSessionService(server.url)
    with pytest.raises(StoreError, match="cannot be reached"):
        await service.get_session(**KEY)
    await service.close()
    assert pauses == []


async def test_a_first_use_that_is_cut_at_any_answer_says_so_and_is_completed_by_a_later_one(
    server: Server,
) -> None:
    answers, has_ended = 0, False
    while not has_ended:
        server.proxy.cut_after(answers)
        service = DatabaseSessionService(server.url, reconnect_seconds=0)
        try:
            await service.get_session(**KEY)
            has_ended = True
        except StoreError as error:
            assert "cannot be reached" in str(error)
        finally:
            server.proxy.restore()
            await service.close()
        answers += 1
    service = DatabaseSessionService(server.url)
    assert (await service.create_session(**KEY)).id == KEY["session_id"]
    await service.close()


async def test_a_new_connection_that_goes_silent_at_any_answer_is_given_up_in_time(
    server: Server, service: DatabaseSessionService
) -> None:
    answers, has_ended = 0, False
    while not has_ended:
        server.proxy.silence_after(answers)
        another = DatabaseSessionService(server.url, reconnect_seconds=0, answer_seconds=0.2)
        try:
            async with asyncio.timeout(30):  # without a bound it would wait for ever
                assert await another.get_session(**KEY) is not None
            has_ended = True
        except StoreError as error:
            assert "cannot be reached" in str(error)
        finally:
            server.proxy.restore()
            await another.close()
        answers += 1


async def test_a_store_that_is_dropped_closes_its_connections_in_their_loop(server: Server) -> None:
    service = DatabaseSessionService(server.url)
    await service.create_session(**KEY)
    assert server.proxy.has_connections
    del service
    gc.collect()  # a socket that is left to it is a warning, and so an error
    async with asyncio.timeout(30):
        while server.proxy.has_connections:  # noqa: ASYNC110
            await asyncio.sleep(0)


def test_a_negative_time_is_refused() -> None:
    with pytest.raises(InputValidationError, match="answer_seconds"):
        DatabaseSessionService("sqlite+aiosqlite:///:memory:", answer_seconds=0)
    with pytest.raises(InputValidationError, match="reconnect_seconds"):
        DatabaseSessionService("sqlite+aiosqlite:///:memory:", reconnect_seconds=-1)


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.InternalClientError("got result for unknown protocol state 3"),
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
        asyncpg.exceptions.AdminShutdownError("terminating connection"),
        ConnectionResetError("reset"),
        InvalidRequestError("This connection is closed"),  # it ended while it was checked out
    ],
)
def test_errors_of_a_connection_that_was_terminated(error: Exception) -> None:
    target = target_of("postgresql+asyncpg://host/sessions")
    meaning = meaning_of(error, target)
    assert isinstance(meaning, StoreError) and "cannot be reached" in str(meaning)


async def test_a_connecting_that_takes_too_long_leaves_no_socket_open() -> None:
    closed = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # until the client closes
        closed.set()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    service = DatabaseSessionService(
        f"mysql+aiomysql://root@127.0.0.1:{port}/test", reconnect_seconds=0.1, answer_seconds=0.1
    )
    async with server:
        with pytest.raises(StoreError):
            await service.list_sessions(app_name="app")
        await asyncio.wait_for(closed.wait(), 5)
    await service.close()

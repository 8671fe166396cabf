"""The lists of one MCP server: tools, resources, resource templates and prompts, in whole pages.

A list is kept until the server says that it has changed, its hint expires, or the connection ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

from ..._log import get_logger
from ..._optional import need
from .connection_params import EXTRA
from .errors import McpCallError

_log = get_logger(__name__)

ListKind = Literal["tools", "resources", "templates", "prompts"]
MAX_PAGES = 500
MAX_ITEMS = 20_000
AGE_SECONDS = 300.0
"""How long a list counts if the server neither announces changes nor gives a hint."""

_METHOD_NOT_FOUND = -32601
_FOLLOW_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class _Source(NamedTuple):
    """Where a list comes from: the session's method, the result's field, and the notification."""

    method: str
    field: str
    notification: str
    capability: str


_SOURCES: dict[ListKind, _Source] = {
    "tools": _Source("list_tools", "tools", "notifications/tools/list_changed", "tools"),
    "resources": _Source(
        "list_resources", "resources", "notifications/resources/list_changed", "resources"
    ),
    "templates": _Source(
        "list_resource_templates",
        "resource_templates",
        "notifications/resources/list_changed",
        "resources",
    ),
    "prompts": _Source("list_prompts", "prompts", "notifications/prompts/list_changed", "prompts"),
}

Run = Callable[[Callable[[Any, Any], Awaitable[Any]]], Awaitable[Any]]


class ServerLists:
    """Lists of one connection.

    Args:
      label: the server's name for messages.
      hears_all: whether messages that the server sends unasked arrive as long as the connection
        lives; over HTTP before 2026-07-28 they may be lost.
    """

    def __init__(self, label: str, *, hears_all: bool) -> None:
        self._label = label
        self._hears_all = hears_all
        self._client: Any = None
        self._kept: dict[ListKind, tuple[float, Sequence[Any]]] = {}
        self._changes: dict[ListKind, int] = {}
        self._locks: dict[ListKind, asyncio.Lock] = {}
        self._announced: set[str] = set()
        self._followed = asyncio.Event()

    def attach(self, client: Any) -> None:
        """Begin with a connected client; nothing is kept from an earlier connection."""
        self._client = client
        self._kept.clear()
        capabilities = client.server_capabilities
        self._announced = {
            source.capability
            for source in _SOURCES.values()
            if getattr(getattr(capabilities, source.capability), "list_changed", None)
        }

    def note_change(self, notification: str) -> None:
        """Forget the lists that a notification of the server is about."""
        for kind, source in _SOURCES.items():
            if source.notification == notification:
                self._forget_list(kind)

    async def follow_changes(self) -> None:
        """Subscribe to changes where the protocol asks for that (since 2026-07-28).

        A subscription that breaks is made again. Servers of earlier protocols send changes unasked,
        see `note_change`.
        """
        anyio, error = need("anyio", extra=EXTRA), need("mcp", extra=EXTRA).MCPError
        lost = need("mcp.client.subscriptions", extra=EXTRA).SubscriptionLost
        pause = _FIRST_PAUSE
        try:
            while self._is_modern() and self._announced:
                try:
                    async with self._subscribe() as subscription:
                        pause = _FIRST_PAUSE
                        async for event in subscription:
                            self._note_event(type(event).__name__)
                except (lost, TimeoutError) as problem:
                    _log.debug("MCP server %s: %s", self._label, problem)
                self._kept.clear()  # what changes until the next subscription goes unnoticed
                await anyio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        except error as problem:
            _log.debug("MCP server %s announces no changes: %s", self._label, problem)
            self._announced = set()
        finally:
            self._followed.set()

    @asynccontextmanager
    async def _subscribe(self) -> AsyncGenerator[Any]:
        wanted = {f"{name}_list_changed": True for name in sorted(self._announced)}
        async with self._client.listen(**wanted) as subscription:
            honored = subscription.honored
            self._announced = {
                name for name in self._announced if getattr(honored, f"{name}_list_changed", None)
            }
            self._kept.clear()
            self._followed.set()
            yield subscription

    async def load(self, kind: ListKind, run: Run, max_age: float | None = None) -> Sequence[Any]:
        """Return a list of the server, from the cache if it is known.

        The same list object is returned until the list is fetched again.

        Args:
          kind: which list.
          run: runs a request on the connection.
          max_age: seconds that a list counts; None takes the server's hint, else until it announces
            a change, else `AGE_SECONDS`.

        Raises:
          McpCallError: the server repeats a page or has too many.
        """
        source = _SOURCES[kind]
        capability = getattr(self._client.server_capabilities, source.capability)
        if capability is None and kind != "tools":
            return ()
        async with self._locks.setdefault(kind, asyncio.Lock()):
            now = asyncio.get_running_loop().time()
            kept = self._kept.get(kind)
            if kept is not None and now < kept[0] and (max_age is None or max_age > 0):
                return kept[1]
            await self._wait_followed()
            before = self._changes.get(kind, 0)
            items, hint = await run(lambda session, _: self._fetch_pages(session, source))
            if before == self._changes.get(kind, 0):
                age = self._choose_age(source, hint, max_age)
                self._kept[kind] = (asyncio.get_running_loop().time() + age, items)
            return items

    async def _wait_followed(self) -> None:
        """Wait for the subscription: a change between the answer and it would go unnoticed."""
        try:
            async with asyncio.timeout(_FOLLOW_SECONDS):
                await self._followed.wait()
        except TimeoutError:
            self._followed.set()  # the next list need not wait for it

    async def _fetch_pages(self, session: Any, source: _Source) -> tuple[Sequence[Any], float]:
        """Return all items of a list, and the shortest hint of its pages in seconds."""
        params = need("mcp.types", extra=EXTRA).PaginatedRequestParams
        items: list[Any] = []
        seen: set[str] = set()
        cursor: str | None = None
        hint = 0.0
        for _ in range(MAX_PAGES):
            page = await getattr(session, source.method)(params=params(cursor=cursor))
            items += getattr(page, source.field)
            age = page.ttl_ms / 1000
            hint = min(hint or age, age)
            cursor = page.next_cursor
            if not cursor:
                return tuple(items), hint
            if cursor in seen:
                raise self._describe_endless(source, f"it repeats the cursor of page {len(seen)}")
            seen.add(cursor)
            if len(items) > MAX_ITEMS:
                raise self._describe_endless(source, f"it has more than {MAX_ITEMS:,} items")
        raise self._describe_endless(source, f"it has more than {MAX_PAGES} pages")

    def _describe_endless(self, source: _Source, why: str) -> McpCallError:
        what = source.field.replace("_", " ")
        return McpCallError(
            f"MCP server {self._label}: its list of {what} cannot be read to the end: {why}. "
            "The server has to be mended."
        )

    def _choose_age(self, source: _Source, hint: float, max_age: float | None) -> float:
        if max_age is not None:
            return max_age
        if hint > 0:
            return hint
        hears = self._hears_all or self._is_modern()
        is_announced = source.capability in self._announced
        return float("inf") if hears and is_announced else AGE_SECONDS

    def _is_modern(self) -> bool:
        versions = need("mcp_types.version", extra=EXTRA).MODERN_PROTOCOL_VERSIONS
        return self._client.protocol_version in versions

    def _note_event(self, event: str) -> None:
        for kind, source in _SOURCES.items():
            if event.lower().startswith(source.capability):
                self._forget_list(kind)

    def _forget_list(self, kind: ListKind) -> None:
        self._kept.pop(kind, None)
        self._changes[kind] = self._changes.get(kind, 0) + 1

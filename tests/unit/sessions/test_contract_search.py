"""The contract of every session store of ours: finding sessions by what is said in them."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import InputValidationError
from ostinato.events.event import Event
from ostinato.sessions.sql import sql_search as _sql_search
from ostinato.sessions.sqlite import sqlite_search as _sqlite_search
from ostinato.sessions.store.session_search import SessionSearch
from ostinato.types import Content, FunctionCall, Part
from tests.unit.sessions.talk import OWNER, Store, said

pytestmark = pytest.mark.long


async def find(store: Store, text: str, size: int = 50, **how: Any) -> list[list[str]]:
    """Return the ids of the sessions that a search finds, page by page; empty pages left out."""
    found: list[list[str]] = []
    token: str | None = None
    while True:
        answer = await store.search_sessions(
            **{"app_name": "app", **how}, text=text, page_size=size, page_token=token
        )
        found.append([one.id for one in answer.sessions])
        token = answer.next_page_token
        if token is None:
            return [page for page in found if page]


async def index_all(store: Store) -> None:
    while await store.index_sessions():
        pass


async def tell(store: Store, name: str, *texts: str, user: str = "ann", app: str = "app") -> None:
    made = await store.create_session(app_name=app, user_id=user, session_id=name)
    for text in texts:
        await store.append_event(made, said(text))


async def test_every_store_searches(store: Store) -> None:
    assert isinstance(store, SessionSearch)


async def test_sessions_are_found_by_words_of_their_events(store: Store) -> None:
    await tell(store, "s1", "Where is my Invoice?", "It is in the drawer.")
    await tell(store, "s2", "An invoice_42 got lost")
    await tell(store, "s3", "nothing of the kind")
    await tell(store, "_child:s4", "a hidden invoice")
    assert await find(store, "invoice") == [["s2", "s1"]]
    assert await find(store, "INVOICE drawer") == [["s1"]]
    assert await find(store, "drawer invoice") == [["s1"]]
    assert await find(store, "nothing invoice") == []
    assert await find(store, "inv") == [["s2", "s1"]], "the last word may be a beginning"
    assert await find(store, "inv drawer") == []
    assert await find(store, "in") == [["s1"]], "two letters are a word"
    assert await find(store, "voice") == []
    assert await find(store, " ?! ") == []


async def test_sessions_are_found_by_id_and_title(store: Store) -> None:
    title = {"__session_metadata__": {"displayName": "Grüße aus Köln"}}
    await store.create_session(**OWNER, session_id="3f2a-77b1", state=title)
    late = await store.create_session(**OWNER, session_id="late")
    await index_all(store)
    assert await find(store, "grüße köln") == [["3f2a-77b1"]]
    assert await find(store, "3f2a-77b1") == [["3f2a-77b1"]]
    await store.append_event(late, said("x", {"__session_metadata__": {"displayName": "Köln too"}}))
    assert await find(store, "köln") == [["late", "3f2a-77b1"]]
    await store.append_event(late, said("x", {"__session_metadata__": {"displayName": "Bonn"}}))
    assert await find(store, "köln") == [["3f2a-77b1"]], "only by the title that it has"


async def test_sessions_are_found_by_tools_and_errors_and_not_by_thoughts(store: Store) -> None:
    made = await store.create_session(**OWNER, session_id="s1")
    call = Part(function_call=FunctionCall(id="c", name="get_weather", args={"city": "secret"}))
    thought = Part(text="pondering", thought=True)
    content = Content(role="model", parts=[thought, call])
    await store.append_event(made, Event(author="a", invocation_id="i", content=content))
    error = Event(author="a", invocation_id="i", error_code="QUOTA", error_message="too much")
    await store.append_event(made, error)
    assert await find(store, "get_weather") == [["s1"]]
    assert await find(store, "quota much") == [["s1"]]
    assert await find(store, "pondering") == []
    assert await find(store, "secret") == []


@pytest.mark.parametrize(
    ("text", "query", "hits"),
    [
        ("我想去北京旅游", "北京", True),
        ("我想去北京旅游", "京旅游", True),
        ("我想去北京旅游", "上海", False),
        ("東京タワー", "タワー", True),
        ("Straße", "STRASSE", True),
        ("naïve ﬁle", "file", True),
        ('it\'s 100% "sure" OR NOT (a:b*)', 'or "sure" a:b', True),
        ("the a about an are", "about", True),
    ],
)
async def test_any_script_and_any_sign(store: Store, text: str, query: str, hits: bool) -> None:
    await tell(store, "s1", text)
    await tell(store, "s2", "something else")
    assert await find(store, query) == ([["s1"]] if hits else [])


async def test_searches_of_apps_and_users_are_apart(store: Store) -> None:
    await tell(store, "s1", "word")
    await tell(store, "s2", "word", user="bob")
    await tell(store, "s3", "word", app="other")
    assert await find(store, "word") == [["s2", "s1"]]
    assert await find(store, "word", user_id="ann") == [["s1"]]
    assert await find(store, "word", app_name="other") == [["s3"]]
    assert await find(store, "word", app_name="other", user_id="bob") == []


async def test_pages_of_a_search_hold_each_session_once(store: Store) -> None:
    for n in range(7):
        await tell(store, f"s{n}", "even" if n % 2 == 0 else "odd", "all")
    await index_all(store)
    assert await find(store, "even", 2) == [["s6", "s4"], ["s2", "s0"]]
    assert await find(store, "all", 3) == [["s6", "s5", "s4"], ["s3", "s2", "s1"], ["s0"]]
    with pytest.raises(InputValidationError):
        await store.search_sessions(app_name="app", text="x", page_token="nonsense")
    with pytest.raises(InputValidationError):
        await store.search_sessions(app_name="app", text="x", page_size=0)


async def test_rare_words_are_found_behind_many_sessions(store: Store) -> None:
    await tell(store, "first", "needle")
    for n in range(230):
        await store.create_session(**OWNER, session_id=f"s{n}")
    await index_all(store)
    answer = await store.search_sessions(app_name="app", text="needle")
    assert [one.id for one in answer.sessions] == ["first"]
    assert answer.complete


async def test_words_of_most_sessions_are_found_page_by_page(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (_sqlite_search, _sql_search):
        monkeypatch.setattr(module, "_MOST", 4)
        monkeypatch.setattr(module, "_WALK", 3)
    monkeypatch.setattr(_sql_search, "_LONG_WALK", 3)
    for n in range(20):
        word = "half" if n in (0, 1, 2, 9, 17) else "other"
        await tell(store, f"s{n:02}", word, user=f"u{n % 2}")
    await index_all(store)
    pages = await find(store, "half", 2)
    assert [name for page in pages for name in page] == ["s17", "s09", "s02", "s01", "s00"]
    assert max(map(len, pages)) <= 2
    pages = await find(store, "other", 4, user_id="u1")
    assert [name for page in pages for name in page] == [
        f"s{n:02}" for n in range(19, 0, -2) if n not in (1, 9, 17)
    ]


async def test_long_sessions_are_found_by_their_beginning_and_their_end(store: Store) -> None:
    made = await store.create_session(**OWNER, session_id="s1")
    for n in range(200):
        await store.append_event(made, said(f"word{n:03}"))
    await index_all(store)
    for n in (0, 63, 64, 127, 128, 199):
        assert await find(store, f"word{n:03}") == [["s1"]]
    await store.append_event(made, said("newest"))
    assert await find(store, "newest") == [["s1"]]
    assert await find(store, "word199") == [["s1"]]


async def test_deleted_sessions_are_not_found(store: Store) -> None:
    await tell(store, "s1", "word")
    await tell(store, "s2", "word", user="bob")
    assert await find(store, "word") == [["s2", "s1"]]
    await store.delete_session(**OWNER, session_id="s1")
    assert await find(store, "word") == [["s2"]]
    await store.delete_user("app", "bob")
    assert await find(store, "word") == []
    await tell(store, "s1", "other")
    assert await find(store, "word") == []


async def test_an_answer_says_when_the_index_is_behind(store: Store) -> None:
    await index_all(store)
    for n in range(40):
        await tell(store, f"s{n:02}", "word")
    first = await store.search_sessions(app_name="app", text="word")
    found = {one.id for one in first.sessions}
    assert first.complete == (found == {f"s{n:02}" for n in range(40)})
    assert first.complete == (first.unindexed == 0)
    await index_all(store)
    last = await store.search_sessions(app_name="app", text="word")
    assert (len(last.sessions), last.complete, last.unindexed) == (40, True, 0)


async def test_forks_are_found(store: Store) -> None:
    await tell(store, "s1", "word")
    await index_all(store)
    await store.fork_session(**OWNER, session_id="s1", new_session_id="s2")
    assert await find(store, "word") == [["s2", "s1"]]

"""The cache of sessions: never ahead of the store, never with a gap, bounded."""

from __future__ import annotations

from typing import Any

from ostinato.events.event import Event
from ostinato.sessions.log.event_log import EventRecord
from ostinato.sessions.store.session_cache import Entry, SessionCache
from ostinato.sessions.store.stored_rows import Appended, Loaded

KEY = ("app", "ann", "s1")


def record(name: str) -> EventRecord:
    return EventRecord.of(Event(id=name, author="user"))


def loaded(*names: str, sid: int = 1, first: int = 1, **fields: Any) -> Loaded:
    records = [record(name) for name in names]
    revision = first + len(records) - 1
    state: dict[str, Any] = {"own": [], "user": [], "app": []} | fields
    return Loaded(sid, 1.0, revision, 1, 1, first, records, **state)


def appended(*names: str, first: int, **fields: Any) -> Appended:
    records = [record(name) for name in names]
    rest: dict[str, Any] = {"missing_from": 1, "missing": [], "own": [], "user": [], "app": []}
    return Appended(1, first, first + len(records) - 1, records, 2.0, **(rest | fields))


def ids(cache: SessionCache) -> list[str]:
    entry = cache.find(KEY)
    assert entry is not None
    assert entry.seq == len(entry.log)
    return [r.id for r in entry.log.records]


def test_an_append_extends() -> None:
    cache = SessionCache(10**6)
    entry = cache.admit(KEY, loaded("a"), None)
    cache.extend(KEY, appended("b", "c", first=2, own=[("k", "1")]))
    assert ids(cache) == ["a", "b", "c"]
    assert entry.known == (3, 1, 1)
    cache.extend(KEY, appended("d", first=4, user=[("u", "2")], user_revision=2))
    assert entry.known == (4, 2, 1)
    assert entry.merge_state() == ({"k": 1, "user:u": 2}, set())
    assert entry.updated == 2.0


def shown(entry: Entry) -> tuple[list[str], dict[str, Any]]:
    """Return the events and the state that a view of an entry shows."""
    return [r.id for r in entry.level_log().records], entry.merge_state()[0]


def test_a_view_shows_no_event_without_the_state_that_it_led_to() -> None:
    cache = SessionCache(10**6)
    entry = cache.admit(KEY, loaded("a"), None)
    # Another process appended b. A read has found it, and before that read is shown, this process
    # appends c.
    read = loaded("b", first=2, own=[("k", "1")])
    missing = {"missing_from": 2, "missing": [record("b")]}
    cache.extend(KEY, appended("c", first=3, own=[("k", "2")], **missing))
    assert shown(cache.admit(KEY, read, entry)) == (["a", "b"], {"k": 1})
    cache.admit(KEY, loaded(first=4, own=[("k", "2")]), entry)
    assert shown(entry) == (["a", "b", "c"], {"k": 2})
    assert entry.level_log() is entry.log  # shared with the store again


def test_an_append_whose_shared_state_is_unknown_is_not_shown() -> None:
    cache = SessionCache(10**6)
    entry = cache.admit(KEY, loaded("a"), None)
    # Another session's append has made the user's state 2 meanwhile.
    cache.extend(KEY, appended("b", first=2, own=[("k", "1")], user=[("u", "3")], user_revision=3))
    assert shown(entry) == (["a"], {})
    read = loaded(first=3, own=[("k", "1")], user=[("u", "3")])
    read.user_revision = 3
    cache.admit(KEY, read, entry)
    assert shown(entry) == (["a", "b"], {"k": 1, "user:u": 3})


def test_appends_that_arrive_out_of_order() -> None:
    cache = SessionCache(10**6)
    entry = cache.admit(KEY, loaded("a"), None)
    second = appended("c", first=3, missing_from=2, missing=[record("b")], own=[("k", "2")])
    cache.extend(KEY, second)
    assert ids(cache) == ["a", "b", "c"]
    assert entry.known[0] == 1  # the state of the first append is not known: read it again
    cache.extend(KEY, appended("b", first=2, own=[("k", "1")]))
    assert ids(cache) == ["a", "b", "c"]
    assert entry.known[0] == 2


def test_a_gap_is_left_for_the_next_read() -> None:
    cache = SessionCache(10**6)
    entry = cache.admit(KEY, loaded("a"), None)
    cache.extend(KEY, appended("c", first=3))
    assert ids(cache) == ["a"]
    cache.admit(KEY, loaded("b", "c", first=2, own=[("k", "1")]), entry)
    assert ids(cache) == ["a", "b", "c"]
    assert entry.known == (3, 1, 1)


def test_an_older_read_changes_nothing() -> None:
    cache = SessionCache(10**6)
    entry = cache.admit(KEY, loaded("a"), None)
    cache.extend(KEY, appended("b", first=2, own=[("k", "1")]))
    cache.admit(KEY, loaded("a", own=[("k", "0")]), None)
    assert ids(cache) == ["a", "b"]
    assert entry.merge_state()[0] == {"k": 1}
    assert entry.updated == 2.0


def test_another_session_of_the_same_name_replaces() -> None:
    cache = SessionCache(10**6)
    cache.admit(KEY, loaded("a"), None)
    cache.admit(KEY, loaded("x", sid=2), None)
    assert ids(cache) == ["x"]
    cache.extend(KEY, appended("b", first=2))
    assert ids(cache) == ["x"]
    cache.drop(KEY)
    cache.drop(KEY)
    assert cache.find(KEY) is None


def test_a_read_brings_back_the_entry_it_was_based_on() -> None:
    cache = SessionCache(10**6)
    entry = cache.admit(KEY, loaded("a"), None)
    cache.drop(KEY)
    assert cache.admit(KEY, loaded("b", first=2), entry) is entry
    assert ids(cache) == ["a", "b"]


def test_the_least_recently_used_go_first() -> None:
    cache = SessionCache(4000)
    keys = [("app", "ann", f"s{n}") for n in range(4)]
    for number, key in enumerate(keys):
        cache.admit(key, loaded("a", sid=number), None)
        cache.find(keys[0])
    assert [cache.find(key) is not None for key in keys] == [True, False, False, True]


def test_values_that_are_replaced_count_once() -> None:
    cache = SessionCache(5000)
    other = ("app", "ann", "s2")
    cache.admit(other, loaded(sid=2), None)
    cache.admit(KEY, loaded(), None)
    text = '"' + "x" * 1000 + '"'
    for _ in range(20):
        cache.extend(KEY, Appended(1, 1, 0, [], 2.0, 1, [], [("k", text)], [], []))
    assert cache.find(other) is not None
    assert cache.find(KEY) is not None
    cache.extend(KEY, Appended(1, 1, 0, [], 2.0, 1, [], [("j", f"[{text},{text},{text}]")], [], []))
    assert cache.find(other) is None


def test_what_is_dropped_no_longer_counts() -> None:
    cache = SessionCache(5000)
    cache.admit(KEY, loaded(), None)
    for sid in range(2, 50):
        key = ("app", "ann", f"s{sid}")
        cache.admit(key, loaded("a", sid=sid, own=[("k", '"' + "x" * 500 + '"')]), None)
        cache.drop(key)
    assert cache.find(KEY) is not None


def test_shared_state_is_one_object_for_all_sessions() -> None:
    cache = SessionCache(10**6)
    one = cache.admit(KEY, loaded(), None)
    two = cache.admit(("app", "ann", "s2"), loaded(sid=2), None)
    bob = cache.admit(("app", "bob", "s1"), loaded(sid=3), None)
    assert one.user is two.user is not bob.user
    assert one.app is two.app is bob.app


def test_a_partial_log_gives_way_to_one_that_reaches_further_back() -> None:
    cache = SessionCache(10**6)
    part = loaded("d", "e", first=4)
    part.summaries = [record("b")]
    entry = cache.admit(KEY, part, None)
    assert ([r.id for r in entry.log.records], entry.log.offset) == (["b", "d", "e"], 2)
    assert (entry.seq, entry.tail) == (5, 4)
    log = entry.log
    cache.extend(KEY, appended("f", first=6))
    assert [r.id for r in log.records] == ["b", "d", "e", "f"]
    cache.admit(KEY, loaded("g", first=7), entry)
    assert entry.log is log and entry.seq == 7
    whole = loaded("a", "b", "c", "d", "e", "f")  # read before the last was stored
    cache.admit(KEY, whole, None)
    assert [r.id for r in entry.log.records] == list("abcdefg")
    assert (entry.seq, entry.tail, entry.log.offset) == (7, 1, 0)
    cache.admit(KEY, part, None)  # reaches less far: nothing changes
    assert ids(cache) == list("abcdefg")


def test_a_partial_log_counts_for_what_it_holds() -> None:
    cache = SessionCache(5000)
    part = loaded("d", first=4)
    part.summaries = [record(f"s{n}") for n in range(10)]
    cache.admit(("app", "ann", "s2"), loaded(sid=2), None)
    cache.admit(KEY, part, None)
    assert cache.find(("app", "ann", "s2")) is None
    cache.drop(KEY)
    cache.admit(("app", "ann", "s3"), loaded(sid=3), None)
    cache.admit(("app", "ann", "s4"), loaded(sid=4), None)
    assert cache.find(("app", "ann", "s3")) is not None

"""The local store of spans: what a run leaves, prompts kept once, bounded, after a restart too."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.errors import InputValidationError, StoreError
from ostinato.telemetry import _span_rows as rows
from ostinato.telemetry.recorder import RECORDERS, SpanRecord, install
from ostinato.telemetry.span_store import SqliteSpanStore
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.agent_tool import AgentTool


def book(city: str, api_key: str = "") -> dict[str, str]:
    return {"booked": city, "password": "hunter2"}


def agent(*turns: Any) -> LlmAgent:
    return LlmAgent(
        name="clerk",
        description="Books.",
        model=ScriptedModel(list(turns)),
        tools=[book],
        instruction="Book what is wanted.",
    )


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteSpanStore]:
    spans = SqliteSpanStore(tmp_path / "traces.db", wants_content=True)
    take_out = install(spans)
    yield spans
    take_out()
    await spans.close()


async def spans_of(store: SqliteSpanStore, app: str = "test") -> list[SpanRecord]:
    await store.flush()
    return await store.of_session(app, "user", "session")


async def test_a_run_leaves_its_tree(store: SqliteSpanStore) -> None:
    talk = Conversation(agent(call("book", city="Rome"), "Done."))
    events = await talk.say("Rome, please")
    spans = await spans_of(store)
    names = {span.id: span.name for span in spans}
    assert [(span.name, names.get(span.parent_id or "")) for span in spans] == [
        ("invocation", None),
        ("invoke_agent clerk", "invocation"),
        ("chat scripted", "invoke_agent clerk"),
        ("execute_tool book", "invoke_agent clerk"),
        ("chat scripted", "invoke_agent clerk"),
    ]
    assert {span.invocation_id for span in spans} == {events[0].invocation_id}
    assert {span.place for span in spans} == {("test", "user", "session")}
    assert len({span.trace_id for span in spans}) == 1
    assert all(span.end is not None and span.end >= span.start for span in spans)
    attributes = spans[1].attributes
    assert attributes["gen_ai.agent.name"] == "clerk"
    assert attributes["gen_ai.agent.description"] == "Books."
    assert spans[3].attributes["gen_ai.tool.call.id"]


async def test_a_model_call_ends_before_its_tools_begin(store: SqliteSpanStore) -> None:
    await Conversation(agent(call("book", city="Rome"), "Done.")).say("Rome")
    _, _, first, tool, _ = await spans_of(store)
    assert first.end is not None
    assert first.end <= tool.start


async def test_the_exact_prompt_comes_back(store: SqliteSpanStore) -> None:
    talk = Conversation(agent(call("book", city="Rome", api_key="sk-1"), "Done."))
    await talk.say("Rome, please")
    spans = await spans_of(store)
    second = await store.span(spans[4].id)
    assert second is not None
    assert len(second.contents) == 3
    assert second.contents[0] == '{"parts":[{"text":"Rome, please"}],"role":"user"}'
    assert "Book what is wanted." in second.texts["system"]
    assert '"name":"book"' in second.texts["tools"]
    assert '"Done."' in second.texts["response"]
    tool = await store.span(spans[3].id)
    assert tool is not None
    assert tool.texts["arguments"] == '{"city":"Rome","api_key":"***"}'
    assert tool.texts["result"] == '{"booked":"Rome","password":"***"}'
    assert "sk-1" not in "".join(second.contents)


async def test_without_contents_none_are_kept(tmp_path: Path) -> None:
    spans = SqliteSpanStore(tmp_path / "traces.db")
    take_out = install(spans)
    await Conversation(agent(call("book", city="Rome"), "Done.")).say("A secret wish")
    take_out()
    found = await spans_of(spans)
    for span in found:
        full = await spans.span(span.id)
        assert full is not None
        assert (full.contents, full.texts) == ([], {})
    await spans.close()
    assert b"secret wish" not in (tmp_path / "traces.db").read_bytes()


async def test_what_was_noted_is_read_at_once(store: SqliteSpanStore) -> None:
    await Conversation(agent("Done.")).say("Rome, please")
    found = await store.of_session("test", "user", "session")
    assert [span.name for span in found] == ["invocation", "invoke_agent clerk", "chat scripted"]
    assert all(span.end is not None for span in found)


async def test_who_only_reads_waits_for_no_writer(store: SqliteSpanStore, tmp_path: Path) -> None:
    await Conversation(agent("Done.")).say("Rome, please")
    noted = await spans_of(store)
    other = sqlite3.connect(tmp_path / "traces.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    reader = SqliteSpanStore(tmp_path / "traces.db")
    assert await reader.of_session("test", "user", "session") == noted
    assert await reader.span(noted[0].id) is not None
    other.close()
    await reader.close()


async def test_a_growing_prompt_is_kept_once(store: SqliteSpanStore, tmp_path: Path) -> None:
    talk = Conversation(agent(*[f"Answer {n}" for n in range(30)]))
    for number in range(30):
        await talk.say(f"Question {number}")
    await store.flush()
    db = sqlite3.connect(tmp_path / "traces.db")
    assert db.execute("SELECT count(*) FROM links").fetchone() == (59,)
    db.close()
    last = [span for span in await spans_of(store) if span.operation == "chat"][-1]
    full = await store.span(last.id)
    assert full is not None
    assert len(full.contents) == 59
    assert "Question 29" in full.contents[-1]


async def test_an_agent_that_runs_as_a_tool_hangs_below_its_call(store: SqliteSpanStore) -> None:
    inner = LlmAgent(name="inner", model=ScriptedModel(["Yes."]), description="Knows.")
    root = LlmAgent(
        name="root",
        model=ScriptedModel([call("inner", request="?"), "Done."]),
        tools=[AgentTool(inner)],
    )
    events = await Conversation(root).say("Ask")
    await Conversation(agent("Hi."), user_id="other").say("Go")
    spans = await spans_of(store)
    names = {span.id: span.name for span in spans}
    found = [(span.name, names.get(span.parent_id or "")) for span in spans]
    assert ("invocation", "execute_tool inner") in found
    assert ("chat scripted", "invoke_agent inner") in found
    only = await store.of_session("test", "user", "session", invocation_id=events[0].invocation_id)
    assert [one.id for one in only] == [one.id for one in spans]
    place = ("test", "user", "session")
    for one in spans:
        assert await store.span(one.id, of=place) is not None
        assert await store.span(one.id, of=("test", "other", "session")) is None
    await store.forget(*place)
    assert [await store.span(one.id) for one in spans] == [None] * len(spans)
    assert len(await store.of_session("test", "other", "session")) == 3


async def test_the_text_of_an_error_is_stored_without_secrets(store: SqliteSpanStore) -> None:
    def fail() -> None:
        raise RuntimeError("postgresql://ann:geheim@host/db refused sk-proj-abcdefghij0123")

    clerk = LlmAgent(name="clerk", model=ScriptedModel([call("fail")]), tools=[fail])
    with pytest.raises(RuntimeError):
        await Conversation(clerk).say("Go")
    errors = [span.error or "" for span in await spans_of(store)]
    assert any("refused" in error for error in errors)
    assert not any("geheim" in error or "sk-proj" in error for error in errors)


async def test_a_failing_call_names_its_error(store: SqliteSpanStore) -> None:
    with pytest.raises(RuntimeError):
        await Conversation(agent(RuntimeError("quota"))).say("Go")
    spans = await spans_of(store)
    assert [span.error for span in spans] == ["RuntimeError: quota"] * 3


async def test_spans_outlive_the_process_that_made_them(tmp_path: Path) -> None:
    first = SqliteSpanStore(tmp_path / "traces.db")
    take_out = install(first)
    await Conversation(agent("Hi.")).say("Go")
    take_out()
    await first.close()
    again = SqliteSpanStore(tmp_path / "traces.db")
    assert len(await again.of_session("test", "user", "session")) == 3
    await again.close()


async def test_a_span_that_runs_is_there_without_an_end(store: SqliteSpanStore) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        reached.set()
        await go_on.wait()
        return "went on"

    root = LlmAgent(name="a", model=ScriptedModel([call("wait"), "Done."]), tools=[wait])
    talk = asyncio.create_task(Conversation(root).say("Go"))
    await reached.wait()
    running = {span.name: span.end for span in await spans_of(store)}
    assert running["execute_tool wait"] is None
    assert running["chat scripted"] is not None
    go_on.set()
    await talk


async def test_only_the_newest_are_kept_and_prompts_go_with_them(tmp_path: Path) -> None:
    spans = SqliteSpanStore(tmp_path / "traces.db", wants_content=True, keep=10)
    for number in range(2_000):
        one = SpanRecord(f"{number:016x}", "t", None, "chat m", "chat", 1.0, 2.0)
        one.place, one.contents = ("a", "u", "s"), [f"content {number}"]
        spans.on_end(one)
    await spans.flush()
    found = await spans.of_session("a", "u", "s")
    assert [span.id for span in found] == [f"{number:016x}" for number in range(1_990, 2_000)]
    full = await spans.span(found[0].id)
    assert full is not None
    assert full.contents == ["content 1990"]
    await spans.close()
    db = sqlite3.connect(tmp_path / "traces.db")
    assert db.execute("SELECT count(*) FROM texts").fetchone() == (10,)
    db.close()


async def test_the_spans_of_a_session_can_be_forgotten(store: SqliteSpanStore) -> None:
    await Conversation(agent("Hi.")).say("Go")
    assert await spans_of(store)
    await store.forget("test", "user", "session")
    assert await spans_of(store) == []
    await Conversation(agent("Hi again.")).say("Go")
    assert len(await spans_of(store)) == 3


async def test_unknown_spans_and_sessions_are_empty(store: SqliteSpanStore) -> None:
    assert await store.span("nobody") is None
    assert await store.of_session("x", "y", "z") == []


async def test_wrong_files_and_bounds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputValidationError, match="keep must be 1"):
        SqliteSpanStore(tmp_path / "x.db", keep=0)
    other = tmp_path / "other.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE t(a)")
    db.close()
    store = SqliteSpanStore(other)
    with pytest.raises(StoreError, match=r"span store 'other.db' holds the tables of another"):
        await store.flush()
    await store.close()


async def test_a_broken_store_does_not_stop_a_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "traces.db").write_text("no database " * 100)
    store = SqliteSpanStore(tmp_path / "traces.db")
    take_out = install(store)
    talk = Conversation(agent("Hi."))
    await talk.say("Go")
    take_out()
    await store.close()
    assert talk.text == "Hi."
    assert "is not an SQLite database" in caplog.text


def test_a_recorder_is_taken_out_once() -> None:
    store = SqliteSpanStore(":memory:")
    take_out = install(store)
    assert store in RECORDERS
    take_out()
    take_out()
    assert store not in RECORDERS


@pytest.mark.parametrize("invocation", [None, "e-1"])
async def test_reading_a_session_costs_the_same_however_much_its_user_has_run(
    tmp_path: Path, invocation: str | None
) -> None:
    steps: list[int] = []
    for others in (10, 2_000):
        path = tmp_path / f"{others}.db"
        spans = SqliteSpanStore(path)
        for number in range(others):
            session = f"_child:{number}" if number % 2 else f"s{number}"
            spans.on_end(_span(f"{number:016x}", session, f"p{number}", "e-2"))
        spans.on_end(_span("a" * 16, "s", None, "e-1"))
        spans.on_end(_span("b" * 16, "_child:s", "a" * 16, "e-3"))
        found = await spans.of_session("desk", "ann", "s", invocation_id=invocation)
        assert [one.id[0] for one in found] == ["a", "b"]
        await spans.close()
        with closing(sqlite3.connect(path)) as db:
            count = 0

            def step() -> int:
                nonlocal count
                count += 1
                return 0

            db.set_progress_handler(step, 10)
            assert len(rows.load_session_spans(db, ("desk", "ann", "s"), invocation, 100)) == 2
        steps.append(count)
    assert steps[1] <= steps[0] + 2


async def test_a_user_is_forgotten_in_one_app_or_in_all(tmp_path: Path) -> None:
    spans = SqliteSpanStore(tmp_path / "traces.db")
    for number, app in enumerate(("desk", "desk", "shop")):
        record = _span(f"{number:016x}", "s", None, "e-1")
        record.place = (app, "ann", "s")
        spans.on_end(record)
    other = _span("f" * 16, "s", None, "e-1")
    other.place = ("desk", "ben", "s")
    spans.on_end(other)
    assert await spans.erase_user("desk", "ann") == 2
    assert await spans.erase_user(None, "ann") == 1
    assert len(await spans.of_session("desk", "ben", "s")) == 1
    await spans.close()


def _span(name: str, session: str, parent: str | None, invocation: str) -> SpanRecord:
    record = SpanRecord(name, "t" * 32, parent, "chat m", "chat", 1.0, 2.0)
    record.place, record.invocation_id = ("desk", "ann", session), invocation
    return record

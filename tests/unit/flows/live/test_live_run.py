"""A live run through the Runner: order, persistence, transcription, interruption (Spec 1 §17)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LiveRequestQueue, LlmAgent, RunConfig
from ostinato.errors import InputValidationError, SessionNotFoundError
from ostinato.events import Event
from ostinato.models import LlmResponse
from ostinato.models.request_text import instruction_text
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.utils.context_utils import Aclosing
from tests.unit.flows.kit import SESSION, USER, Store, Talk
from tests.unit.flows.live.kit import (
    DONE,
    HEARD,
    LiveModel,
    converse,
    heard,
    lines,
    live,
    said,
    sound,
    spoke,
    text,
)

MICROPHONE = types.Blob(data=b"\0\1", mime_type="audio/pcm;rate=16000")


def agent(model: LiveModel, **fields: Any) -> LlmAgent:
    return LlmAgent(name="root", model=model, instruction="Be brief.", **fields)


@pytest.mark.spec(203)
async def test_a_text_turn_is_streamed_and_stored(store: Store) -> None:
    model = LiveModel([HEARD, text("Hel", True), text("lo", True), text("Hello", False), DONE])
    talk, queue = Talk(agent(model), store), LiveRequestQueue()
    queue.send_content(said("Hi"))
    events = await converse(talk, queue)
    assert lines(events) == ["~root Hel", "~root lo", "root Hello", "root turn_complete"]
    assert lines(await talk.stored()) == ["user Hi", "root Hello", "root turn_complete"]
    assert model.connections[0].texts == ["Hi"]
    assert model.connections[0].closed
    assert model.connections[0].history is None
    assert len({event.invocation_id for event in await talk.stored()}) == 1


async def test_a_live_run_asks_for_sound_and_transcriptions_unless_told_otherwise(
    memory: Store,
) -> None:
    model = LiveModel([HEARD, DONE], [HEARD, DONE])
    talk = Talk(agent(model), memory)
    for config in (None, RunConfig(response_modalities=["TEXT"], input_audio_transcription=None)):
        queue = LiveRequestQueue()
        queue.send_content(said("Hi"))
        await converse(talk, queue, config)
    first, second = (request.live_connect_config for request in model.requests)
    assert first.response_modalities == [types.Modality.AUDIO]
    assert first.input_audio_transcription is not None
    assert first.output_audio_transcription is not None
    assert second.response_modalities == [types.Modality.TEXT]
    assert second.input_audio_transcription is None
    assert instruction_text(model.requests[0].config).startswith("Be brief.")


@pytest.mark.spec(204)
async def test_sound_is_yielded_and_not_stored(store: Store) -> None:
    model = LiveModel(
        [
            HEARD,
            heard("he", False),
            heard("hey", True),
            sound(b"ab"),
            sound(b"cd"),
            spoke("Hel", False),
            spoke("Hello", True),
            LlmResponse(
                usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=5)
            ),
            DONE,
        ]
    )
    talk, queue = Talk(agent(model), store), LiveRequestQueue()
    queue.send_realtime(MICROPHONE)
    events = await converse(talk, queue)
    assert lines(events) == [
        "~user heard:he",
        "user heard:hey",
        "root sound",
        "root sound",
        "~root spoke:Hel",
        "root spoke:Hello",
        "root usage",
        "root turn_complete",
    ]
    assert lines(await talk.stored()) == [
        "user heard:hey",
        "root spoke:Hello",
        "root usage",
        "root turn_complete",
    ]
    assert model.connections[0].sent == [MICROPHONE]


@pytest.mark.spec(203)
async def test_the_history_of_earlier_runs_is_sent_first(store: Store) -> None:
    model = LiveModel(
        [HEARD, heard("hey", True), spoke("Hello", True), DONE, HEARD, text("Yes", False), DONE],
        [HEARD, text("Again", False), DONE],
    )
    talk, queue = Talk(agent(model), store), LiveRequestQueue()
    queue.send_realtime(MICROPHONE)

    def ask_once(event: Event) -> bool:
        if event.turn_complete and len(model.connections[0].sent) == 1:
            queue.send_content(said("More?"))
            return False
        return bool(event.turn_complete)

    await converse(talk, queue, until=ask_once)
    queue = LiveRequestQueue()
    queue.send_realtime(MICROPHONE)
    await converse(talk, queue)
    history = model.connections[1].history
    assert history is not None
    assert [(c.role, c.parts[0].text) for c in history if c.parts] == [
        ("user", "hey"),
        ("model", "Hello"),
        ("user", "More?"),
        ("model", "Yes"),
    ]


@pytest.mark.spec(203, 204)
async def test_save_live_blob_stores_sound_as_files(store: Store) -> None:
    model = LiveModel([HEARD, HEARD, sound(b"ab"), sound(b"cd"), DONE])
    talk, queue = Talk(agent(model), store), LiveRequestQueue()
    queue.send_realtime(MICROPHONE)
    queue.send_realtime(MICROPHONE)
    events = await converse(talk, queue, RunConfig(save_live_blob=True))
    wanted = ["user file", "root file", "root turn_complete"]
    assert lines(events) == ["root sound", "root sound", *wanted]
    stored = await talk.stored()
    assert lines(stored) == wanted
    files: list[bytes] = []
    for event in stored[:2]:
        assert event.content is not None and event.content.parts is not None
        file = event.content.parts[0].file_data
        assert file is not None and file.file_uri is not None
        name = file.file_uri.partition("/artifacts/")[2].partition("/versions/")[0]
        part = await talk.runner.artifact_service.load_artifact(
            app_name="talk", user_id=USER, session_id=SESSION, filename=name
        )
        files.append(part.inline_data.data)
    assert files == [b"\0\1\0\1", b"abcd"]


async def test_an_interruption_stores_what_the_model_had_said_so_far(memory: Store) -> None:
    model = LiveModel([HEARD, sound(b"ab"), LlmResponse(interrupted=True), sound(b"c"), DONE])
    talk, queue = Talk(agent(model), memory), LiveRequestQueue()
    queue.send_realtime(MICROPHONE)
    events = await converse(talk, queue, RunConfig(save_live_blob=True))
    assert lines(events) == [
        "root sound",
        "root file",
        "root interrupted",
        "root sound",
        "user file",
        "root file",
        "root turn_complete",
    ]


async def test_activity_is_passed_on(memory: Store) -> None:
    model = LiveModel([HEARD, HEARD, HEARD, DONE])
    talk, queue = Talk(agent(model), memory), LiveRequestQueue()
    queue.send_activity_start()
    queue.send_realtime(MICROPHONE)
    queue.send_activity_end()
    await converse(talk, queue)
    assert model.connections[0].texts == ["ActivityStart", "Blob", "ActivityEnd"]


async def test_closing_the_queue_ends_the_run_in_the_middle_of_a_turn(store: Store) -> None:
    model = LiveModel([HEARD, text("Hel", True)])
    talk, queue = Talk(agent(model), store), LiveRequestQueue()
    queue.send_content(said("Hi"))
    assert lines(await converse(talk, queue, until=lambda event: True)) == ["~root Hel"]
    assert lines(await talk.stored()) == ["user Hi"]
    assert model.connections[0].closed


async def test_closing_the_generator_ends_all_tasks(store: Store) -> None:
    model = LiveModel([HEARD, text("Hel", True)])
    talk, queue = Talk(agent(model), store), LiveRequestQueue()
    queue.send_content(said("Hi"))
    before = asyncio.all_tasks()
    async with Aclosing(live(talk, queue)) as run:
        await anext(run)
        assert asyncio.all_tasks() > before
    assert asyncio.all_tasks() == before
    assert model.connections[0].closed
    assert lines(await talk.stored()) == ["user Hi"]


async def test_cancelling_the_caller_ends_all_tasks(store: Store) -> None:
    model = LiveModel([HEARD, text("Hel", True)])
    talk, queue = Talk(agent(model), store), LiveRequestQueue()
    queue.send_content(said("Hi"))
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in live(talk, queue):
            begun.set()

    before = asyncio.all_tasks()
    task = asyncio.create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
    assert model.connections[0].closed


async def test_the_text_of_a_live_turn_goes_into_the_output_key(memory: Store) -> None:
    model = LiveModel([HEARD, text("Paris", False), DONE])
    talk, queue = Talk(agent(model, output_key="city"), memory), LiveRequestQueue()
    queue.send_content(said("Where?"))
    await converse(talk, queue)
    session = await memory.service.get_session(app_name="talk", user_id=USER, session_id=SESSION)
    assert session.state["city"] == "Paris"


async def test_hooks_run_around_a_live_run(memory: Store) -> None:
    seen: list[str] = []

    def note(name: str) -> Any:
        return lambda *args, **kwargs: seen.append(name)

    model = LiveModel([HEARD, text("He", True), text("Hello", False), DONE])
    hooks = ("before_agent", "before_model", "after_model", "after_agent")
    root = agent(model, **{f"{name}_callback": note(name) for name in hooks})
    talk, queue = Talk(root, memory), LiveRequestQueue()
    queue.send_content(said("Hi"))
    await converse(talk, queue)
    assert seen == ["before_agent", "before_model", *["after_model"] * 3, "after_agent"]


async def test_after_model_may_change_what_is_yielded(memory: Store) -> None:
    model = LiveModel([HEARD, text("secret", True), text("secret", False), DONE])

    def redact(callback_context: Any, llm_response: LlmResponse) -> LlmResponse | None:
        return text("***", llm_response.partial) if llm_response.content else None

    talk, queue = Talk(agent(model, after_model_callback=redact), memory), LiveRequestQueue()
    queue.send_content(said("Hi"))
    assert lines(await converse(talk, queue)) == ["~root ***", "root ***", "root turn_complete"]


async def test_a_before_model_answer_replaces_the_connection(memory: Store) -> None:
    model = LiveModel()
    root = agent(model, before_model_callback=lambda **_: text("Closed today."))
    talk = Talk(root, memory)
    assert lines(await converse(talk, LiveRequestQueue())) == ["root Closed today."]
    assert model.connections == []


async def test_an_error_of_the_models_ends_the_run_and_is_on_record(store: Store) -> None:
    model = LiveModel([HEARD, text("a", True), RuntimeError("broken")])
    talk, queue = Talk(agent(model), store), LiveRequestQueue()
    queue.send_content(said("Hi"))
    with pytest.raises(RuntimeError, match="broken"):
        await converse(talk, queue)
    assert lines(await talk.stored()) == ["user Hi", "root error:RuntimeError"]


async def test_an_on_model_error_answer_stands_in(memory: Store) -> None:
    model = LiveModel([HEARD, RuntimeError("broken")])
    root = agent(model, on_model_error_callback=lambda **_: text("Sorry."))
    talk, queue = Talk(root, memory), LiveRequestQueue()
    queue.send_content(said("Hi"))
    assert lines(await converse(talk, queue)) == ["root Sorry."]


async def test_errors_that_the_model_reports_are_events(memory: Store) -> None:
    refusal = LlmResponse(error_code="SAFETY", error_message="no")
    model = LiveModel([HEARD, refusal, text("a", False), DONE])
    talk, queue = Talk(agent(model), memory), LiveRequestQueue()
    queue.send_content(said("Hi"))
    assert lines(await converse(talk, queue)) == [
        "root error:SAFETY",
        "root a",
        "root turn_complete",
    ]


async def test_a_slow_reader_holds_the_reception_up_and_loses_nothing(memory: Store) -> None:
    pieces = [sound(bytes([i % 256])) for i in range(1000)]
    model = LiveModel([HEARD, *pieces, DONE])
    talk, queue = Talk(agent(model), memory), LiveRequestQueue()
    queue.send_realtime(MICROPHONE)
    events: list[Event] = []
    async with Aclosing(live(talk, queue)) as run:
        async for event in run:
            events.append(event)
            if len(events) == 1:
                for _ in range(2000):
                    await asyncio.sleep(0)
                assert len(model.connections[0]._script) > 500
            if event.turn_complete:
                queue.close()
    assert len(events) == 1001


async def test_the_session_has_to_be_named_and_to_exist() -> None:
    runner = Runner(
        app_name="talk",
        agent=agent(LiveModel()),
        session_service=InMemorySessionService(),
    )
    with pytest.raises(InputValidationError, match="user_id and session_id"):
        await anext(runner.run_live(live_request_queue=LiveRequestQueue()))
    with pytest.raises(SessionNotFoundError):
        await anext(
            runner.run_live(user_id="a", session_id="b", live_request_queue=LiveRequestQueue())
        )

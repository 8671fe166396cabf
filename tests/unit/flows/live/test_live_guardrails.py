"""Guardrails of live runs: what the user writes is checked before the model gets it, and what the
model says before anybody hears it, as far as there are words."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent, LiveRequestQueue, RunConfig, SequentialAgent
from ostinato.apps import App
from ostinato.context.guardrail import TRIPPED, Guardrail, GuardrailResult
from ostinato.errors import AgentConfigError, GuardrailTrippedError
from ostinato.events import Event
from tests.unit.flows.kit import Store, Talk
from tests.unit.flows.live.kit import (
    DONE,
    HEARD,
    PCM,
    LiveModel,
    call,
    calls,
    converse,
    heard,
    line,
    lines,
    said,
    sound,
    spoke,
    text,
)

BAD = "the secret"


def words(content: types.Content) -> str:
    return " ".join(part.text or "" for part in content.parts or ())


class Guard:
    """Trips at the secret; keeps what it saw."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, ctx: Any, content: types.Content) -> GuardrailResult:
        self.seen.append(words(content))
        return GuardrailResult(tripwire=BAD in words(content), message="I cannot say that.")


def root(model: LiveModel, **fields: Any) -> Agent:
    return Agent(name="root", model=model, **fields)


async def run(talk: Talk, *messages: Any, modality: str = "AUDIO", **config: Any) -> list[Event]:
    queue = LiveRequestQueue()
    for message in messages:
        if isinstance(message, types.Content):
            queue.send_content(message)
        else:
            queue.send_realtime(message)
    settings = RunConfig(response_modalities=[modality], **config)
    turns = {"wanted": len(messages)}

    def ends(event: Event) -> bool:
        turns["wanted"] -= bool(event.turn_complete)
        return not turns["wanted"]

    return await converse(talk, queue, settings, until=ends)


async def test_what_the_user_writes_is_checked_before_it_is_sent(store: Store) -> None:
    model, guard = LiveModel([HEARD, text("Fine."), DONE, HEARD]), Guard()
    talk = Talk(root(model, input_guardrails=[Guardrail(guard, name="secrets")]), store)
    events = await run(talk, said("Hi"), said(BAD), modality="TEXT")
    assert model.connections[0].texts == ["Hi"]
    assert guard.seen == ["Hi", BAD]
    assert events[-1].error_code == TRIPPED
    assert [e.error_code for e in await talk.stored() if e.error_code] == [TRIPPED]
    assert line(events[-1]) == f"root I cannot say that. error:{TRIPPED}"


async def test_what_the_user_says_is_checked_when_its_words_are_there(store: Store) -> None:
    script = [HEARD, heard("tell me", False), heard(BAD, True), text("Never heard."), DONE]
    model, guard = LiveModel(script), Guard()
    talk = Talk(root(model, input_guardrails=[guard]), store)
    events = await run(talk, types.Blob(data=b"x", mime_type=PCM))
    assert guard.seen == [BAD]
    assert lines(events)[-2:] == [
        f"user heard:{BAD}", f"root I cannot say that. error:{TRIPPED}",
    ]  # fmt: skip


@pytest.mark.parametrize("trips", [False, True])
async def test_written_words_are_held_back_until_they_are_whole(store: Store, trips: bool) -> None:
    whole = BAD if trips else "the weather"
    script = [HEARD, text("the ", True), text(whole[4:], True), text(whole), DONE]
    model, guard = LiveModel(script), Guard()
    talk = Talk(root(model, output_guardrails=[guard]), store)
    events = await run(talk, said("Hi"), modality="TEXT")
    assert guard.seen == [whole]
    if trips:
        assert lines(events) == [f"root I cannot say that. error:{TRIPPED}"]
        assert BAD not in str(await talk.stored())
    else:
        assert lines(events) == [
            "~root the ", "~root weather", "root the weather", "root turn_complete",
        ]  # fmt: skip


@pytest.mark.parametrize("trips", [False, True])
async def test_sound_is_held_back_until_the_turn_and_its_words_were_checked(
    store: Store, trips: bool
) -> None:
    rest = BAD if trips else "It is warm."
    script = [
        HEARD, sound(b"1"), spoke("Well", False), spoke("Well.", True), sound(b"2"),
        spoke(rest, False), spoke(rest, True), DONE,
    ]  # fmt: skip
    model, guard = LiveModel(script), Guard()
    talk = Talk(root(model, output_guardrails=[guard]), store)
    events = await run(talk, said("Hi"))
    assert guard.seen == ["Well.", rest]
    shown = lines(events)
    if trips:
        assert shown == ["root spoke:Well.", f"root I cannot say that. error:{TRIPPED}"]
    else:
        assert shown == [
            "root spoke:Well.", f"root spoke:{rest}", "root sound", "~root spoke:Well",
            "root sound", f"~root spoke:{rest}", "root turn_complete",
        ]  # fmt: skip


async def test_words_that_never_became_whole_are_checked_at_the_end_of_the_turn(
    store: Store,
) -> None:
    model, guard = (
        LiveModel([HEARD, sound(b"1"), spoke("the se", False), spoke("cret", False), DONE]),
        Guard(),
    )
    talk = Talk(root(model, output_guardrails=[guard]), store)
    assert lines(await run(talk, said("Hi"))) == [f"root I cannot say that. error:{TRIPPED}"]
    assert guard.seen == [BAD]


async def test_sound_without_words_is_not_let_through(store: Store) -> None:
    model = LiveModel([HEARD, sound(b"1"), DONE])
    talk = Talk(root(model, output_guardrails=[Guard()]), store)
    assert lines(await run(talk, said("Hi"))) == ["root turn_complete"]


async def test_what_is_interrupted_is_not_heard(store: Store) -> None:
    from ostinato.models import LlmResponse

    script = [
        HEARD, sound(b"1"), spoke("Well", False), LlmResponse(interrupted=True), text("Yes?"), DONE,
    ]  # fmt: skip
    talk = Talk(root(LiveModel(script), output_guardrails=[Guard()]), store)
    assert lines(await run(talk, said("Hi"))) == [
        "root interrupted", "root Yes?", "root turn_complete",
    ]  # fmt: skip


async def test_a_call_lets_nothing_through_that_is_held(store: Store) -> None:
    def look(what: str) -> str:
        return f"saw {what}"

    script = [
        HEARD, text("the se", True), calls(call("look", "c1", what="sea")), HEARD,
        text("cret", True), text(BAD), DONE,
    ]  # fmt: skip
    talk = Talk(root(LiveModel(script), output_guardrails=[Guard()], tools=[look]), store)
    assert lines(await run(talk, said("Hi"), modality="TEXT")) == [
        "root look(c1)", "root look={'result': 'saw sea'}",
        f"root I cannot say that. error:{TRIPPED}",
    ]  # fmt: skip
    await talk.check_sound()


async def test_guardrails_of_app_and_of_agents_above_hold_below(store: Store) -> None:
    top, above, own = Guard(), Guard(), Guard()
    model = LiveModel([HEARD, text("Fine."), DONE])
    inner = root(model, input_guardrails=[own], output_guardrails=[own])
    line_of = SequentialAgent(name="line", sub_agents=[inner], input_guardrails=[above])
    app = App(name="talk", root_agent=line_of, input_guardrails=[top], output_guardrails=[top])
    await run(Talk(app, store), said("Hi"), modality="TEXT")
    assert (top.seen, above.seen, own.seen) == (["Hi", "Fine."], ["Hi"], ["Hi", "Fine."])


@pytest.mark.parametrize("stage", ["input", "output"])
async def test_on_trip_raise_raises_and_no_model_hook_answers_it(store: Store, stage: str) -> None:
    asked: list[Any] = []
    guards = {f"{stage}_guardrails": [Guardrail(Guard(), on_trip="raise")]}
    model = LiveModel([HEARD, text(BAD), DONE])
    agent = root(model, on_model_error_callback=lambda **given: asked.append(given), **guards)
    talk = Talk(agent, store)
    with pytest.raises(GuardrailTrippedError, match=f"stopped the {stage} of agent 'root'"):
        await run(talk, said(BAD if stage == "input" else "Hi"), modality="TEXT")
    assert asked == []
    assert TRIPPED in [e.error_code for e in await talk.stored()]


async def test_what_a_guardrail_raises_ends_the_run_with_nothing_let_through(store: Store) -> None:
    def broken(ctx: Any, content: Any) -> None:
        raise RuntimeError("no check")

    model = LiveModel([HEARD, text("Said."), DONE])
    talk = Talk(root(model, input_guardrails=[broken]), store)
    with pytest.raises(RuntimeError, match="no check"):
        await run(talk, said("Hi"), modality="TEXT")
    assert model.connections[0].texts == []


@pytest.mark.parametrize("stage", ["input", "output"])
async def test_a_run_whose_sound_has_no_words_is_refused(memory: Store, stage: str) -> None:
    guards: Any = {f"{stage}_guardrails": [Guard()]}
    unheard: Any = {f"{stage}_audio_transcription": None}
    talk = Talk(root(LiveModel([DONE]), **guards), memory)
    with pytest.raises(AgentConfigError, match=f"'root'.*no {stage}_audio_transcription"):
        await run(talk, said("Hi"), **unheard)

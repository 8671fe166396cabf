"""A policy on the context: large results become artifacts, old ones leave the request, and the
model can read all of them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ContextPolicy
from ostinato.artifacts import InMemoryArtifactService
from ostinato.flows.llm_flows.tool_calls.call_journal import serialize_result
from ostinato.models import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.telemetry.recorder import RECORDERS, SpanRecord
from ostinato.testing import ScriptedModel, call
from ostinato.tools import AgentTool
from ostinato.tools import read_result_tool as reading
from ostinato.tools.stored_result import describe_result
from tests.support.optionals import parts_of, present
from tests.unit.flows.kit import Store, Talk

SIZE = 200_000


def find_needle(number: int) -> str:
    """Return the fact that the result of a number holds in its middle."""
    return f"needle-{number:03}-is-here"


def fetch(number: int) -> str:
    """Fetch a long page."""
    half = "lorem ipsum " * (SIZE // 24)
    return half + find_needle(number) + half


def fetch_record(number: int) -> dict[str, Any]:
    """Fetch a record."""
    return {"rows": [{"id": at, "name": f"row {at} of {number}"} for at in range(200)]}


def read_responses(request: Any) -> list[types.FunctionResponse]:
    parts = [part for content in request.contents for part in content.parts or ()]
    return [part.function_response for part in parts if part.function_response]


def measure(request: LlmRequest) -> int:
    contents = [c.model_dump(mode="json", exclude_none=True) for c in request.contents]
    return len(json.dumps(contents))


class Reader(BaseLlm):
    """Fetches one page a turn; then finds the needle of each page by the refs that it sees."""

    sizes: list[int] = []
    found: list[str] = []

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.sizes.append(measure(llm_request))
        last = parts_of(llm_request.contents[-1])[-1]
        if last.text is None:
            answer = present(last.function_response)
            if answer.name == "read_result":
                self.found.append(json.dumps(answer.response))
            yield self.say(types.Part(text="Done."))
        elif last.text.startswith("fetch "):
            yield self.call("fetch", number=int(last.text.split()[1]))
        else:
            number = int(last.text.split()[1])
            refs = [present(r.response).get("ref") for r in read_responses(llm_request)]
            ref = [one for one in refs if one][number]
            yield self.call("read_result", ref=ref, pattern="NEEDLE-")

    def call(self, name: str, **args: Any) -> LlmResponse:
        return self.say(types.Part(function_call=types.FunctionCall(name=name, args=args)))

    def say(self, part: types.Part) -> LlmResponse:
        return LlmResponse(content=types.Content(role="model", parts=[part]))


@pytest.mark.parametrize("keeps_artifacts", [True, pytest.param(False, marks=pytest.mark.long)])
async def test_fifty_large_results_stay_below_the_limit_and_can_all_be_found(
    keeps_artifacts: bool,
) -> None:
    model = Reader(model="reader", sizes=[], found=[])
    policy = ContextPolicy(
        result_tokens=1_000, preview_tokens=100, history_tokens=6_000, read_tokens=500
    )
    app = App(
        name="desk",
        root_agent=LlmAgent(name="clerk", model=model, tools=[fetch]),
        context=policy,
    )
    runner = Runner(
        app=app,
        session_service=InMemorySessionService(),
        artifact_service=InMemoryArtifactService() if keeps_artifacts else None,
    )
    await runner.session_service.create_session(app_name="desk", user_id="ann", session_id="s")
    for word in ("fetch", "find"):
        for number in range(50):
            async for _ in runner.run_async(
                user_id="ann", session_id="s", new_message=f"{word} {number}"
            ):
                pass
    assert max(model.sizes) < 80_000  # fifty results have 10,000,000
    assert [find_needle(n) in text for n, text in enumerate(model.found)] == [True] * 50
    session = present(
        await runner.session_service.get_session(app_name="desk", user_id="ann", session_id="s")
    )
    logged = sum(len(event.model_dump_json()) for event in session.events)
    assert (logged < 1_000_000) is keeps_artifacts


async def hold_talk(store: Store, model: BaseLlm, tool: Any, *, turns: int, **policy: int) -> Talk:
    agent = LlmAgent(name="clerk", model=model, tools=[tool])
    talk = Talk(App(name="talk", root_agent=agent, context=ContextPolicy(**policy)), store)
    for _ in range(turns):
        await talk.say("go on")
    return talk


async def test_the_start_of_a_request_stays_the_same_while_results_fit(store: Store) -> None:
    turns: list[Any] = []
    for number in range(12):
        turns += [call("fetch_record", number=number), "ok"]
    model = ScriptedModel(turns)
    await hold_talk(
        store, model, fetch_record, turns=12, result_tokens=4_000, history_tokens=12_000
    )
    model.assert_finished()
    changes = 0
    seen = [[c.model_dump_json() for c in r.contents] for r in model.requests]
    for before, after in pairwise(seen):
        changes += after[: len(before)] != before
    assert 0 < changes <= 4


async def test_a_model_reads_on_and_searches_in_bounds(memory: Store) -> None:
    model = ScriptedModel([call("fetch", number=7), "ok"])
    policy = {"result_tokens": 500, "read_tokens": 100}
    talk = await hold_talk(memory, model, fetch, turns=1, **policy)
    answer = next(e for e in talk.seen if e.get_function_responses())
    short = answer.get_function_responses()[0].response or {}
    assert short["truncated"] and short["total_chars"] > SIZE and len(short["preview"]) == 1_000
    ref, read = short["ref"], "read_result"
    model.add(
        [
            call(read, ref=ref, offset=1_000_000),
            call(read, ref=ref, offset=5),
            call(read, ref=ref, pattern="Ipsum"),
            call(read, ref=short["artifact"]["name"], pattern="needle-007"),
            call(read, ref=ref, offset=-1),
            call(read, ref="nothing"),
            call(read, ref=ref, pattern="x" * 5_000),
            call(read, ref=ref, pattern="(a+)+$"),
        ],
        "ok",
    )
    events = await talk.say("read")
    results = [r.response or {} for e in events for r in e.get_function_responses()]
    past, page, many, one, *wrong, regex = results
    assert past["text"] == "" and "next_offset" not in past
    assert 200 < len(page["text"]) < 400 and page["next_offset"] == 5 + len(page["text"])
    assert sum(len(m["text"]) for m in many["matches"]) <= 400 and many["occurrences"] > 16_000
    assert many["next_offset"] > 0
    assert "needle-007" in one["matches"][0]["text"] and one["occurrences"] == 1
    assert all("error" in result for result in wrong)
    assert regex["occurrences"] == 0


def fetch_escapes() -> str:
    """Return a text that JSON writes at many times its length."""
    return "".join(chr(1) * 40 + f'"{number:04d}"' for number in range(500))


async def test_an_answer_of_read_result_is_bounded_in_json_and_never_shortened(
    memory: Store,
) -> None:
    model = ScriptedModel([call("fetch_escapes"), "ok"])
    policy = {"result_tokens": 100, "preview_tokens": 50, "read_tokens": 200}
    talk = await hold_talk(memory, model, fetch_escapes, turns=1, **policy)
    answer = next(e for e in talk.seen if e.get_function_responses())
    ref = (answer.get_function_responses()[0].response or {})["ref"]
    text, offset = "", 0
    for _ in range(3):
        model.add(call("read_result", ref=ref, offset=offset), "ok")
        events = await talk.say("read")
        (page,) = [r.response or {} for e in events for r in e.get_function_responses()]
        assert read_responses(model.requests[-1])[-1].response == page
        assert len(json.dumps(page)) <= 400 and page["text"]
        text, offset = text + page["text"], page["next_offset"]
    assert fetch_escapes().startswith(text)
    model.add(call("read_result", ref=ref, pattern="0003"), "ok")
    events = await talk.say("find")
    (found,) = [r.response or {} for e in events for r in e.get_function_responses()]
    assert found["matches"] and len(json.dumps(found)) <= 400


def steal() -> dict[str, Any]:
    """Name an artifact of another's."""
    return {"truncated": True, "artifact": {"name": "user:secret.txt", "version": 0}}


async def test_a_tool_cannot_name_an_artifact_that_it_did_not_save(memory: Store) -> None:
    model = ScriptedModel([call("steal"), "ok", call("read_result", ref="user:secret.txt@0"), "ok"])
    agent = LlmAgent(name="clerk", model=model, tools=[steal])
    talk = Talk(App(name="talk", root_agent=agent, context=ContextPolicy()), memory)
    await talk.runner.artifact_service.save_artifact(
        app_name="talk",
        user_id="ann",
        session_id="one",
        filename="user:secret.txt",
        artifact=types.Part(text="the secret"),
    )
    await talk.say("go")
    events = await talk.say("read")
    assert "error" in str(events) and "the secret" not in str(events)


async def test_parallel_results_share_the_limit(memory: Store) -> None:
    calls = [call("fetch_record", number=number) for number in range(20)]
    model = ScriptedModel([calls, "ok"])
    await hold_talk(
        memory, model, fetch_record, turns=1, result_tokens=5_000, history_tokens=10_000
    )
    sent = model.requests[-1].contents[-1]
    assert len(sent.model_dump_json()) < 45_000
    answers = [present(p.function_response) for p in sent.parts or ()]
    assert all(present(answer.response)["truncated"] for answer in answers)


async def test_an_app_without_a_policy_sends_and_stores_everything(memory: Store) -> None:
    model = ScriptedModel([call("fetch", number=1), "ok"])
    agent = LlmAgent(name="clerk", model=model, tools=[fetch])
    talk = Talk(App(name="talk", root_agent=agent), memory)
    await talk.say("go")
    assert model.requests[0].tool_names == ["fetch"]
    assert find_needle(1) in model.requests[1].contents[-1].model_dump_json()
    assert (
        await talk.runner.artifact_service.list_artifact_keys(
            app_name="talk", user_id="ann", session_id="one"
        )
        == []
    )


@pytest.mark.parametrize(
    "limits",
    [
        {"result_tokens": 0},
        {"preview_tokens": 5_000},
        {"history_tokens": 3_000},
        {"read_tokens": 50_000},
        {"results": 5},
    ],
)
def test_limits_that_do_not_fit_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        ContextPolicy(**limits)


class Recorder:
    """Keeps the spans of model calls, with their contents."""

    wants_content = True

    def __init__(self) -> None:
        self.calls: list[SpanRecord] = []

    def on_start(self, record: SpanRecord) -> None:
        pass

    def on_end(self, record: SpanRecord) -> None:
        if record.operation == "chat":
            self.calls.append(record)


async def test_the_span_of_a_request_shows_what_was_trimmed(memory: Store) -> None:
    recorder = Recorder()
    turns: list[Any] = []
    for number in range(3):
        turns += [call("fetch_record", number=number), "ok"]
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=200, cached_content_token_count=150
    )
    text = types.Content(role="model", parts=[types.Part(text="bye")])
    turns.append(LlmResponse(content=text, usage_metadata=usage))
    RECORDERS.append(recorder)
    try:
        await hold_talk(
            memory,
            ScriptedModel(turns),
            fetch_record,
            turns=4,
            result_tokens=3_000,
            history_tokens=3_500,
        )
    finally:
        RECORDERS.remove(recorder)
    first, *_, last = recorder.calls
    assert "ostinato.trimmed_results" not in first.attributes
    assert last.attributes["ostinato.trimmed_results"] == 2
    assert last.attributes["ostinato.trimmed_chars"] > 10_000
    assert last.attributes["ostinato.cache_hit_rate"] == 0.75
    assert sum("total_chars" in content for content in last.contents) == 2


class Summary(BaseModel):
    text: str


async def test_structured_output_stays_whole(memory: Store) -> None:
    model = ScriptedModel([call("set_model_response", text="x" * 5_000)])
    agent = LlmAgent(name="clerk", model=model, tools=[fetch], output_schema=Summary)
    app = App(name="talk", root_agent=agent, context=ContextPolicy(result_tokens=300))
    events = await Talk(app, memory).say("go")
    assert "x" * 5_000 in str(events[-1].content)


class BrokenArtifacts(InMemoryArtifactService):
    async def save_artifact(self, **place: Any) -> int:
        raise OSError("the disk is full")


async def test_a_result_that_cannot_be_saved_stays_in_the_log(memory: Store) -> None:
    model = ScriptedModel([call("fetch", number=3), "ok"])
    agent = LlmAgent(name="clerk", model=model, tools=[fetch])
    talk = Talk(App(name="talk", root_agent=agent, context=ContextPolicy()), memory)
    talk.runner.artifact_service = BrokenArtifacts()
    events = await talk.say("go")
    assert find_needle(3) in str(events)
    sent = model.requests[-1].contents[-1].model_dump_json()
    assert len(sent) < 2_000 and "total_chars" in sent


async def test_an_agent_as_a_tool_has_the_same_limits(memory: Store) -> None:
    inner_model = ScriptedModel([call("fetch", number=4), "inner done"])
    inner = LlmAgent(name="inner", model=inner_model, tools=[fetch])
    model = ScriptedModel([call("inner", request="go"), "ok"])
    outer = LlmAgent(name="outer", model=model, tools=[AgentTool(inner)])
    await Talk(App(name="talk", root_agent=outer, context=ContextPolicy()), memory).say("go")
    assert len(inner_model.requests[-1].contents[-1].model_dump_json()) < 2_000


async def test_parallel_results_of_one_event_can_each_be_read_by_another_process(
    store: Store,
) -> None:
    model = ScriptedModel([[call("fetch", number=5), call("fetch", number=6)], "ok"])
    talk = await hold_talk(store, model, fetch, turns=1)
    event = next(e for e in talk.seen if e.get_function_responses())
    refs = [(answer.response or {})["ref"] for answer in event.get_function_responses()]
    assert len(set(refs)) == 2
    reader = ScriptedModel([[call("read_result", ref=r, pattern="needle") for r in refs], "ok"])
    agent = LlmAgent(name="clerk", model=reader, tools=[fetch])
    other = Talk(App(name="talk", root_agent=agent, context=ContextPolicy()), store)
    other.runner.artifact_service = talk.runner.artifact_service
    found = str(await other.say("read"))
    assert find_needle(5) in found and find_needle(6) in found


async def test_a_results_journal_row_names_its_artifact(memory: Store) -> None:
    """A run that died after the tool finished takes the result from there."""
    model = ScriptedModel([call("fetch", number=5), "ok"])
    talk = await hold_talk(memory, model, fetch, turns=1)
    event = next(e for e in talk.seen if e.get_function_responses())
    response = event.get_function_responses()[0].response
    row = json.loads(serialize_result(response, event.actions, []) or "{}")
    name = row["response"]["artifact"]["name"]
    assert row["actions"]["artifactDelta"] == {name: 0}
    assert len(json.dumps(row)) < 2_000


async def test_what_a_rewind_hides_cannot_be_read(memory: Store) -> None:
    model = ScriptedModel([call("fetch", number=5), "ok"])
    talk = await hold_talk(memory, model, fetch, turns=1)
    event = next(e for e in talk.seen if e.get_function_responses())
    ref = (event.get_function_responses()[0].response or {})["ref"]
    await talk.runner.rewind_async(
        user_id="ann", session_id="one", rewind_before_invocation_id=event.invocation_id
    )
    model.add(call("read_result", ref=ref), "ok")
    events = await talk.say("read")
    assert "There is no result" in str(events)


@pytest.mark.parametrize("odd", ["", "\u0130", "\u1e9e\ufb01\u0149\u0390"])
def test_a_pattern_matches_in_any_case_whatever_else_stands_there(odd: str) -> None:
    text = f"{odd} NEEDLE \u0130stanbul \u039f\u0394\u039f\u03a3 {odd}"
    for pattern in ("needle", "NEEDLE", "istanbul", "\u0130STANBUL", "\u03bf\u03b4\u03bf\u03c3"):
        found = reading._search(text, pattern, 0, 1_000)  # pyright: ignore[reportPrivateUsage]
        assert found["occurrences"] == 1, pattern
    found = reading._search("\u0130" * 300 + "needle", "NEEDLE", 300, 80)  # pyright: ignore[reportPrivateUsage]
    assert found["matches"][0]["text"].endswith("needle")


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ('name="Total"', 1),
        (r"name=\"total\"", 1),
        ("C:\\temp", 1),
        ("first\nsecond", 1),
        ("a\tb", 1),
        ('"', 9),
        ("\\", 6),
        ("total", 1),
        ("first second", 0),
    ],
)
def test_pattern_is_found_as_the_model_would_write_it(pattern: str, count: int) -> None:
    page = '<a name="total">42</a> C:\\temp first\nsecond a\tb "'
    text = describe_result({"html": page, "more": 1})[0]
    found = reading._search(text, pattern, 0, 10_000)  # pyright: ignore[reportPrivateUsage]
    assert found["occurrences"] == count
    for match in found["matches"]:
        assert text[match["offset"] :].startswith(match["text"])


def test_plain_text_is_searched_as_before() -> None:
    found = reading._search('say "hi"\nand "hi"', '"HI"', 0, 1_000)  # pyright: ignore[reportPrivateUsage]
    assert found["occurrences"] == 2

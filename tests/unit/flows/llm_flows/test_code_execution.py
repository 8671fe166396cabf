"""The code execution processors around a model call."""

from __future__ import annotations

import ast
import asyncio
import base64
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from ostinato import _clock, types
from ostinato.artifacts.in_memory_artifact_service import InMemoryArtifactService
from ostinato.code_executors import (
    BaseCodeExecutor,
    BuiltInCodeExecutor,
    UnsafeLocalCodeExecutor,
)
from ostinato.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)
from ostinato.context.invocation import InvocationContext
from ostinato.events.event import Event
from ostinato.flows.llm_flows._code_execution import request_processor, response_processor
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from tests.support.optionals import parts_of, present

PLACE = {"app_name": "app", "user_id": "u", "session_id": "s"}


class Scripted(BaseCodeExecutor):
    """Gives the results it was given, and notes what it was asked."""

    results: list[CodeExecutionResult] = []
    asked: list[CodeExecutionInput] = []
    threads: list[int] = []

    def execute_code(
        self, invocation_context: Any, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        self.asked.append(code_execution_input)
        self.threads.append(threading.get_ident())
        number = len(self.asked) - 1
        if number < len(self.results):
            return self.results[number]
        return CodeExecutionResult(stdout="ok\n")


async def open_context(executor: Any, *, artifacts: bool = True) -> InvocationContext:
    service = InMemorySessionService()
    session = await service.create_session(app_name="app", user_id="u", session_id="s")
    return InvocationContext(
        artifact_service=InMemoryArtifactService() if artifacts else None,
        session_service=service,
        session=session,
        invocation_id="e-1",
        branch="fan.left",
        agent=SimpleNamespace(name="root", code_executor=executor, parent_agent=None),
    )


def model(*parts: types.Part) -> types.Content:
    return types.Content(role="model", parts=list(parts))


def user(*parts: types.Part) -> types.Content:
    return types.Content(role="user", parts=list(parts))


def text(value: str, **fields: Any) -> types.Part:
    return types.Part(text=value, **fields)


def blob(data: bytes, mime_type: str, name: str | None = None) -> types.Part:
    return types.Part(inline_data=types.Blob(data=data, mime_type=mime_type, display_name=name))


def answer(number: int = 1) -> LlmResponse:
    return LlmResponse(content=model(text(f"Try.\n```python\nprint({number})\n```\nIt is 9.")))


async def respond(ctx: InvocationContext, response: LlmResponse) -> list[Event]:
    return [event async for event in response_processor.run_async(ctx, response)]


async def prepare(
    ctx: InvocationContext, *contents: types.Content
) -> tuple[LlmRequest, list[Event]]:
    request = LlmRequest(model="gemini-2.5-flash")
    request.contents = list(contents)
    return request, [event async for event in request_processor.run_async(ctx, request)]


def shown(contents: list[types.Content]) -> list[tuple[str | None, list[Any]]]:
    return [(c.role, [p.text for p in parts_of(c)]) for c in contents]


@pytest.mark.spec(167, 168)
async def test_code_is_run_and_the_response_cleared() -> None:
    executor = Scripted()
    ctx = await open_context(executor)
    response = answer()
    events = response_processor.run_async(ctx, response)
    code = await anext(events)
    assert executor.asked == [], "the code is committed before it is run"
    result = await anext(events)
    assert [event async for event in events] == []
    assert response.content is None
    assert [p.to_json_dict() for p in parts_of(code)] == [
        {"text": "Try.\n"},
        {"executable_code": {"code": "print(1)", "language": "PYTHON"}},
    ]
    assert code.actions.is_empty()
    assert present(result.content).role == "model"
    assert [p.to_json_dict() for p in parts_of(result)] == [
        {
            "code_execution_result": {
                "outcome": "OUTCOME_OK",
                "output": "Code execution result:\nok\n\n",
            }
        }
    ]
    assert result.actions.state_delta == {"_code_execution_context": {}}
    assert not result.is_final_response() and result.has_trailing_code_execution_result()
    for event in (code, result):
        assert (event.author, event.invocation_id, event.branch) == ("root", "e-1", "fan.left")
    assert executor.asked == [CodeExecutionInput(code="print(1)")]
    assert executor.threads != [threading.get_ident()], "not on the event loop's thread"


@pytest.mark.spec(167)
@pytest.mark.parametrize(
    "response",
    [
        LlmResponse(content=model(text("No code."))),
        LlmResponse(content=answer().content, partial=True),
        LlmResponse(content=types.Content(role="model")),
        LlmResponse(error_code="X"),
    ],
)
async def test_nothing_to_run(response: LlmResponse) -> None:
    executor = Scripted()
    before = response.model_dump()
    assert await respond(await open_context(executor), response) == []
    assert response.model_dump() == before and executor.asked == []


@pytest.mark.spec(167)
async def test_output_files_become_artifacts() -> None:
    files = [File("a.png", b"\x89PNG", "image/png"), File("b.txt", "aGVsbG8=")]
    executor = Scripted(results=[CodeExecutionResult(stdout="o\n", output_files=files)])
    ctx = await open_context(executor)
    _, result = await respond(ctx, answer())
    assert result.actions.artifact_delta == {"a.png": 0, "b.txt": 0}
    output = present(present(parts_of(result)[0].code_execution_result).output)
    assert output.endswith("Saved artifacts:\n`a.png`,`b.txt`")
    for file, data in zip(files, (b"\x89PNG", b"hello"), strict=True):
        part = await ctx.artifact_service.load_artifact(**PLACE, filename=file.name)
        assert part.inline_data.data == data and part.inline_data.mime_type == file.mime_type


async def test_output_files_need_an_artifact_service() -> None:
    executor = Scripted(results=[CodeExecutionResult(output_files=[File("a", b"")])])
    with pytest.raises(ValueError, match="Artifact service"):
        await respond(await open_context(executor, artifacts=False), answer())


@pytest.mark.spec(168)
@pytest.mark.parametrize(("attempts", "runs"), [(2, 2), (3, 3), (0, 1)])
async def test_failures_are_bounded(attempts: int, runs: int) -> None:
    failure = CodeExecutionResult(stderr="no")
    executor = Scripted(results=[failure] * 9, error_retry_attempts=attempts)
    ctx = await open_context(executor)
    for number in range(runs):
        _, result = await respond(ctx, answer(number))
        assert present(parts_of(result)[0].code_execution_result).outcome == "OUTCOME_FAILED"
        assert present(parts_of(result)[0].code_execution_result).output == "no"
    last = answer(9)
    assert await respond(ctx, last) == []
    assert present(parts_of(last)[0].text).startswith("Try."), "the answer is left as it is"
    assert len(executor.asked) == runs
    ctx.invocation_id = "e-2"
    assert len(await respond(ctx, answer())) == 2, "another invocation counts anew"


@pytest.mark.spec(168)
async def test_a_success_resets_the_count() -> None:
    failure, success = CodeExecutionResult(stderr="no"), CodeExecutionResult()
    executor = Scripted(results=[failure, success, failure, success])
    ctx = await open_context(executor)
    for _ in range(4):
        assert len(await respond(ctx, answer())) == 2


async def test_token_counts_stay_with_the_code() -> None:
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=7)
    response = answer()
    response.usage_metadata = usage
    code, result = await respond(await open_context(Scripted()), response)
    assert code.usage_metadata == usage and result.usage_metadata is None


async def test_a_raising_executor_raises() -> None:
    class Broken(Scripted):
        def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
            raise RuntimeError("boom")

    response = answer()
    events = response_processor.run_async(await open_context(Broken()), response)
    await anext(events)
    with pytest.raises(RuntimeError, match="boom"):
        await anext(events)


@pytest.mark.spec(167)
async def test_stateful_executors_get_the_session_id() -> None:
    executor = Scripted(stateful=True)
    ctx = await open_context(executor)
    _, result = await respond(ctx, answer())
    wanted = {"_code_execution_context": {"execution_session_id": "s"}}
    assert result.actions.state_delta == wanted
    assert executor.asked[0].execution_id == "s"


@pytest.mark.spec(167, 168)
async def test_with_real_code() -> None:
    ctx = await open_context(UnsafeLocalCodeExecutor())
    good = LlmResponse(content=model(text("```tool_code\nopen('a', 'w').write('x')\n```")))
    _, result = await respond(ctx, good)
    assert result.actions.artifact_delta == {"a": 0}
    bad = LlmResponse(content=model(text("```tool_code\nraise ValueError('no')\n```")))
    _, result = await respond(ctx, bad)
    ended = present(parts_of(result)[0].code_execution_result)
    assert ended.outcome == "OUTCOME_FAILED" and present(ended.output).endswith(
        "\nValueError: no\n"
    )


async def test_cancelling_the_run_ends_the_code() -> None:
    ctx = await open_context(UnsafeLocalCodeExecutor(timeout_seconds=None))
    endless = LlmResponse(content=model(text("```python\nwhile True: pass\n```")))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await respond(ctx, endless)
    readers = [thread.name for thread in threading.enumerate() if "(_read)" in thread.name]
    assert readers == [], "nothing of the child is left to be read"


@pytest.mark.spec(167)
async def test_history_is_shown_as_text_without_editing_it() -> None:
    ctx = await open_context(Scripted())
    code, result = await respond(ctx, answer())
    history = [user(text("q")), code.content, result.content]
    before = [content.model_dump() for content in history]
    request, events = await prepare(ctx, *history)
    assert events == []
    assert shown(request.contents) == [
        ("user", ["q"]),
        ("model", ["Try.\n", "```tool_code\nprint(1)\n```"]),
        ("user", ["```tool_output\nCode execution result:\nok\n\n\n```"]),
    ]
    assert [content.model_dump() for content in history] == before
    assert request.contents[0] is history[0]
    again, _ = await prepare(ctx, *history, user(text("more")))
    assert again.contents[1] is request.contents[1]


@pytest.mark.spec(167)
async def test_delimiters_are_the_executors_own() -> None:
    executor = Scripted(
        code_block_delimiters=[("<py>", "</py>")], execution_result_delimiters=("<out>", "</out>")
    )
    ctx = await open_context(executor)
    response = LlmResponse(content=model(text("<py>1</py>")))
    code, result = await respond(ctx, response)
    request, _ = await prepare(ctx, present(code.content), present(result.content))
    assert shown(request.contents) == [
        ("model", ["<py>1</py>"]),
        ("user", ["<out>Code execution result:\nok\n\n</out>"]),
    ]


@pytest.mark.spec(165)
async def test_data_files_are_taken_out_explored_and_cached() -> None:
    executor = Scripted(optimize_data_file=True)
    ctx = await open_context(executor)
    message = user(text("look"), blob(b"a,b\n1,2\n", "text/csv"), blob(b"p", "image/png"))
    request, events = await prepare(ctx, message)
    file = File("data_1_2.csv", base64.b64encode(b"a,b\n1,2\n").decode(), "text/csv")
    code, result = events
    assert parts_of(code)[0].text == "Processing input file: `data_1_2.csv`"
    source = present(present(parts_of(code)[1].executable_code).code)
    ast.parse(source)
    assert 'data_1_2 = pd.read_csv("data_1_2.csv")\nexplore_df(data_1_2)' in source
    assert executor.asked == [CodeExecutionInput(code=source, input_files=[file])]
    explored = {"_code_execution_context": {"processed_input_files": ["data_1_2.csv"]}}
    assert result.actions.state_delta == explored
    roles_and_texts = shown(request.contents)
    assert roles_and_texts[0] == ("user", ["look", "\nAvailable file: `data_1_2.csv`\n", None])
    assert roles_and_texts[1][1][1].startswith("```tool_code\nimport pandas")
    assert roles_and_texts[2][0] == "user" and len(roles_and_texts) == 3
    assert present(parts_of(message)[1].inline_data).data == b"a,b\n1,2\n", (
        "the history keeps its file"
    )

    request, events = await prepare(
        ctx, message, present(code.content), present(result.content), model(text("x"))
    )
    assert events == [] and present(parts_of(request.contents[0])[1].text).startswith(
        "\nAvailable file"
    )
    await respond(ctx, answer())
    assert executor.asked[-1].input_files == [file], "later code finds the file"


@pytest.mark.spec(165)
async def test_files_come_back_after_a_reload() -> None:
    executor = Scripted(optimize_data_file=True)
    ctx = await open_context(executor)
    message = user(blob(b"a\n1\n", "text/csv"))
    _, events = await prepare(ctx, message)
    stored = events[1].actions.state_delta
    for other in (ctx, await open_context(executor)):  # with the edits kept, and without
        other.session.state.clear()
        other.session.state.update(stored)
        _, events = await prepare(other, message)
        assert events == [], "not explored twice"
        await respond(other, answer())
        assert [f.name for f in executor.asked[-1].input_files] == ["data_1_1.csv"]


@pytest.mark.spec(165)
async def test_names_stay_apart_when_the_history_shifts() -> None:
    executor = Scripted(optimize_data_file=True)
    ctx = await open_context(executor)
    first, second = (user(blob(data, "text/csv")) for data in (b"a\n1\n", b"b\n2\n"))
    await prepare(ctx, first, second)
    request, _ = await prepare(ctx, second, user(blob(b"c\n", "text/csv")))
    names = [present(parts_of(content)[0].text).split("`")[1] for content in request.contents[:2]]
    assert names == ["data_2_1.csv", "data_2_1_2.csv"]


@pytest.mark.spec(165)
async def test_failed_exploring_is_shown_and_not_counted() -> None:
    failure = CodeExecutionResult(stderr="No module named 'pandas'")
    executor = Scripted(optimize_data_file=True, results=[failure, failure])
    ctx = await open_context(executor)
    message = user(blob(b"a\n", "text/csv"), blob(b"b\n", "text/csv"))
    request, events = await prepare(ctx, message)
    assert len(events) == 4
    assert "No module named 'pandas'" in present(parts_of(request.contents[-1])[0].text)
    assert len(await respond(ctx, answer())) == 2


@pytest.mark.spec(165)
async def test_data_files_stay_without_optimize_data_file() -> None:
    ctx = await open_context(Scripted())
    message = user(blob(b"a\n", "text/csv"))
    request, events = await prepare(ctx, message)
    assert events == [] and request.contents == [message]


async def test_exploring_without_pandas_tells_the_model() -> None:
    ctx = await open_context(UnsafeLocalCodeExecutor(optimize_data_file=True))
    message = user(blob(b"a,b\n1,\n1,x\n", "text/csv"))
    _, (_, result) = await prepare(ctx, message)
    output = present(present(parts_of(result)[0].code_execution_result).output)
    assert "No module named 'pandas'" in output or "2 rows, 2 columns" in output


@pytest.mark.spec(166)
async def test_built_in_executor_adds_its_tool() -> None:
    ctx = await open_context(BuiltInCodeExecutor(optimize_data_file=True))
    code = model(types.Part.from_executable_code(code="c", language=types.Language.PYTHON))
    request, events = await prepare(ctx, user(blob(b"a\n", "text/csv")), code)
    assert events == [] and present(request.config.tools)[0].code_execution is not None
    assert parts_of(request.contents[0])[0].inline_data and request.contents[1] is code


@pytest.mark.spec(166)
async def test_images_become_artifacts() -> None:
    ctx = await open_context(BuiltInCodeExecutor())
    parts = [
        text("x"),
        blob(b"1", "image/jpeg", "n.jpg"),
        blob(b"2", "image/jpeg", "../user:n.jpg"),
        blob(b"3", "image/jpeg", "sub/n.jpg"),
        blob(b"4", "audio/wav"),
    ]
    response = LlmResponse(content=model(*parts))
    [event] = await respond(ctx, response)
    assert event.actions.artifact_delta == {"n.jpg": 0, "user_n.jpg": 0, "n_2.jpg": 0}
    assert event.content is None and event.author == "root"
    assert [p.text for p in parts_of(response)] == [
        "x",
        "Saved as artifact: n.jpg. ",
        "Saved as artifact: user_n.jpg. ",
        "Saved as artifact: n_2.jpg. ",
        None,
    ]
    saved = await ctx.artifact_service.load_artifact(**PLACE, filename="n_2.jpg")
    assert saved.inline_data.data == b"3"


@pytest.mark.spec(166)
async def test_nameless_images_are_named_by_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_clock, "now", lambda: 1_000_000_000.0)
    ctx = await open_context(BuiltInCodeExecutor())
    images = [blob(b"1", "image/png"), blob(b"2", "image/png"), blob(b"3", "image/odd")]
    [event] = await respond(ctx, LlmResponse(content=model(*images)))
    assert list(event.actions.artifact_delta) == [
        "20010909_014640.png",
        "20010909_014640_2.png",
        "20010909_014640",
    ]


@pytest.mark.spec(166)
@pytest.mark.parametrize("artifacts", [True, False])
async def test_no_images_or_nowhere_to_put_them(artifacts: bool) -> None:
    ctx = await open_context(BuiltInCodeExecutor(), artifacts=artifacts)
    content = model(text("x") if artifacts else blob(b"1", "image/png"))
    response = LlmResponse(content=content)
    assert await respond(ctx, response) == []
    assert response.content is content


async def test_no_executor() -> None:
    ctx = await open_context(None)
    _, events = await prepare(ctx, user(text("q")))
    assert events == [] and await respond(ctx, answer()) == []

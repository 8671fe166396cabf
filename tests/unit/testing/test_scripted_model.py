"""ScriptedModel and FunctionModel: the forms of a turn, what is recorded, and strictness."""

from collections.abc import AsyncIterator, Iterator

import pytest

from ostinato import types
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.testing import (
    FunctionModel,
    ScriptedModel,
    ScriptError,
    call,
    chunks,
    thought,
)


def asking(*texts: str, **config: object) -> LlmRequest:
    return LlmRequest(
        model="m",
        contents=[types.Content(role="user", parts=[types.Part(text=text)]) for text in texts],
        config=types.GenerateContentConfig(**config),  # type: ignore[arg-type]
    )


async def respond(
    model: BaseLlm, request: LlmRequest | None = None, *, stream: bool = False
) -> list[LlmResponse]:
    return [r async for r in model.generate_content_async(request or asking("Hi"), stream)]


def parts(response: LlmResponse) -> list[types.Part]:
    assert response.content is not None
    assert response.content.role == "model"
    return response.content.parts or []


async def test_turns_come_in_order() -> None:
    model = ScriptedModel(
        ["one", call("f", a=1), [call("f", a=2), call("g")], [thought("hm"), "x"]]
    )
    assert parts((await respond(model))[0])[0].text == "one"
    assert (await respond(model))[0].get_function_calls() == [
        types.FunctionCall(name="f", args={"a": 1})
    ]
    calls = (await respond(model))[0].get_function_calls()
    assert [(c.name, c.args, c.id) for c in calls] == [("f", {"a": 2}, None), ("g", {}, None)]
    last = parts((await respond(model))[0])
    assert (last[0].thought, last[0].text, last[1].text) == (True, "hm", "x")
    model.assert_finished()


async def test_whole_responses_are_handed_out_as_copies() -> None:
    content = types.Content(role="model", parts=[types.Part(text="c")])
    response = LlmResponse(error_code="SAFETY", custom_metadata={"a": [1]})
    model = ScriptedModel([content, response])
    (first,) = await respond(model)
    assert first.content == content
    assert first.content is not content
    (second,) = await respond(model)
    assert second == response
    assert second.custom_metadata is not response.custom_metadata


async def test_exceptions_are_raised() -> None:
    model = ScriptedModel([ValueError("no"), TimeoutError])
    with pytest.raises(ValueError, match="no"):
        await respond(model)
    with pytest.raises(TimeoutError):
        await respond(model)


async def test_chunks_are_partial_only_while_streaming() -> None:
    model = ScriptedModel([chunks("Hel", "lo"), chunks("Hel", "lo")])
    streamed = await respond(model, stream=True)
    assert [(parts(r)[0].text, bool(r.partial)) for r in streamed] == [
        ("Hel", True),
        ("lo", True),
        ("Hello", False),
    ]
    (whole,) = await respond(model)
    assert parts(whole)[0].text == "Hello"
    assert [request.stream for request in model.requests] == [True, False]


async def test_requests_are_deep_snapshots() -> None:
    model = ScriptedModel(["a", "b"])
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="f")])
    options = types.HttpOptions(headers={"x-api-key": "secret"})
    request = asking("Hi", system_instruction="Be brief.", tools=[tool], http_options=options)
    await respond(model, request)
    request.contents[0].parts[0].text = "changed"  # type: ignore[index]
    request.contents.append(types.Content(role="model", parts=[types.Part(text="more")]))
    request.config.system_instruction = "changed"
    request.config.tools = []
    seen = model.requests[0]
    assert seen.texts == ["Hi"]
    assert seen.instruction == "Be brief."
    assert seen.tool_names == ["f"]
    assert seen.model == "m"
    assert seen.config.http_options is None


async def test_snapshots_share_what_has_not_changed() -> None:
    model = FunctionModel(lambda request: "yes")
    request = asking("Hi")
    for text in ("more", "still more"):
        await respond(model, request)
        request.contents.append(types.Content(role="user", parts=[types.Part(text=text)]))
    await respond(model, request)
    first, second, third = model.requests
    assert third.contents[0] is second.contents[0] is first.contents[0]
    assert third.contents[0] is not request.contents[0]
    request.contents[1].parts[0].text = "changed"  # type: ignore[index]
    await respond(model, request)
    assert third.texts == ["Hi", "more", "still more"]
    assert model.requests[3].texts == ["Hi", "changed", "still more"]


async def test_the_end_of_the_script_names_what_was_asked() -> None:
    model = ScriptedModel(["a"])
    await respond(model)
    with pytest.raises(ScriptError) as caught:
        await respond(model, asking(*"abcdefg", "And now?"))
    message = str(caught.value)
    assert "'scripted' has 1 turns, and request 2 asks for one more" in message
    assert "user: And now?" in message
    assert "2 earlier parts" in message
    assert "user: b" not in message
    assert len(model.requests) == 2


async def test_turns_that_nobody_asked_for_are_an_error() -> None:
    model = ScriptedModel(["a", "b"])
    await respond(model)
    with pytest.raises(ScriptError, match="1 unused turns: 'b'"):
        model.assert_finished()
    await respond(model)
    model.assert_finished()
    model.add("c")
    assert parts((await respond(model))[0])[0].text == "c"


async def test_wrong_turns_are_refused() -> None:
    with pytest.raises(TypeError, match=r"write ScriptedModel\(\[text\]\)"):
        ScriptedModel("Hello")
    with pytest.raises(TypeError, match="cannot hold a int"):
        await respond(ScriptedModel([7]))  # type: ignore[list-item]


def test_native_schema_is_a_claim() -> None:
    assert ScriptedModel(native_schema=True).supports_output_schema_with_tools
    assert not ScriptedModel().supports_output_schema_with_tools


async def test_a_function_computes_the_answer() -> None:
    model = FunctionModel(lambda request: f"{len(request.contents)} contents")
    (response,) = await respond(model, asking("a", "b"))
    assert parts(response)[0].text == "2 contents"
    assert model.requests[0].texts == ["a", "b"]


async def test_a_function_may_be_async_or_yield_several_responses() -> None:
    async def later(request: LlmRequest) -> types.FunctionCall:
        return call("f")

    def both(request: LlmRequest) -> Iterator[object]:
        yield LlmResponse(partial=True)
        yield "whole"

    async def streamed(request: LlmRequest) -> AsyncIterator[object]:
        yield chunks("a", "b")

    class Counting:
        def __init__(self) -> None:
            self.left = 2

        def __aiter__(self) -> "Counting":
            return self

        async def __anext__(self) -> str:
            if not self.left:
                raise StopAsyncIteration
            self.left -= 1
            return str(self.left)

    assert (await respond(FunctionModel(later)))[0].get_function_calls()[0].name == "f"
    assert [r.partial for r in await respond(FunctionModel(both))] == [True, None]
    assert len(await respond(FunctionModel(streamed), stream=True)) == 3
    counted = await respond(FunctionModel(lambda request: Counting()))
    assert [parts(r)[0].text for r in counted] == ["1", "0"]

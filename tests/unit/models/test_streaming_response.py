"""The aggregator by itself: pieces in, one whole out."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.models.llm_response import LlmResponse
from ostinato.models.streaming_response import StreamingResponseAggregator
from ostinato.utils.streaming_utils import StreamingResponseAggregator as Face


def piece(*parts: types.Part, **fields: Any) -> types.GenerateContentResponse:
    content = types.Content(role="model", parts=list(parts))
    return types.GenerateContentResponse(candidates=[types.Candidate(content=content, **fields)])


async def summed(*pieces: types.GenerateContentResponse) -> tuple[list[LlmResponse], Any]:
    whole = StreamingResponseAggregator()
    shown = [response for one in pieces async for response in whole.process_response(one)]
    return shown, whole.close()


async def test_nothing_sums_to_nothing() -> None:
    assert await summed() == ([], None) and Face is StreamingResponseAggregator


async def test_thoughts_and_text_take_turns() -> None:
    texts = [("a", True), ("b", True), ("c", None), ("d", None), ("e", True)]
    pieces = [piece(types.Part(text=text, thought=thought)) for text, thought in texts]
    shown, whole = await summed(*pieces, piece(finish_reason="STOP"))
    assert [one.partial for one in shown] == [True] * 5
    found = [(part.text, bool(part.thought)) for part in whole.content.parts]
    assert found == [("ab", True), ("cd", False), ("e", True)]
    assert shown[0].content is not None and (shown[0].content.parts or [])[0].text == "a"


async def test_the_last_word_on_each_field_counts() -> None:
    usage = [types.GenerateContentResponseUsageMetadata(total_token_count=n) for n in (1, 2)]
    grounding = types.GroundingMetadata(web_search_queries=["q"])
    first = piece(types.Part(text="a"), grounding_metadata=grounding)
    second = piece(types.Part(text="b"), finish_reason="STOP")
    first.usage_metadata, second.usage_metadata = usage
    _, whole = await summed(first, second)
    assert whole.usage_metadata.total_token_count == 2
    assert whole.grounding_metadata == grounding and whole.finish_reason == "STOP"


async def test_an_answer_ends_with_a_reason() -> None:
    whole = StreamingResponseAggregator()
    [_ async for _ in whole.process_response(piece(types.Part(text="a")))]
    assert not whole.ended
    [_ async for _ in whole.process_response(piece(finish_reason="MAX_TOKENS"))]
    assert whole.ended
    response = whole.close()
    assert response is not None and response.error_code == "MAX_TOKENS"


async def test_a_call_that_begins_within_another_spoils_both() -> None:
    def call(name: str | None, *, more: bool | None = None) -> types.GenerateContentResponse:
        found = types.FunctionCall(name=name, will_continue=more)
        return piece(types.Part(function_call=found))

    _, whole = await summed(
        call("f", more=True), call("g", more=True), call(None), piece(finish_reason="STOP")
    )
    assert whole.content is None and not whole.get_function_calls()
    assert whole.error_code == "MALFORMED_FUNCTION_CALL"


def streamed(*pieces: tuple[str, Any]) -> list[types.GenerateContentResponse]:
    """Return the pieces of an answer that streams the arguments of one call."""
    parts: list[types.Part] = []
    for path, value in pieces:
        said: dict[str, Any] = (
            {"string_value": value} if isinstance(value, str) else {"number_value": value}
        )
        argument = types.PartialArg(json_path=path, will_continue=True, **said)
        call = types.FunctionCall(name="f", partial_args=[argument], will_continue=True)
        parts.append(types.Part(function_call=call))
    end = types.Part(function_call=types.FunctionCall())
    return [*(piece(part) for part in parts), piece(end, finish_reason="STOP")]


async def test_streamed_arguments_find_their_places() -> None:
    _, whole = await summed(
        *streamed(("$.a[0].b", "x"), ("$.a[0].b", "y"), ("$.a[2]", 3.0), ("$['k'].n", 1.5))
    )
    (call,) = whole.get_function_calls()
    assert call.args == {"a": [{"b": "xy"}, None, 3], "k": {"n": 1.5}}


@pytest.mark.parametrize(
    "pieces",
    [
        [("$.a[900000000]", "x")],
        [("$.a[99999999999999999999999]", "x")],
        [("$.a[" + "9" * 5_000 + "]", "x")],
        [(f"$.a[{n}][60000]", "x") for n in range(2)],
        [("$" + ".a" * 100, "x")],
        [("$" + "[0]" * 400, "x")],
        [("$[0]", "x")],
        [("$.a", "x"), ("$.a.b", "y")],
        [("$.a", "x"), ("$.a[0]", "y")],
        [("$.a.b", "x"), ("$.a[0]", "y")],
        [("$.a", 1.0), ("$.a", "y"), ("$.a[0]", "z")],
        [(f"$.a{n}", "x" * 4_000_000) for n in range(3)],
    ],
    ids=range(12),
)
async def test_arguments_that_cannot_be_put_together_spoil_the_call(
    pieces: list[tuple[str, Any]],
) -> None:
    _, whole = await summed(*streamed(*pieces))
    assert not whole.get_function_calls()
    assert whole.error_code == "MALFORMED_FUNCTION_CALL"


class CountedText(str):
    """A text that counts the characters that are copied to append it, or to append to it."""

    copied = 0

    def __add__(self, other: str) -> CountedText:
        joined = CountedText(str.__add__(self, other))
        CountedText.copied += len(joined)
        return joined

    def __radd__(self, other: str) -> CountedText:
        return CountedText(other) + self


async def test_pieces_of_texts_are_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CountedText, "copied", 0)
    texts = [CountedText(f"{number:04}") for number in range(1000)]
    arguments = [
        types.PartialArg.model_construct(
            json_path="$.a[1].b", string_value=text, will_continue=True
        )
        for text in texts
    ]
    call = types.FunctionCall(name="f", partial_args=[])
    call.partial_args = arguments
    spoken = [piece(types.Part.model_construct(text=text)) for text in texts]
    _, whole = await summed(*spoken, piece(types.Part(function_call=call), finish_reason="STOP"))
    text, called = whole.content.parts
    assert text.text == "".join(texts)
    assert called.function_call.args == {"a": [None, {"b": "".join(texts)}]}
    assert CountedText.copied <= 2 * len(texts) * 4


async def test_another_value_at_the_place_of_an_open_text_counts() -> None:
    arguments = [
        types.PartialArg(json_path="$.a", string_value="x", will_continue=True),
        types.PartialArg(json_path="$.a", string_value="y", will_continue=True),
        types.PartialArg(json_path="$['a']", number_value=3),
        types.PartialArg(json_path="$.b", string_value="x", will_continue=True),
        types.PartialArg(json_path="$.b", string_value="y", will_continue=True),
        types.PartialArg(json_path="$['b']", string_value="z", will_continue=True),
        types.PartialArg(json_path="$['b']", string_value="!"),
    ]
    call = types.FunctionCall(name="f", partial_args=arguments)
    _, whole = await summed(piece(types.Part(function_call=call), finish_reason="STOP"))
    assert whole.content.parts[0].function_call.args == {"a": 3, "b": "xyz!"}


def argument(path: str, value: str | float, *, more: bool | None = None) -> types.PartialArg:
    said: dict[str, Any] = (
        {"string_value": value} if isinstance(value, str) else {"number_value": value}
    )
    return types.PartialArg(json_path=path, will_continue=more, **said)


async def test_texts_of_one_path_are_joined_whether_or_not_a_piece_says_that_more_comes() -> None:
    pieces = [
        types.FunctionCall(name="f", will_continue=True),
        types.FunctionCall(partial_args=[argument("$.x", "New ")], will_continue=True),
        types.FunctionCall(partial_args=[argument("$.x", "York")], will_continue=True),
        types.FunctionCall(partial_args=[argument("$.x", "!", more=False)], will_continue=True),
        types.FunctionCall(partial_args=[argument("$.x", "?")]),
    ]
    _, whole = await summed(
        *(piece(types.Part(function_call=call)) for call in pieces), piece(finish_reason="STOP")
    )
    (call,) = whole.get_function_calls()
    assert (call.name, call.args) == ("f", {"x": "New York!?"})


async def test_a_text_replaces_a_value_that_is_none_of_its_pieces() -> None:
    said = [argument("$.x", 3), argument("$.x", "a"), argument("$.y", "b"), argument("$.y", 4)]
    call = types.FunctionCall(name="f", args={"z": "whole"}, will_continue=True)
    end = types.FunctionCall(partial_args=[*said, argument("$.z", "new")])
    _, whole = await summed(
        piece(types.Part(function_call=call)),
        piece(types.Part(function_call=end), finish_reason="STOP"),
    )
    assert whole.get_function_calls()[0].args == {"x": "a", "y": 4, "z": "new"}


async def test_an_empty_call_at_the_end_of_a_stream_is_no_call() -> None:
    made = types.FunctionCall(name="f", args={"a": 1})
    end = types.Part(function_call=types.FunctionCall())
    shown, whole = await summed(
        piece(types.Part(function_call=made)), piece(end), piece(end, finish_reason="STOP")
    )
    assert [call.name for call in whole.get_function_calls()] == ["f"]
    assert [call.name for one in shown for call in one.get_function_calls()] == ["f"]


async def test_a_stream_of_nothing_but_an_empty_call_has_no_content() -> None:
    end = types.Part(function_call=types.FunctionCall())
    shown, whole = await summed(piece(end, finish_reason="STOP"))
    assert (shown, whole.content, whole.error_code) == ([], None, None)


async def test_an_answer_without_candidates_is_empty_and_no_error() -> None:
    nothing = types.GenerateContentResponse(candidates=[])
    shown, whole = await summed(nothing)
    assert (shown, whole.content, whole.error_code) == ([], None, None)
    _, whole = await summed(piece(types.Part(text="a")), nothing)
    assert [part.text for part in whole.content.parts] == ["a"]


@pytest.mark.parametrize(
    "call",
    [
        types.FunctionCall(args={"a": 1}),
        types.FunctionCall(partial_args=[types.PartialArg(json_path="$.a", number_value=1)]),
    ],
)
async def test_a_call_without_a_name_spoils_the_turn(call: types.FunctionCall) -> None:
    _, whole = await summed(piece(types.Part(function_call=call), finish_reason="STOP"))
    assert (whole.content, whole.error_code) == (None, "MALFORMED_FUNCTION_CALL")

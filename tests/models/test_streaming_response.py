"""The aggregator by itself: pieces in, one whole out."""

from __future__ import annotations

from typing import Any

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

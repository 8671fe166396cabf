"""Surrogates in answers: pairs are joined, lone ones are replaced."""

from __future__ import annotations

import pytest

from ostinato.models.invalid_args import call_args
from ostinato.models.openai_llm import OpenAILlm
from ostinato.models.wire.surrogates import SplitPairs, load_json
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.gemini.conftest import ask


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (r'{"a": ["\ud800", {"b": "x\uDFFFy"}]}', {"a": ["\ufffd", {"b": "x\ufffdy"}]}),
        (r'{"\ud83d": "\ud83d\ude00"}', {"\ufffd": "\U0001f600"}),
        (rb'["\udc00"]', ["\ufffd"]),
        (b'["\xed\xa0\x80"]', ["\ufffd"]),
        ("[1, null, true]", [1, None, True]),
    ],
)
def test_lone_surrogates_are_replaced(data: str | bytes, value: object) -> None:
    assert load_json(data) == value


def test_arguments_hold_no_lone_surrogate() -> None:
    assert call_args(r'{"a": "\ud800", "b": "\ud83d\ude00"}') == {"a": "\ufffd", "b": "\U0001f600"}


def test_the_halves_of_a_pair_meet_in_one_field() -> None:
    pairs = SplitPairs()
    events = [r'{"a": "A\ud83d", "b": "x"}', '{"b": "y"}', r'{"a": "\ude00B", "b": "\ude00"}']
    assert [load_json(event, pairs) for event in events] == [
        {"a": "A", "b": "x"},
        {"b": "y"},
        {"a": "\U0001f600B", "b": "\ufffd"},
    ]


async def test_an_emoji_split_over_two_chunks_arrives_whole() -> None:
    texts = ("Hi \ud83d", "\ude00 there \ud83d", "!")
    choices = [{"index": 0, "delta": {"content": text}, "finish_reason": None} for text in texts]
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    chunks = [{"choices": [choice]} for choice in [*choices, end]]
    async with FakeServer([Answer(sse(chunks, done="[DONE]"))]) as server:
        llm = OpenAILlm(model="m", base_url=server.url, api_key="sk-0123456789")
        responses = await ask(llm, stream=True)
    contents = [response.content for response in responses if response.content]
    got = [part.text for content in contents for part in content.parts or ()]
    assert got == ["Hi ", "\U0001f600 there ", "!", "Hi \U0001f600 there !"]

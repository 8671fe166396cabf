"""The Example Store: what is asked, and the examples that an answer holds."""

from __future__ import annotations

import asyncio
from typing import Any

import google.auth
import pytest
from google.oauth2.credentials import Credentials

from ostinato._google_rest import GoogleApiError
from ostinato.errors import InputValidationError
from ostinato.examples import Example, VertexAiExampleStore
from ostinato.types import Content, FunctionCall, FunctionResponse, Part
from tests.wire.fake_server import Answer, FakeServer

STORE = "projects/p/locations/us-central1/exampleStores/5"


def stored(score: float, key: str, *contents: dict[str, Any]) -> dict[str, Any]:
    expected = [{"content": content} for content in contents]
    example = {"searchKey": key, "contentsExample": {"contents": [], "expectedContents": expected}}
    return {
        "similarityScore": score,
        "example": {"exampleId": "1", "storedContentsExample": example},
    }


async def test_similar_examples_come_with_calls_and_responses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(token="t"), "p"))
    call = {"functionCall": {"name": "brew", "args": {"cups": 2}}}
    response = {"functionResponse": {"name": "brew", "response": {"ok": True}}}
    results = [
        stored(
            0.9,
            "make tea",
            {"role": "model", "parts": [{"text": "At once."}, {"text": ""}, call]},
            {"role": "user", "parts": [response]},
        ),
        stored(0.5, "edge", {"parts": [{"inlineData": {"data": "aa"}}, {"text": "e"}]}),
        stored(0.49, "too far"),
    ]
    async with FakeServer([Answer({"results": results}), Answer({})]) as server:
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", server.url)
        store = VertexAiExampleStore(STORE)
        found = await asyncio.to_thread(store.get_examples, "tea?")
        assert await asyncio.to_thread(store.get_examples, "more?") == []
    request = server.requests[0]
    assert request.path == f"/v1beta1/{STORE}:searchExamples"
    key = {
        "contents": [{"role": "user", "parts": [{"text": "tea?"}]}],
        "searchKeyGenerationMethod": {"lastEntry": {}},
    }
    assert request.json == {
        "storedContentsExampleParameters": {"contentSearchKey": key},
        "topK": 10,
    }
    brew = Part(function_call=FunctionCall(name="brew", args={"cups": 2}))
    done = Part(function_response=FunctionResponse(name="brew", response={"ok": True}))
    assert found == [
        Example(
            input=Content(role="user", parts=[Part(text="make tea")]),
            output=[
                Content(role="model", parts=[Part(text="At once."), brew]),
                Content(role="user", parts=[done]),
            ],
        ),
        Example(
            input=Content(role="user", parts=[Part(text="edge")]),
            output=[Content(role="model", parts=[Part(text="e")])],
        ),
    ]


@pytest.mark.parametrize("name", ["5", "", "projects/p/locations/x/stores/5"])
def test_a_store_is_named_in_full(name: str) -> None:
    with pytest.raises(InputValidationError, match="exampleStores/ID"):
        VertexAiExampleStore(name)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("null", "the whole"),
        ("[1, 2]", "the whole"),
        ({"results": [5]}, r"results\.0"),
        ({"results": [{"example": None}]}, r"results\.0\.example"),
        ({"results": [{"example": {"storedContentsExample": 5}}]}, "storedContentsExample"),
        ({"results": [{"example": {}, "similarityScore": "x"}]}, "similarityScore"),
    ],
)
async def test_an_answer_of_another_shape_is_an_error(
    monkeypatch: pytest.MonkeyPatch, answer: Any, problem: str
) -> None:
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(token="t"), "p"))
    async with FakeServer([Answer(answer)]) as server:
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", server.url)
        problem = f"Example Store answered .*{problem}.*: (it is|Input)"
        with pytest.raises(GoogleApiError, match=problem):
            await asyncio.to_thread(VertexAiExampleStore(STORE).get_examples, "tea?")

"""VertexAiExampleStore: examples kept by the Example Store of Vertex AI."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, Field

from .._google_rest import GoogleRestClient, vertex_server
from ..errors import InputValidationError
from ..types import Content, FunctionCall, FunctionResponse, Part
from .base_example_provider import BaseExampleProvider
from .example import Example

_STORE = re.compile(r"projects/[^/]+/locations/(?P<location>[a-z0-9-]+)/exampleStores/[^/]+")
_MOST = 10
_LEAST_SCORE = 0.5


class VertexAiExampleStore(BaseExampleProvider):
    """Finds examples whose messages are like the user's, in an Example Store of Vertex AI.

    Needs the extra `vertex` and asks as the machine's own identity.

    Args:
      examples_store_name: projects/PROJECT/locations/LOCATION/exampleStores/ID.

    Raises:
      InputValidationError: the name has another form.
    """

    def __init__(self, examples_store_name: str) -> None:
        found = _STORE.fullmatch(examples_store_name)
        if found is None:
            raise InputValidationError(
                f"examples_store_name {examples_store_name!r} is no resource name; give "
                "projects/PROJECT/locations/LOCATION/exampleStores/ID."
            )
        self.examples_store_name = examples_store_name
        self._location = found["location"]

    def get_examples(self, query: str) -> list[Example]:
        """Return at most 10 examples, the most similar first. It blocks for one request.

        Args:
          query: text of the user's message.

        Raises:
          GoogleApiError: the service refused or failed, or there is no login.
          MissingExtraError: the extra `vertex` is not installed.
        """
        asked: dict[str, Any] = {
            "contents": [{"role": "user", "parts": [{"text": query}]}],
            "searchKeyGenerationMethod": {"lastEntry": {}},
        }
        url = f"{vertex_server(self._location)}/v1beta1/{self.examples_store_name}:searchExamples"
        with GoogleRestClient("Vertex AI Example Store") as client:
            answer = client.send_request(
                "POST",
                url,
                body={
                    "storedContentsExampleParameters": {"contentSearchKey": asked},
                    "topK": _MOST,
                },
            )
            found = client.read_record(_Search, answer)
        return [
            _build_example(one.example.stored) for one in found.results if one.score >= _LEAST_SCORE
        ]


class _Call(BaseModel):
    name: str | None = None
    args: dict[str, Any] = Field(default_factory=dict[str, Any])


class _Response(BaseModel):
    name: str | None = None
    response: dict[str, Any] = Field(default_factory=dict[str, Any])


class _Part(BaseModel):
    text: str = ""
    call: _Call | None = Field(default=None, alias="functionCall")
    response: _Response | None = Field(default=None, alias="functionResponse")


class _Content(BaseModel):
    role: str = ""
    parts: list[_Part] = Field(default_factory=list[_Part])


class _Expected(BaseModel):
    content: _Content = Field(default_factory=_Content)


class _Contents(BaseModel):
    expected: list[_Expected] = Field(default_factory=list[_Expected], alias="expectedContents")


class _Stored(BaseModel):
    key: str = Field(default="", alias="searchKey")
    contents: _Contents = Field(default_factory=_Contents, alias="contentsExample")


class _StoredExample(BaseModel):
    stored: _Stored = Field(default_factory=_Stored, alias="storedContentsExample")


class _Found(BaseModel):
    example: _StoredExample
    score: float = Field(default=0.0, alias="similarityScore")


class _Search(BaseModel):
    results: list[_Found] = Field(default_factory=list[_Found])


def _build_example(stored: _Stored) -> Example:
    contents = [one.content for one in stored.contents.expected]
    return Example(
        input=Content(role="user", parts=[Part(text=stored.key)]),
        output=[
            Content(role=content.role or "model", parts=_build_parts(content))
            for content in contents
        ],
    )


def _build_parts(content: _Content) -> list[Part]:
    """Return the texts, calls and responses of a content; an example has nothing else."""
    parts: list[Part] = []
    for part in content.parts:
        call, response = part.call, part.response
        if part.text:
            parts.append(Part(text=part.text))
        elif call is not None:
            parts.append(Part(function_call=FunctionCall(name=call.name, args=call.args)))
        elif response is not None:
            told = FunctionResponse(name=response.name, response=response.response)
            parts.append(Part(function_response=told))
    return parts

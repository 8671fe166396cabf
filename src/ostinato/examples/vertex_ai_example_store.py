"""VertexAiExampleStore: examples kept by the Example Store of Vertex AI."""

from __future__ import annotations

import re
from typing import Any

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
        return [
            _read_example(found["example"].get("storedContentsExample", {}))
            for found in answer.get("results", ())
            if found.get("similarityScore", 0.0) >= _LEAST_SCORE
        ]


def _read_example(stored: dict[str, Any]) -> Example:
    expected = stored.get("contentsExample", {}).get("expectedContents", ())
    contents = [one.get("content", {}) for one in expected]
    return Example(
        input=Content(role="user", parts=[Part(text=stored.get("searchKey", ""))]),
        output=[
            Content(role=content.get("role") or "model", parts=_read_parts(content))
            for content in contents
        ],
    )


def _read_parts(content: dict[str, Any]) -> list[Part]:
    """Return the texts, calls and responses of a content; an example has nothing else."""
    parts: list[Part] = []
    for part in content.get("parts", ()):
        if part.get("text"):
            parts.append(Part(text=part["text"]))
        elif "functionCall" in part:
            call = part["functionCall"]
            parts.append(
                Part(function_call=FunctionCall(name=call.get("name"), args=call.get("args", {})))
            )
        elif "functionResponse" in part:
            told = part["functionResponse"]
            response = FunctionResponse(name=told.get("name"), response=told.get("response", {}))
            parts.append(Part(function_response=response))
    return parts

"""Recordings of a model's answers in a readable JSON file, replayed in tests.

A file holds each request in readable form, its fingerprint and the responses, in order. HTTP
options, which carry keys, are never written.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, cast

from pydantic import PrivateAttr, TypeAdapter

from .. import types
from .._aclosing import Aclosing
from ..models.base_llm import BaseLlm
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..models.request_text import declared_functions, instruction_text

_FORMAT = 1
_SETTINGS = (
    "temperature", "top_p", "top_k", "candidate_count", "max_output_tokens", "stop_sequences",
    "seed", "response_mime_type",
)  # fmt: skip


class CassetteMismatchError(AssertionError):
    """A request differs from the one that was recorded, or there is no recording of it."""


class RecordingModel(BaseLlm):
    """A model that delegates to another one and writes its answers to a cassette.

    The file is written after each complete answer; an answer that fails is not recorded.
    """

    model: str = ""
    _recorded: BaseLlm = PrivateAttr()
    _path: Path = PrivateAttr()
    _redact: Callable[[str], str] | None = PrivateAttr()
    _entries: list[dict[str, Any]] = PrivateAttr(default_factory=list[dict[str, Any]])

    def __init__(
        self, recorded: BaseLlm, path: str | Path, *, redact: Callable[[str], str] | None = None
    ) -> None:
        """Record a model.

        Args:
          recorded: the model that answers.
          path: the cassette's file; an old one is overwritten.
          redact: changes the JSON text of a request and of its responses before they are stored,
            to remove secrets and values that differ each time.
        """
        super().__init__(model=recorded.model)
        self._recorded, self._path, self._redact = recorded, Path(path), redact

    @property
    def supports_output_schema_with_tools(self) -> bool:
        return self._recorded.supports_output_schema_with_tools

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Pass the request on, and record it with its answer."""
        request = _readable_request(llm_request, stream, self._redact)
        given: list[dict[str, Any]] = []
        answers = self._recorded.generate_content_async(llm_request, stream)
        async with Aclosing(answers):
            async for response in answers:
                kept = response.model_dump(mode="json", exclude_none=True)
                given.append(_redact_values(kept, self._redact))
                yield response
        entry = {"fingerprint": _fingerprint_of(request), "request": request, "responses": given}
        self._entries.append(entry)
        document = {
            "format": _FORMAT,
            "model": self.model,
            "supports_output_schema_with_tools": self.supports_output_schema_with_tools,
            "exchanges": self._entries,
        }
        text = json.dumps(document, indent=2, ensure_ascii=False)
        self._path.write_text(text + "\n", encoding="utf-8")


class ReplayModel(BaseLlm):
    """A model that answers from a cassette, in the recorded order."""

    model: str = ""
    _path: Path = PrivateAttr()
    _redact: Callable[[str], str] | None = PrivateAttr()
    _entries: list[dict[str, Any]] = PrivateAttr()
    _native: bool = PrivateAttr()
    _played: int = PrivateAttr(default=0)

    def __init__(self, path: str | Path, *, redact: Callable[[str], str] | None = None) -> None:
        """Open a cassette.

        Args:
          path: the cassette's file.
          redact: as given to `RecordingModel`.

        Raises:
          ValueError: the file is no cassette of a known format.
        """
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(document, dict) or document.get("format") != _FORMAT:  # pyright: ignore[reportUnknownMemberType]
            raise ValueError(f"{path} is not a cassette of format {_FORMAT}; record it anew")
        cassette = cast(dict[str, Any], document)
        super().__init__(model=cassette["model"])
        self._path, self._redact = Path(path), redact
        self._entries = cassette["exchanges"]
        self._native = cassette["supports_output_schema_with_tools"]

    @property
    def supports_output_schema_with_tools(self) -> bool:
        return self._native

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer as recorded.

        Raises:
          CassetteMismatchError: the request is not the recorded one; the message shows the
            difference.
        """
        request = _readable_request(llm_request, stream, self._redact)
        self._played += 1
        where = f"request {self._played} to the cassette {self._path}"
        if self._played > len(self._entries):
            raise CassetteMismatchError(
                f"{where}: only {len(self._entries)} are recorded. It asked:\n"
                + _format_request(request)
            )
        entry = self._entries[self._played - 1]
        if entry["fingerprint"] != _fingerprint_of(request):
            diff = difflib.unified_diff(
                _format_request(entry["request"]).splitlines(),
                _format_request(request).splitlines(),
                "recorded",
                "asked",
                lineterm="",
            )
            raise CassetteMismatchError(
                f"{where} differs from the recorded one; record anew if that is meant:\n"
                + "\n".join(diff)
            )
        for response in entry["responses"]:
            yield LlmResponse.model_validate(response)

    def assert_finished(self) -> None:
        """Raise CassetteMismatchError if recorded answers were not used."""
        if self._played < len(self._entries):
            raise CassetteMismatchError(
                f"the cassette {self._path} holds {len(self._entries)} answers, of which only "
                f"{self._played} were asked for"
            )


def _readable_request(
    llm_request: LlmRequest, stream: bool, redact: Callable[[str], str] | None
) -> dict[str, Any]:
    """Return a request as readable JSON."""
    config = llm_request.config
    settings = {name: value for name in _SETTINGS if (value := getattr(config, name)) is not None}
    request: dict[str, Any] = {
        "model": llm_request.model,
        "stream": stream,
        "instruction": instruction_text(config).splitlines(),
        "settings": settings,
        "response_schema": _readable_schema(config.response_schema),
        "tools": [
            tool.model_dump(mode="json", exclude_none=True) for tool in declared_functions(config)
        ],
        "contents": [
            content.model_dump(mode="json", exclude_none=True) for content in llm_request.contents
        ],
    }
    return _redact_values({key: value for key, value in request.items() if value}, redact)


def _readable_schema(schema: Any) -> Any:
    if schema is None or isinstance(schema, dict):
        return cast(Any, schema)
    if isinstance(schema, types.Schema):
        return schema.model_dump(mode="json", exclude_none=True)
    return TypeAdapter[Any](schema).json_schema()


def _redact_values(value: dict[str, Any], redact: Callable[[str], str] | None) -> dict[str, Any]:
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(redact(text) if redact is not None else text)


def _fingerprint_of(request: dict[str, Any]) -> str:
    text = json.dumps(request, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _format_request(request: dict[str, Any]) -> str:
    return json.dumps(request, indent=2, sort_keys=True, ensure_ascii=False)

"""HTTP requests and responses as data, with their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..wire.faults import BadAnswer
from ..wire.surrogates import SplitPairs, load_json
from .urls import place_of

#: Headers that hold a provider's id of a request, the most specific first.
_REQUEST_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "apim-request-id",
    "x-ms-request-id",
    "x-amzn-requestid",
    "x-goog-request-id",
    "x-cloud-trace-context",
    "cf-ray",
)
_LONGEST_REQUEST_ID = 200
_LONGEST_QUOTE = 4_000  # characters


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for a server, in seconds.

    Attributes:
      connect: until a connection is open.
      first_byte: until the status and headers are there.
      between_chunks: until the next bytes of the body are there.
      whole: for the complete answer.
    """

    connect: float = 10.0
    first_byte: float = 300.0
    between_chunks: float = 300.0
    whole: float = 3600.0

    @classmethod
    def of(cls, seconds: float) -> Timeouts:
        """Return the timeouts of a model whose `timeout` is this many seconds."""
        return cls(min(seconds, 10.0), seconds, seconds, max(seconds, 3600.0))


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of an answer is accepted, in bytes after decompression.

    Attributes:
      answer: the whole body.
      event: one line, or the data of one event.
      error: the body that is kept of an answer with an error status.
    """

    answer: int = 100 * 2**20
    event: int = 64 * 2**20
    error: int = 2**20


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request. Its `repr` shows neither headers nor body, for they may hold secrets."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: bytes = field(default=b"", repr=False)
    timeouts: Timeouts = field(default=Timeouts(), repr=False)

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {place_of(self.url)})"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A complete answer.

    Attributes:
      status: the HTTP status.
      headers: by lower-case name.
      body: the bytes after decompression.
      request_id: the provider's request id, without secrets; '' if it is missing.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    request_id: str = ""

    @property
    def content_type(self) -> str:
        """The media type, in lower case and without parameters."""
        return content_type_of(self.headers)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Parse the body as JSON; raise BadAnswer if that fails."""
        return read_json(self.body)


def read_json(data: bytes | str, pairs: SplitPairs | None = None) -> Any:
    """Parse JSON; `pairs` joins the surrogates of the stream that it is an event of.

    Raises:
      BadAnswer: the text is not JSON, is nested too deeply, or has a number that is too long.
    """
    try:
        return load_json(data, pairs)
    except (ValueError, RecursionError) as error:
        text = data if isinstance(data, str) else data[:_LONGEST_QUOTE].decode("utf-8", "replace")
        is_page = text.lstrip()[:1] == "<"
        raise BadAnswer(text[:_LONGEST_QUOTE] if is_page else "it is not JSON") from error


def content_type_of(headers: Mapping[str, str]) -> str:
    """Return the media type that headers name, in lower case and without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def request_id_of(headers: Mapping[str, str]) -> str:
    """Return the provider's request id from the response headers, or '' if it is missing."""
    found = (headers.get(name) for name in _REQUEST_ID_HEADERS)
    given = next((value[:_LONGEST_REQUEST_ID] for value in found if value), "")
    return "".join([one if one.isprintable() else "?" for one in given])

"""Discovery documents: what Google says of its APIs, from the service, a file or a dict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlsplit

from ..._google_rest import GoogleApiError
from ..._optional import need
from ...errors import AgentConfigError

#: A document as a dict, or the path of a JSON file.
DiscoverySource = Mapping[str, Any] | str | PathLike[str]

_ADDRESSES = (
    "https://www.googleapis.com/discovery/v1/apis/{api}/{apiVersion}/rest",
    "https://{api}.googleapis.com/$discovery/rest?version={apiVersion}",
)
_TIMEOUT_S = 30.0
_MOST_BYTES = 20 * 2**20
_NOT_FOUND = 404


def read_document(source: DiscoverySource) -> Mapping[str, Any]:
    """Return a document that a program gives.

    Args:
      source: the document as a dict, or the path of a JSON file.

    Raises:
      AgentConfigError: the file cannot be read, or it is not a discovery document.
    """
    if isinstance(source, Mapping):
        return _check_document(source, "The discovery document")
    path = Path(source)
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise AgentConfigError(
            f"The discovery document {path.name!r} cannot be read ({type(error).__name__}). Give "
            "the path of a JSON file."
        ) from error
    return _check_document(value, f"The file {path.name!r}")


@lru_cache(maxsize=16)
def fetch_document(api: str, version: str, url: str | None = None) -> Mapping[str, Any]:
    """Return Google's document of an API; it blocks. The last 16 are kept.

    Args:
      api: the API's name, such as `calendar`.
      version: its version, such as `v3`.
      url: where the document is; `{api}` and `{apiVersion}` are replaced. Google's own addresses
        if None.

    Raises:
      AgentConfigError: there is no such API, or the address is not https.
      GoogleApiError: the service cannot be reached or failed.
    """
    names = {"api": quote(api, safe=""), "apiVersion": quote(version, safe="")}
    status, body = _NOT_FOUND, b""
    for template in (url,) if url else _ADDRESSES:
        address = template
        for name, value in names.items():
            address = address.replace(f"{{{name}}}", value)
        status, body = _download(address, f"{api} {version}")
        if status != _NOT_FOUND:
            break
    if status == _NOT_FOUND:
        raise AgentConfigError(
            f"Google has no discovery document of the API {api!r} in version {version!r}. Check "
            "both, or give discovery_url or discovery_document."
        )
    if status != 200:
        raise GoogleApiError(
            f"The discovery document of {api} {version} was answered with {status}. Try again, or "
            "give discovery_document.",
            status=status,
        )
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    return _check_document(value, f"The answer for {api} {version}")


def _download(url: str, what: str) -> tuple[int, bytes]:
    """Return the status and body of an anonymous request."""
    split = urlsplit(url)
    is_local = split.hostname in ("localhost", "127.0.0.1", "::1")
    if split.scheme != "https" and not (split.scheme == "http" and is_local):
        raise AgentConfigError(
            f"discovery_url of {what} is not an https address, so its requests could be misled."
        )
    http = need("httpx2")
    try:
        with http.stream("GET", url, timeout=_TIMEOUT_S) as answer:
            body = bytearray()
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise GoogleApiError(
                        f"The discovery document of {what} has more than {_MOST_BYTES} bytes."
                    )
            return answer.status_code, bytes(body)
    except http.HTTPError as error:
        raise GoogleApiError(
            f"The discovery document of {what} cannot be fetched ({type(error).__name__}). Check "
            "the network, or give discovery_document."
        ) from error


def _check_document(value: Any, what: str) -> Mapping[str, Any]:
    empty: Mapping[str, Any] = {}
    document = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else empty
    if not isinstance(document.get("resources") or document.get("methods"), Mapping):
        raise AgentConfigError(
            f"{what} is not a discovery document of Google: it has neither resources nor methods."
        )
    return document

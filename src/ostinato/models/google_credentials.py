"""GoogleCredential: logins of google-auth for requests to Google Cloud. Gemini and Claude on Vertex
AI use it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._optional import need
from .http.messages import HttpRequest

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_TIMEOUT_S = 120.0


class GoogleCredential:
    """An access token of google-auth, refreshed when it has expired.

    Args:
      credentials: a login; the application default credentials if None: a service account's file,
        the user's own login, or the machine's.
    """

    def __init__(self, credentials: Any = None) -> None:
        self._credentials = credentials
        self._project: str | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "GoogleCredential()"

    async def headers(self, request: HttpRequest | None = None) -> Mapping[str, str]:
        """Return the headers that authorize a request.

        Raises:
          google.auth.exceptions.GoogleAuthError: there is no login, or it is refused.
        """
        found = self._credentials
        if found is None or not _is_fresh(found):
            found = await asyncio.to_thread(self._refresh)
        headers = {"authorization": f"Bearer {found.token}"}
        if getattr(found, "quota_project_id", None):
            headers["x-goog-user-project"] = found.quota_project_id
        return headers

    async def project(self) -> str | None:
        """Return the login's own project; None if it has none."""
        if self._credentials is None:
            await asyncio.to_thread(self._load)
        return self._project or getattr(self._credentials, "project_id", None)

    def _load(self) -> Any:
        with self._lock:
            if self._credentials is None:
                auth = need("google.auth", extra="vertex")
                self._credentials, self._project = auth.default(
                    scopes=_SCOPES, request=_send_login_request
                )
            return self._credentials

    def _refresh(self) -> Any:
        found = self._load()
        with self._lock:
            if not _is_fresh(found):
                found.refresh(_send_login_request)
            return found


def _is_fresh(credentials: Any) -> bool:
    return bool(credentials.token) and not credentials.expired


class _LoginAnswer(NamedTuple):
    """An answer as google-auth reads it."""

    status: int
    headers: Mapping[str, str]
    data: bytes


def _send_login_request(
    url: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float | None = None,
    **_: Any,
) -> _LoginAnswer:
    """Send a request of google-auth, in a thread of its own."""
    httpx2 = need("httpx2")
    try:
        answer = httpx2.request(
            method, url, content=body, headers=headers, timeout=timeout or _TIMEOUT_S
        )
    except httpx2.HTTPError as error:
        errors = need("google.auth.exceptions", extra="vertex")
        raise errors.TransportError(str(error) or type(error).__name__) from error
    return _LoginAnswer(answer.status_code, answer.headers, answer.content)

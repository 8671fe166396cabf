"""AwsCredential: signatures of botocore for requests to Amazon Web Services. The Bedrock adapter
uses it if no API key is set.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

from .._optional import need
from .http.messages import HttpRequest

_SIGNED = ("content-type",)


class AwsCredential:
    """Signs requests with the login that botocore finds: environment, profile, role or machine.

    Args:
      service: the service's name in signatures.
      region: the region; botocore's own if None.
      profile: a profile of the AWS configuration; the usual one if None.
      credentials: a login of botocore to use in place of what it finds.
    """

    def __init__(
        self,
        service: str,
        region: str | None = None,
        profile: str | None = None,
        credentials: Any = None,
    ) -> None:
        self._service, self._region = service, region
        self._profile, self._credentials = profile, credentials
        self._session: Any = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"AwsCredential({self._service!r})"

    async def region(self) -> str | None:
        """Return the region; None if nothing names one."""
        return self._region or await asyncio.to_thread(self._configured_region)

    async def headers(self, request: HttpRequest) -> Mapping[str, str]:
        """Return the headers that sign a request.

        Raises:
          botocore.exceptions.NoCredentialsError: there is no login.
        """
        region = await self.region()
        return await asyncio.to_thread(self._sign, request, region or "")

    def _configured_region(self) -> str | None:
        return self._open().get_config_variable("region")

    def _open(self) -> Any:
        with self._lock:
            if self._session is None:
                session = need("botocore.session", extra="bedrock")
                self._session = session.Session(profile=self._profile)
            return self._session

    def _sign(self, request: HttpRequest, region: str) -> Mapping[str, str]:
        auth = need("botocore.auth", extra="bedrock")
        found = self._credentials or self._open().get_credentials()
        if found is None:
            raise need("botocore.exceptions", extra="bedrock").NoCredentialsError
        headers = {name: value for name, value in request.headers.items() if name in _SIGNED}
        signed = need("botocore.awsrequest", extra="bedrock").AWSRequest(
            method=request.method, url=request.url, data=request.body, headers=headers
        )
        freeze = getattr(found, "get_frozen_credentials", None)
        login = freeze() if freeze is not None else found
        auth.SigV4Auth(login, self._service, region).add_auth(signed)
        return {name.lower(): value for name, value in signed.headers.items()}

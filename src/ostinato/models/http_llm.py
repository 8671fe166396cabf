"""HttpLlm, the base class of HTTP adapters: a transport, its credential and its errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, PrivateAttr, SecretStr, field_validator, model_validator

from ..errors import (
    ModelAuthError,
    ModelConnectionError,
    ModelRequestError,
    ModelTimeoutError,
    ProviderError,
)
from .http.client import find_client_fault
from .http.credentials import ApiKey, Credential, DeferredCredential, KeyFunction, NoCredential
from .http.errors import (
    HttpAnswerError,
    HttpConnectError,
    HttpEnvironmentError,
    HttpError,
    HttpKeyError,
    HttpStatusError,
    HttpTimeoutError,
)
from .http.messages import HttpRequest, Timeouts
from .http.transport import HttpTransport
from .llm_request import LlmRequest
from .provider_llm import ProviderLlm
from .retry_after import retry_after
from .sdk_client import SdkClient, check_sdk_client, find_sdk
from .wire.faults import BadAnswer, Unsendable
from .wire.json_item import json_bytes


class HttpLlm(ProviderLlm):
    """A model behind an HTTP API.

    Attributes:
      http_client: an `httpx2.AsyncClient` to send requests with, or a client of the provider's SDK,
        whose key, base URL and connections are then used. Its owner closes it.
      public_only: refuse endpoints on private or local addresses, for programs whose users name
        the endpoint.
    """

    http_client: Any = Field(default=None, exclude=True, repr=False)
    public_only: bool = False

    #: The SDK whose clients `http_client` takes.
    sdk_package: ClassVar[str] = ""

    _transport: HttpTransport = PrivateAttr()

    @field_validator("http_client", mode="after")
    @classmethod
    def _check_http_client(cls, value: Any) -> Any:
        if find_sdk(value):
            check_sdk_client(value, cls.sdk_package, cls.__name__)
        elif value is not None and (fault := find_client_fault(value)):
            raise ValueError(fault)
        return value

    @model_validator(mode="after")
    def _check_sdk_settings(self) -> Self:
        if not find_sdk(self.http_client):
            return self
        for name in ("api_key", "base_url", "public_only"):
            if getattr(self, name):
                raise ValueError(
                    f"{name} cannot be combined with a client of {self.sdk_package}: its own "
                    "settings count."
                )
        return self

    def model_post_init(self, context: Any, /) -> None:
        """Create the transport, which opens its client at the first request."""
        super().model_post_init(context)
        self._transport = HttpTransport(
            DeferredCredential(self._credential),
            http_client=self._foreign_client,
            public_only=self.public_only,
        )

    def __copy__(self) -> Self:
        """Return a copy with its own transport, because its key or URL may be changed."""
        copied = super().__copy__()
        object.__setattr__(copied, "__pydantic_private__", None)
        copied.model_post_init(None)
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return a copy; connections cannot be copied."""
        return self.__copy__()

    def __getstate__(self) -> dict[Any, Any]:
        """Return the fields; clients, and keys that requests sent, are not pickled."""
        if self.http_client is not None:
            raise TypeError("A model with an http_client cannot be pickled: pass none.")
        state = super().__getstate__()
        fields = type(self).model_fields
        own = {name: value for name, value in state["__dict__"].items() if name in fields}
        return {**state, "__dict__": own, "__pydantic_private__": None}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        """Restore the fields and create a transport."""
        super().__setstate__(state)
        self.model_post_init(None)

    def _foreign_client(self) -> Any:
        """Return the user's client, as the transport uses it."""
        return self._sdk_client or self.http_client

    @property
    def _sdk_client(self) -> SdkClient | None:
        given = self.http_client
        if given is None or find_sdk(given) not in ("openai", "anthropic"):
            return None
        return SdkClient(given)

    def _place(self) -> str | None:
        client = self._sdk_client
        return client.base_url if client is not None else super()._place()

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        await self._transport.aclose()

    def _credential(self) -> Credential:
        """Return the credential of a request; by default the key as a bearer token."""
        return self._key_credential()

    def _key_credential(
        self, *, header: str = "authorization", prefix: str = "Bearer "
    ) -> Credential:
        """Return the key as a credential; an empty one if it is neither set nor needed.

        Raises:
          ModelUnavailableError: no key is set.
        """
        if self._sdk_client is not None:
            return NoCredential()
        given = self.api_key
        if given is not None and not isinstance(given, (str, SecretStr)):
            return KeyFunction(given, header=header, prefix=prefix)
        if given is None and not self.provider.key_name and not self._needs_key:
            return NoCredential()
        source = "api_key" if given is not None else str(self.provider.key_name)
        return ApiKey(self._login(), header=header, prefix=prefix, source=source)

    def _http_request(
        self,
        url: str,
        body: Mapping[str, Any],
        llm_request: LlmRequest | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpRequest:
        """Return a request that posts JSON.

        Args:
          url: the address.
          body: the JSON to send.
          llm_request: the headers of its `http_options` are added.
          headers: further headers, by lower-case name.
        """
        options = llm_request.config.http_options if llm_request is not None else None
        given = (options and options.headers) or {}
        sent = {"content-type": "application/json", "accept": "application/json"}
        sent |= headers or {}
        sent |= {name.lower(): value for name, value in given.items()}
        return HttpRequest("POST", url, sent, json_bytes(body), Timeouts.of(self.timeout))

    def _clean_detail(self, detail: str) -> str:
        return super()._clean_detail(self._transport.redact(detail))

    def _explain(self, error: Exception) -> ProviderError | None:
        """Return the ProviderError for a transport or wire error, or None for any other."""
        known = self._explain_transport(error)
        request_id = str(getattr(error, "request_id", ""))
        if known is not None and request_id:
            known.request_id = request_id
            known.args = (f"{known} Request id: {request_id}.",)
        return known

    def _explain_transport(self, error: Exception) -> ProviderError | None:
        match error:
            case HttpStatusError():
                return self._explain_status(error)
            case HttpTimeoutError():
                return self._explain_timeout(error)
            case HttpKeyError():
                known = self._sent_nothing(ModelAuthError, str(error))
                known.retryable = error.retryable
                return known
            case HttpAnswerError():
                return self._bad_answer(str(error), retryable=error.retryable)
            case HttpEnvironmentError():
                known = self._sent_nothing(ModelConnectionError, str(error))
                known.retryable = False  # a retry would read the same environment
                return known
            case HttpConnectError():
                return self._unreachable(str(error), redirected_to=error.redirected_to)
            case HttpError():
                return self._sent_nothing(ModelRequestError, str(error))
            case Unsendable():
                who = f"{self.provider.title} (model {self.model!r})"
                return self._request_error(f"{who} cannot be sent {error}")
            case BadAnswer():
                return self._bad_answer(str(error), retryable=error.retryable)
            case json.JSONDecodeError() | UnicodeDecodeError():
                return self._bad_answer("it is not JSON")
            case _:
                return None

    def _explain_status(self, error: HttpStatusError) -> ProviderError:
        """Return the ProviderError for an error status; adapters override it to read the body."""
        return self._make_status_error(
            error.status, error.text, retry_after=retry_after(error.headers)
        )

    def _explain_timeout(self, error: HttpTimeoutError) -> ProviderError:
        if error.phase in ("first byte", "between chunks"):
            return self._timed_out(error.seconds)
        did = (
            "did not open a connection within"
            if error.phase == "connect"
            else "did not complete its answer within"
        )
        if error.redirected_to:
            did = f"redirects to {error.redirected_to}, which {did}"
        return ModelTimeoutError(
            f"{self.provider.title} (model {self.model!r}) {did} {error.seconds:g} seconds.",
            provider=self.provider.name,
            model=self.model,
        )

    def _sent_nothing(self, kind: type[ProviderError], why: str) -> ProviderError:
        return kind(
            f"Nothing was sent to {self.provider.title} (model {self.model!r}): {why}",
            provider=self.provider.name,
            model=self.model,
        )

    def _request_error(self, text: str) -> ProviderError:
        return ModelRequestError(text, provider=self.provider.name, model=self.model)

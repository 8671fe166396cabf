"""ApigeeLlm: models behind an Apigee proxy, which adds its own rules. The registry names it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from enum import Enum
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr

from .. import types
from .._absences import refuse_absent
from .._aclosing import Aclosing
from ..errors import ModelUnavailableError
from .capabilities import ModelCapabilities
from .google_llm import Gemini
from .http.credentials import Credential, NoCredential
from .http.messages import HttpRequest
from .http.urls import join_url
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .openai_llm import OpenAILlm
from .providers import Provider, provider_named

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


_PROVIDERS = ("vertex_ai", "gemini", "openai")
_CHAT = "/chat/completions"


class ApiType(str, Enum):  # noqa: UP042
    """What the proxy speaks."""

    UNKNOWN = "unknown"
    CHAT_COMPLETIONS = "chat_completions"
    GENAI = "genai"


class ProxiedChatLlm(OpenAILlm):
    """Chat completions behind an Apigee proxy.

    Attributes:
      custom_headers: headers for each request, such as the proxy's own key.
    """

    custom_headers: dict[str, str] = Field(default_factory=dict[str, str], exclude=True, repr=False)

    @property
    def provider(self) -> Provider:
        """The entry of the proxy in the table."""
        return provider_named("apigee")

    def _credential(self) -> Credential:
        return super()._credential() if self.api_key is not None else NoCredential()

    def _request_to(self, path: str, body: dict[str, Any], llm_request: LlmRequest) -> HttpRequest:
        place = self._place() or ""
        url = place if place.endswith(_CHAT) else join_url(place, path)
        headers = {name.lower(): value for name, value in self.custom_headers.items()}
        return self._http_request(url, body, llm_request, headers)


class ApigeeLlm(Gemini):
    """A model that is reached through an Apigee proxy.

    Args:
      model: `apigee/[provider/][version/]model`; provider is `gemini`, `vertex_ai` or `openai`
        (without one it is Gemini, and the environment decides between the first two), version
        that of Gemini's API, such as `v1beta`.
      proxy_url: the proxy with its base path; from APIGEE_PROXY_URL where it is not given.
      custom_headers: headers for each request, such as the proxy's own key.
      retry_options: see `Gemini`.
      api_type: what the proxy speaks: `genai`, or `chat_completions`, as behind the provider
        `openai`. The proxy gets the model's bare name, and for chat completions only the
        credentials that `custom_headers` or `api_key` hold.
      credentials: credentials of google-auth, for Vertex AI.

    Raises:
      ModelUnavailableError: the model's name is not in this form, or no proxy is named.
    """

    provider_name: ClassVar[str] = "apigee"
    sdk_package: ClassVar[str] = ""  # an SDK's client does not know the proxy
    ApiType: ClassVar[type[Enum]] = ApiType  # its other name, as google-adk's

    custom_headers: dict[str, str] = Field(default_factory=dict[str, str], exclude=True, repr=False)
    api_type: ApiType = Field(default=ApiType.UNKNOWN, exclude=True)

    _chat: ProxiedChatLlm | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        model: str,
        proxy_url: str | None = None,
        custom_headers: dict[str, str] | None = None,
        retry_options: types.HttpRetryOptions | None = None,
        api_type: ApiType | str = ApiType.UNKNOWN,
        credentials: Any = None,
        **fields: Any,
    ) -> None:
        provider = _read(model)[0]
        api_type = ApiType(api_type or ApiType.UNKNOWN)
        if provider == "openai" and api_type is ApiType.UNKNOWN:
            api_type = ApiType.CHAT_COMPLETIONS
        if provider is not None:
            fields["vertexai"] = provider == "vertex_ai"
        place = proxy_url or fields.pop("base_url", None) or provider_named("apigee").key
        super().__init__(
            model=model,
            base_url=place,
            retry_options=retry_options,
            credentials=credentials,
            **fields,
        )
        self.custom_headers, self.api_type = dict(custom_headers or {}), api_type
        if not place:
            raise self._unavailable("no proxy is named: pass proxy_url, or set APIGEE_PROXY_URL")

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request; see `ProviderLlm`."""
        if self.api_type is ApiType.CHAT_COMPLETIONS:
            name = self._model_name(llm_request)
            llm_request = llm_request.model_copy(update={"model": name})
            responses = self._chat_llm().generate_content_async(llm_request, stream)
        else:
            responses = super().generate_content_async(llm_request, stream)
        async with Aclosing(responses):
            async for response in responses:
                yield response

    async def aclose(self) -> None:
        """Close the running loop's connections; the next request opens others."""
        await super().aclose()
        if self._chat is not None:
            await self._chat.aclose()

    @property
    def capabilities(self) -> ModelCapabilities:
        """What the model can do behind what the proxy speaks."""
        if self.api_type is ApiType.CHAT_COMPLETIONS:
            return self._chat_llm().capabilities
        return super().capabilities

    @property
    def pairs_calls_by_id(self) -> bool:
        """Whether results name their calls; chat completions do so."""
        return self.api_type is ApiType.CHAT_COMPLETIONS or super().pairs_calls_by_id

    def _chat_llm(self) -> ProxiedChatLlm:
        """Return the adapter that speaks chat completions, with the settings of this model."""
        if self._chat is None:
            self._chat = ProxiedChatLlm(model=self.model, base_url=self.base_url)
        chat = self._chat
        chat.api_key, chat.timeout, chat.rate_limit = self.api_key, self.timeout, self.rate_limit
        chat.retry_policy, chat.retry_options = self.retry_policy, self.retry_options
        chat.custom_headers = self.custom_headers
        return chat

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return regular expressions of the names this class serves."""
        return [r"apigee/.*"]

    @property
    def provider(self) -> Provider:
        """The entry of the proxy in the table."""
        return provider_named("apigee")

    def _model_name(self, llm_request: LlmRequest) -> str:
        asked = llm_request.model or self.model
        return _read(asked)[2] if asked.startswith("apigee/") else asked

    def _login(self) -> str:
        """Return the Gemini key, if there is one; the proxy may bring its own."""
        given = self._own_key()
        return given or provider_named("google").key or "-"

    def _http_options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"base_url": self.base_url, "headers": self.custom_headers}
        version = _read(self.model)[1]
        if version is not None:
            found["api_version"] = version
        return found

    def _unavailable(self, why: str) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"Model {self.model!r} cannot be reached through Apigee: {why}.",
            provider="apigee",
            model=self.model,
        )


def _read(model: str) -> tuple[str | None, str | None, str]:
    """Return provider, version and name from `apigee/[provider/][version/]model`."""
    first, *middle = model.split("/")
    bare = middle.pop() if middle else ""
    provider = middle.pop(0) if middle and middle[0] in _PROVIDERS else None
    version = middle.pop(0) if middle and middle[0].startswith("v") else None
    if first != "apigee" or middle or not bare:
        raise ModelUnavailableError(
            f"Model {model!r} is not in the form apigee/[provider/][version/]model, with "
            f"{' or '.join(_PROVIDERS)} as provider and a version such as v1beta.",
            provider="apigee",
            model=model,
        )
    return provider, version, bare

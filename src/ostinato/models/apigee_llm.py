"""ApigeeLlm: Gemini behind an Apigee proxy, which adds its own rules. The registry names it."""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

from pydantic import PrivateAttr

from .. import types
from ..errors import ModelUnavailableError
from .google_llm import Gemini
from .llm_request import LlmRequest
from .providers import Provider, provider_named

_PROVIDERS = ("vertex_ai", "gemini")


class ApiType(str, Enum):  # noqa: UP042
    """What the proxy speaks."""

    UNKNOWN = "unknown"
    CHAT_COMPLETIONS = "chat_completions"
    GENAI = "genai"


class ApigeeLlm(Gemini):
    """A Gemini model that is reached through an Apigee proxy.

    Args:
      model: `apigee/[provider/][version/]model`; provider is `gemini` or `vertex_ai` (the
        environment decides where it is left out), version that of the API, such as `v1beta`.
      proxy_url: the proxy with its base path; from APIGEE_PROXY_URL where it is not given.
      custom_headers: headers for each request, such as the proxy's own key.
      retry_options: see `Gemini`.
      api_type: what the proxy speaks; chat completions are left to OpenAILlm.
      credentials: credentials of google-auth, for Vertex AI.

    Raises:
      ModelUnavailableError: the model's name is not in this form, no proxy is named, or it speaks
        chat completions.
    """

    provider_name: ClassVar[str] = "apigee"

    _bare: str = PrivateAttr(default="")
    _api_version: str | None = PrivateAttr(default=None)
    _headers: dict[str, str] = PrivateAttr(default_factory=dict[str, str])

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
        provider, version, bare = _read(model)
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
        if not place:
            raise self._unavailable("no proxy is named: pass proxy_url, or set APIGEE_PROXY_URL")
        if ApiType(api_type) is ApiType.CHAT_COMPLETIONS:
            raise self._unavailable(
                "api_type 'chat_completions' is what OpenAILlm(model, base_url=proxy_url) speaks"
            )
        self._bare, self._api_version = bare, version
        self._headers = dict(custom_headers or {})

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
        given = self.api_key.get_secret_value() if self.api_key is not None else None
        return given or provider_named("google").key or "-"

    def _http_options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"base_url": self.base_url, "headers": self._headers}
        if self._api_version is not None:
            found["api_version"] = self._api_version
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

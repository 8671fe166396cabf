"""AzureOpenAILlm, the adapter to models of an Azure OpenAI or Azure AI Foundry resource."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..errors import ModelUnavailableError
from .http.credentials import ApiKey, Credential, KeyFunction, KeySource
from .openai_llm import OpenAILlm
from .providers import Provider, provider_named

_TOKEN = "AZURE_OPENAI_AD_TOKEN"
_ENDPOINT = "AZURE_OPENAI_ENDPOINT"


class AzureOpenAILlm(OpenAILlm):
    """A model deployed in Azure, behind chat completions.

    Args:
      model: the name of the deployment.
      base_url: the resource's endpoint, such as `https://NAME.openai.azure.com`; from
        AZURE_OPENAI_ENDPOINT without it. A URL that contains `/openai` is used unchanged, also with
        `?api-version=`.
      api_key: the resource's key; from AZURE_OPENAI_API_KEY without it.
      token_provider: a function that returns a token of Microsoft Entra ID, plain or async, such
        as azure-identity's `get_bearer_token_provider` makes; it takes the place of the key.
        Without both, AZURE_OPENAI_AD_TOKEN may hold a token.
    """

    sdk_package: ClassVar[str] = ""  # OpenAILlm takes AsyncAzureOpenAI, which knows the endpoint

    token_provider: KeySource | None = Field(default=None, exclude=True, repr=False)

    @property
    def provider(self) -> Provider:
        """The entry of Azure in the table."""
        return provider_named("azure")

    def _place(self) -> str | None:
        place = self.base_url or self.provider.url
        if not place:
            raise ModelUnavailableError(
                f"No endpoint for model {self.model!r} of {self.provider.title}: set {_ENDPOINT}, "
                "or pass base_url.",
                provider=self.provider.name,
                model=self.model,
                reason="no endpoint",
            )
        return place if "/openai" in place else f"{place.rstrip('/')}/openai/v1"

    def _credential(self) -> Credential:
        if self.token_provider is not None:
            return KeyFunction(self.token_provider)
        if self.api_key is None and self.provider.key_name == _TOKEN:
            return ApiKey(self._login(), source=_TOKEN)
        return self._key_credential(header="api-key", prefix="")

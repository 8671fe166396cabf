"""DiscoveryEngineSearchTool: searches a data store or search app of Vertex AI as a function.

It asks over REST, without the libraries of Google Cloud; it needs the extra `vertex`.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any
from urllib.parse import quote

from .. import _clock, types
from .._optional import need
from ..auth.auth_credential import AuthCredential, AuthCredentialTypes, ServiceAccount
from ..auth.auth_schemes import HTTPBearer
from ..auth.credential_headers import credential_headers
from ..auth.exchanger.service_account_credential_exchanger import (
    ServiceAccountCredentialExchanger,
)
from ..errors import AgentConfigError
from .function_tool import FunctionTool

_EXTRA = "vertex"
_TIMEOUT_SECONDS = 60.0
_LEEWAY_SECONDS = 60
_IN_LOCATION = re.compile(r"/locations/([^/]+)/")
_LOCATION = re.compile(r"[a-z0-9-]+")
_Answer = dict[str, Any]


class SearchResultMode(Enum):
    """What a search returns: pieces of documents, or whole ones."""

    CHUNKS = "CHUNKS"
    DOCUMENTS = "DOCUMENTS"


class DiscoveryEngineSearchTool(FunctionTool):
    """Searches a data store of Vertex AI Search; works beside other tools and with any model.

    Args:
      data_store_id: full resource name of a data store.
      data_store_specs: data stores of the search app to use; only with `search_engine_id`.
      search_engine_id: full resource name of a search app.
      filter: which documents to search, in the service's filter language.
      max_results: number of results.
      search_result_mode: what to return; None tries pieces first, then documents.
      location: location of the endpoint; that of the resource if None.

    Raises:
      AgentConfigError: not exactly one of data store and search app, specs without an app, or a
        location that cannot be.
    """

    has_outside_results = True

    def __init__(
        self,
        data_store_id: str | None = None,
        data_store_specs: list[types.VertexAISearchDataStoreSpec] | None = None,
        search_engine_id: str | None = None,
        filter: str | None = None,
        max_results: int | None = None,
        *,
        search_result_mode: SearchResultMode | None = None,
        location: str | None = None,
    ) -> None:
        super().__init__(self.discovery_engine_search)
        if (data_store_id is None) == (search_engine_id is None):
            raise AgentConfigError(
                "DiscoveryEngineSearchTool takes either data_store_id or search_engine_id, and "
                "needs one."
            )
        if data_store_specs is not None and search_engine_id is None:
            raise AgentConfigError(
                "DiscoveryEngineSearchTool: data_store_specs choose among the stores of a search "
                "app; give search_engine_id with them."
            )
        self._url = _search_url(data_store_id or search_engine_id or "", location)
        self._fixed: _Answer = {
            "filter": filter,
            "pageSize": max_results,
            "dataStoreSpecs": data_store_specs
            and [spec.model_dump(by_alias=True, exclude_none=True) for spec in data_store_specs],
        }
        self._mode = search_result_mode
        self._credential: AuthCredential | None = None

    async def discovery_engine_search(self, query: str) -> dict[str, Any]:
        """Search a store of documents of this company.

        Args:
          query: what to look for.

        Returns:
          A dict with the status and the results, each with title, url and content.
        """
        modes = [self._mode] if self._mode else [*SearchResultMode]
        answer: _Answer = {}
        for mode in modes:
            status, answer = await self._search(query, mode)
            if status == 200:
                self._mode = mode
                found = [_result_of(one) for one in answer.get("results", [])]
                return {"status": "success", "results": found}
            if status != 400 or "search_result_mode" not in str(answer):
                break
        message = answer.get("error", {}).get("message") or "The search failed."
        return {"status": "error", "error_message": message}

    async def _search(self, query: str, mode: SearchResultMode) -> tuple[int, _Answer]:
        """Ask the service; return the HTTP status and its JSON."""
        if mode is SearchResultMode.CHUNKS:
            shape: _Answer = {"chunkSpec": {"numPreviousChunks": 0, "numNextChunks": 0}}
        else:
            shape = {"extractiveContentSpec": {"maxExtractiveAnswerCount": 1}}
        body = {
            "query": query,
            "contentSearchSpec": {"searchResultMode": mode.value, **shape},
            **{name: value for name, value in self._fixed.items() if value is not None},
        }
        httpx = need("httpx2", extra=_EXTRA)
        headers = await self._headers()
        try:
            async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as client:
                response = await client.post(self._url, json=body, headers=headers)
            return response.status_code, response.json()
        except (httpx.HTTPError, ValueError) as error:
            said = f"Vertex AI Search cannot be reached: {type(error).__name__}."
            return 0, {"error": {"message": said}}

    async def _headers(self) -> dict[str, str]:
        """Return the headers of the machine's own identity, renewed before its token ends."""
        kept = self._credential
        ends = kept.oauth2.expires_at if kept is not None and kept.oauth2 is not None else None
        if kept is None or ends is None or ends < _clock.now() + _LEEWAY_SECONDS:
            account = ServiceAccount(use_default_credential=True)
            wanted = AuthCredential(
                auth_type=AuthCredentialTypes.SERVICE_ACCOUNT, service_account=account
            )
            kept = (await ServiceAccountCredentialExchanger().exchange(wanted)).credential
            self._credential = kept
        return credential_headers(kept, HTTPBearer())


def _search_url(resource: str, location: str | None) -> str:
    found = _IN_LOCATION.search(resource)
    place = location or (found[1] if found is not None else "global")
    if not _LOCATION.fullmatch(place):
        raise AgentConfigError(
            f"DiscoveryEngineSearchTool: location {place!r} is invalid. Use global, us, eu "
            "or another region."
        )
    region = "" if place == "global" else f"{place}-"
    host = f"https://{region}discoveryengine.googleapis.com"
    return f"{host}/v1beta/{quote(resource)}/servingConfigs/default_config:search"


def _result_of(one: _Answer) -> dict[str, str]:
    """Return title, address and content of one result, a piece or a document."""
    chunk = one.get("chunk")
    if chunk is not None:
        about = chunk.get("documentMetadata", {})
        content = chunk.get("content", "")
    else:
        about = one.get("document", {}).get("derivedStructData", {})
        answers: list[_Answer] = about.get("extractive_answers") or about.get("snippets") or []
        content = "\n".join(a.get("content") or a.get("snippet") or "" for a in answers)
    url = about.get("uri") or about.get("link") or ""
    return {"title": about.get("title", ""), "url": url, "content": content}

"""The retrieval tool of the model's service and the stores it reads."""

from typing import TYPE_CHECKING

from ostinato.types._base_record import CaseInsensitiveEnum, Record
from ostinato.types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ostinato.types.tool_auth import ApiAuth, AuthConfig
else:
    ApiAuth = deferred_type("ApiAuth")
    AuthConfig = deferred_type("AuthConfig")


class ApiSpec(CaseInsensitiveEnum):
    """The kind of search API that is called for retrieval."""

    API_SPEC_UNSPECIFIED = "API_SPEC_UNSPECIFIED"
    SIMPLE_SEARCH = "SIMPLE_SEARCH"
    ELASTIC_SEARCH = "ELASTIC_SEARCH"


class ExternalApiElasticSearchParams(Record):
    """A search in Elasticsearch."""

    index: str | None = None
    num_hits: int | None = None
    search_template: str | None = None


class ExternalApiSimpleSearchParams(Record):
    """A search by the plain search API."""


class ExternalApi(Record):
    """Retrieval from an API of the user's."""

    api_auth: ApiAuth | None = None
    api_spec: ApiSpec | None = None
    auth_config: AuthConfig | None = None
    elastic_search_params: ExternalApiElasticSearchParams | None = None
    endpoint: str | None = None
    simple_search_params: ExternalApiSimpleSearchParams | None = None


class VertexAISearchDataStoreSpec(Record):
    """One data store of a search engine, with its filter."""

    data_store: str | None = None
    filter: str | None = None


class VertexAISearch(Record):
    """Retrieval from Vertex AI Search."""

    data_store_specs: list[VertexAISearchDataStoreSpec] | None = None
    datastore: str | None = None
    engine: str | None = None
    filter: str | None = None
    max_results: int | None = None


class VertexRagStoreRagResource(Record):
    """A corpus, or some of its files."""

    rag_corpus: str | None = None
    rag_file_ids: list[str] | None = None


class RagRetrievalConfigFilter(Record):
    """Which chunks retrieval may return."""

    metadata_filter: str | None = None
    vector_distance_threshold: float | None = None
    vector_similarity_threshold: float | None = None


class RagRetrievalConfigHybridSearch(Record):
    """The weight of dense against sparse search."""

    alpha: float | None = None


class RagRetrievalConfigRankingLlmRanker(Record):
    """Ranks by a language model."""

    model_name: str | None = None


class RagRetrievalConfigRankingRankService(Record):
    """Ranks by the rank service."""

    model_name: str | None = None


class RagRetrievalConfigRanking(Record):
    """How chunks are ranked."""

    llm_ranker: RagRetrievalConfigRankingLlmRanker | None = None
    rank_service: RagRetrievalConfigRankingRankService | None = None


class RagRetrievalConfig(Record):
    """How chunks are found."""

    filter: RagRetrievalConfigFilter | None = None
    hybrid_search: RagRetrievalConfigHybridSearch | None = None
    ranking: RagRetrievalConfigRanking | None = None
    top_k: int | None = None


class VertexRagStore(Record):
    """Retrieval from Vertex AI RAG."""

    rag_corpora: list[str] | None = None
    rag_resources: list[VertexRagStoreRagResource] | None = None
    rag_retrieval_config: RagRetrievalConfig | None = None
    similarity_top_k: int | None = None
    store_context: bool | None = None
    vector_distance_threshold: float | None = None


class Retrieval(Record):
    """The service's retrieval tool."""

    disable_attribution: bool | None = None
    external_api: ExternalApi | None = None
    vertex_ai_search: VertexAISearch | None = None
    vertex_rag_store: VertexRagStore | None = None

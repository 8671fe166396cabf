"""Where an answer comes from, and how sure the model was of it, token by token."""

from typing import Any, cast

from pydantic import model_validator

from ostinato.types._base_record import CaseInsensitiveEnum, Record


class GoogleTypeDate(Record):
    """A date; zero or absent parts are unknown."""

    day: int | None = None
    month: int | None = None
    year: int | None = None


class Citation(Record):
    """A source that a piece of the answer repeats."""

    end_index: int | None = None
    license: str | None = None
    publication_date: GoogleTypeDate | None = None
    start_index: int | None = None
    title: str | None = None
    uri: str | None = None


class CitationMetadata(Record):
    """The sources that an answer repeats."""

    citations: list[Citation] | None = None

    @model_validator(mode="before")
    @classmethod
    def accept_old_name(cls, data: Any) -> Any:
        """Read `citationSources`, the name that older services send."""
        if isinstance(data, dict) and "citationSources" in data:
            fields = cast(dict[str, Any], data)
            return {("citations" if k == "citationSources" else k): v for k, v in fields.items()}
        return cast(Any, data)


class LogprobsResultCandidate(Record):
    """A token and its log probability."""

    log_probability: float | None = None
    token: str | None = None
    token_id: int | None = None


class LogprobsResultTopCandidates(Record):
    """The most probable tokens at one step."""

    candidates: list[LogprobsResultCandidate] | None = None


class LogprobsResult(Record):
    """Log probabilities of chosen and likely tokens."""

    chosen_candidates: list[LogprobsResultCandidate] | None = None
    top_candidates: list[LogprobsResultTopCandidates] | None = None
    log_probability_sum: float | None = None


class UrlRetrievalStatus(CaseInsensitiveEnum):
    """Whether a URL could be read."""

    URL_RETRIEVAL_STATUS_UNSPECIFIED = "URL_RETRIEVAL_STATUS_UNSPECIFIED"
    URL_RETRIEVAL_STATUS_SUCCESS = "URL_RETRIEVAL_STATUS_SUCCESS"
    URL_RETRIEVAL_STATUS_ERROR = "URL_RETRIEVAL_STATUS_ERROR"
    URL_RETRIEVAL_STATUS_PAYWALL = "URL_RETRIEVAL_STATUS_PAYWALL"
    URL_RETRIEVAL_STATUS_UNSAFE = "URL_RETRIEVAL_STATUS_UNSAFE"


class UrlMetadata(Record):
    """One URL that was read, or not."""

    retrieved_url: str | None = None
    url_retrieval_status: UrlRetrievalStatus | None = None


class UrlContextMetadata(Record):
    """The URLs that were read for an answer."""

    url_metadata: list[UrlMetadata] | None = None

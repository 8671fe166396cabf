"""What an answer is grounded in."""

from ostinato.types._base_record import Record


class RagChunkPageSpan(Record):
    """The pages of a chunk."""

    first_page: int | None = None
    last_page: int | None = None


class RagChunk(Record):
    """A chunk of a document."""

    page_span: RagChunkPageSpan | None = None
    text: str | None = None
    chunk_id: str | None = None
    file_id: str | None = None


class GroundingChunkImage(Record):
    """An image that grounds an answer."""

    source_uri: str | None = None
    image_uri: str | None = None
    title: str | None = None
    domain: str | None = None


class GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution(Record):
    """The author of a review."""

    display_name: str | None = None
    photo_uri: str | None = None
    uri: str | None = None


class GroundingChunkMapsPlaceAnswerSourcesReviewSnippet(Record):
    """A review that grounds an answer about a place."""

    author_attribution: GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution | None = None
    flag_content_uri: str | None = None
    google_maps_uri: str | None = None
    relative_publish_time_description: str | None = None
    review: str | None = None
    review_id: str | None = None
    title: str | None = None


class GroundingChunkMapsPlaceAnswerSources(Record):
    """The sources of an answer about a place."""

    review_snippet: list[GroundingChunkMapsPlaceAnswerSourcesReviewSnippet] | None = None
    flag_content_uri: str | None = None
    review_snippets: list[GroundingChunkMapsPlaceAnswerSourcesReviewSnippet] | None = None


class GroundingChunkMapsRoute(Record):
    """A route that grounds an answer."""

    distance_meters: int | None = None
    duration: str | None = None
    encoded_polyline: str | None = None


class GroundingChunkMaps(Record):
    """A place that grounds an answer."""

    place_answer_sources: GroundingChunkMapsPlaceAnswerSources | None = None
    place_id: str | None = None
    text: str | None = None
    title: str | None = None
    uri: str | None = None
    route: GroundingChunkMapsRoute | None = None


class GroundingChunkStringList(Record):
    """A list of strings as metadata value."""

    values: list[str] | None = None


class GroundingChunkCustomMetadata(Record):
    """One metadata entry of a document."""

    key: str | None = None
    numeric_value: float | None = None
    string_list_value: GroundingChunkStringList | None = None
    string_value: str | None = None


class GroundingChunkRetrievedContext(Record):
    """A retrieved text that grounds an answer."""

    document_name: str | None = None
    rag_chunk: RagChunk | None = None
    text: str | None = None
    title: str | None = None
    uri: str | None = None
    custom_metadata: list[GroundingChunkCustomMetadata] | None = None
    file_search_store: str | None = None
    page_number: int | None = None
    media_id: str | None = None


class GroundingChunkWeb(Record):
    """A web page that grounds an answer."""

    domain: str | None = None
    title: str | None = None
    uri: str | None = None


class GroundingChunk(Record):
    """One source that grounds an answer."""

    image: GroundingChunkImage | None = None
    maps: GroundingChunkMaps | None = None
    retrieved_context: GroundingChunkRetrievedContext | None = None
    web: GroundingChunkWeb | None = None


class Segment(Record):
    """A piece of a content's text, in bytes."""

    start_index: int | None = None
    end_index: int | None = None
    part_index: int | None = None
    text: str | None = None


class GroundingSupport(Record):
    """Which chunks support which piece of the answer."""

    confidence_scores: list[float] | None = None
    grounding_chunk_indices: list[int] | None = None
    segment: Segment | None = None
    rendered_parts: list[int] | None = None


class RetrievalMetadata(Record):
    """How useful a search seemed for the prompt."""

    google_search_dynamic_retrieval_score: float | None = None


class SearchEntryPoint(Record):
    """What to show to let people search on."""

    rendered_content: str | None = None
    sdk_blob: bytes | None = None


class GroundingMetadataSourceFlaggingUri(Record):
    """Where to report a source."""

    flag_content_uri: str | None = None
    source_id: str | None = None


class GroundingMetadata(Record):
    """What an answer is grounded in."""

    image_search_queries: list[str] | None = None
    grounding_chunks: list[GroundingChunk] | None = None
    grounding_supports: list[GroundingSupport] | None = None
    retrieval_metadata: RetrievalMetadata | None = None
    search_entry_point: SearchEntryPoint | None = None
    web_search_queries: list[str] | None = None
    google_maps_widget_context_token: str | None = None
    retrieval_queries: list[str] | None = None
    source_flagging_uris: list[GroundingMetadataSourceFlaggingUri] | None = None

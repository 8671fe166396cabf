"""How requests are sent and what came back, as HTTP."""

from typing import Any

from ostinato.types._base_record import CaseInsensitiveEnum, Record


class ResourceScope(CaseInsensitiveEnum):
    """What a base URL stands for."""

    COLLECTION = "COLLECTION"


class HttpRetryOptions(Record):
    """How failed HTTP requests are tried again; delays in seconds."""

    attempts: int | None = None
    initial_delay: float | None = None
    max_delay: float | None = None
    exp_base: float | None = None
    jitter: float | None = None
    http_status_codes: list[int] | None = None


class HttpOptions(Record):
    """How requests are sent; `timeout` in milliseconds."""

    base_url: str | None = None
    base_url_resource_scope: ResourceScope | None = None
    api_version: str | None = None
    headers: dict[str, str] | None = None
    timeout: int | None = None
    client_args: dict[str, Any] | None = None
    async_client_args: dict[str, Any] | None = None
    extra_body: dict[str, Any] | None = None
    retry_options: HttpRetryOptions | None = None
    httpx_client: Any | None = None
    httpx_async_client: Any | None = None
    aiohttp_client: Any = None


class HttpResponse(Record):
    """The HTTP answer that a response came in."""

    headers: dict[str, str] | None = None
    body: str | None = None

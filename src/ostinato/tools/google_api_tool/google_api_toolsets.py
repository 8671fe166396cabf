"""The toolsets of Google's most used APIs."""

from __future__ import annotations

from typing import ClassVar

from ...auth.auth_credential import ServiceAccount
from ..base_toolset import ToolPredicate
from .discovery_document import DiscoverySource
from .google_api_toolset import GoogleApiToolset


class _KnownApiToolset(GoogleApiToolset):
    """The methods of an API whose name and version the class has; see GoogleApiToolset.

    Args:
      client_id, client_secret: the OAuth2 client by which each user is asked for consent.
      tool_filter: names of the tools to offer, or a predicate.
      service_account: the account that asks for all users; it goes before the client.
      tool_name_prefix: put before each tool's name, with an underscore between.
      discovery_document: the API's discovery document, as a dict or the path of a JSON file;
        fetched from Google if None.
      allow_private_network_access: whether the API may be at a private address; see
        GoogleApiToolset.
    """

    known_api: ClassVar[tuple[str, str]]

    def __init__(
        self,
        client_id: str | None = None,
        client_secret: str | None = None,
        tool_filter: ToolPredicate | list[str] | None = None,
        service_account: ServiceAccount | None = None,
        tool_name_prefix: str | None = None,
        *,
        discovery_document: DiscoverySource | None = None,
        allow_private_network_access: bool = False,
    ) -> None:
        super().__init__(
            *self.known_api,
            client_id,
            client_secret,
            tool_filter,
            service_account,
            tool_name_prefix,
            discovery_document=discovery_document,
            allow_private_network_access=allow_private_network_access,
        )


class BigQueryToolset(_KnownApiToolset):
    """The methods of BigQuery's API v2; `tools.bigquery` has tools that are easier for a model."""

    known_api = ("bigquery", "v2")


class CalendarToolset(_KnownApiToolset):
    """The methods of Google Calendar's API v3."""

    known_api = ("calendar", "v3")


class GmailToolset(_KnownApiToolset):
    """The methods of Gmail's API v1."""

    known_api = ("gmail", "v1")


class YoutubeToolset(_KnownApiToolset):
    """The methods of YouTube's Data API v3."""

    known_api = ("youtube", "v3")


class SlidesToolset(_KnownApiToolset):
    """The methods of Google Slides' API v1."""

    known_api = ("slides", "v1")


class SheetsToolset(_KnownApiToolset):
    """The methods of Google Sheets' API v4."""

    known_api = ("sheets", "v4")


class DocsToolset(_KnownApiToolset):
    """The methods of Google Docs' API v1."""

    known_api = ("docs", "v1")

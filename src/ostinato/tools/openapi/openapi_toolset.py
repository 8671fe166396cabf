"""OpenAPIToolset: the operations of an OpenAPI document as tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from ..._log import get_logger
from ...auth.auth_credential import AuthCredential
from ...auth.auth_schemes import AuthScheme
from ...context.readonly import ReadonlyContext
from ...errors import AgentConfigError
from ...events.tool_origin import ToolOrigin
from ..base_tool import BaseTool
from ..base_toolset import BaseToolset, ToolPredicate
from .parsed_operation import ParsedOperation
from .rest_api_tool import MAX_RESPONSE_CHARS, HeaderProvider, RestApiTool
from .rest_client import HttpxClientFactory, RestClient, SslVerify
from .spec_document import LoadReference, SpecError, read_text
from .spec_parser import OpenApiSpecParser

_log = get_logger(__name__)


class OpenAPIToolset(BaseToolset):
    """The operations of a document of OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0, each a `RestApiTool`.

    Connections are kept for further requests until the toolset is closed.

    Args:
      spec_dict: the document.
      spec_str: the document as text, if there is no `spec_dict`.
      spec_str_type: whether that is JSON or YAML.
      auth_scheme: how the service authenticates, for all tools, in place of the document's schemes.
      auth_credential: the credential for all tools.
      credential_key: name of the credential in stores.
      tool_filter: names of the tools to offer, or a predicate.
      tool_name_prefix: put before each tool's name, with an underscore between.
      ssl_verify: how certificates are checked: True or None by the system's authorities, False not
        at all, or by a bundle's path or a context.
      header_provider: a plain or async function that takes the context of a call and returns
        headers to send.
      httpx_client_factory: makes a client of httpx or httpx2 for each request, which is closed
        after it. It takes precedence over `ssl_verify` and `timeout_seconds`.
      preserve_property_names: keep names as the document spells them, not in snake_case.
      allow_private_network_access: whether addresses that are not public may be requested.
      base_url: where the document is. Relative servers are resolved against it, absolute ones
        replaced by it.
      server_variables: values for the variables of server addresses.
      auth_credentials: credentials by the names of the document's security schemes, for services
        with several.
      fields: JSON pointers of what is kept of a result, by the tools' names.
      max_response_chars: length of a result; a longer one becomes an artifact, or is cut.
      timeout_seconds: how long to wait for the next bytes of a response; ten times as long for the
        whole of it.
      strict: whether an operation that cannot be read is an error; else it is left out with a
        warning that names it.
      load_reference: permits references to other documents: takes an address and returns the
        document. They are refused without it.
      defer: tell the model of each tool only once it has searched for it.

    Raises:
      SpecError: the document cannot be read.
      AgentConfigError: a name in `fields` or `auth_credentials` is unknown, or a credential does
        not fit its scheme.
    """

    _is_checked = False  # whether the names in tool_filter were looked at

    def __init__(
        self,
        *,
        spec_dict: Mapping[str, Any] | None = None,
        spec_str: str | None = None,
        spec_str_type: Literal["json", "yaml"] = "json",
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        credential_key: str | None = None,
        tool_filter: ToolPredicate | list[str] | None = None,
        tool_name_prefix: str | None = None,
        ssl_verify: SslVerify = None,
        header_provider: HeaderProvider | None = None,
        httpx_client_factory: HttpxClientFactory | None = None,
        preserve_property_names: bool = False,
        allow_private_network_access: bool = False,
        base_url: str | None = None,
        server_variables: Mapping[str, str] | None = None,
        auth_credentials: Mapping[str, AuthCredential] | None = None,
        fields: Mapping[str, Iterable[str]] | None = None,
        max_response_chars: int = MAX_RESPONSE_CHARS,
        timeout_seconds: float = 600.0,
        strict: bool = True,
        load_reference: LoadReference | None = None,
        defer: bool = False,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix, defer=defer)
        if not spec_dict:
            if not spec_str:
                raise SpecError("An OpenAPIToolset needs a document: give spec_dict or spec_str.")
            spec_dict = read_text(spec_str, spec_str_type)
        parser = OpenApiSpecParser(
            preserve_property_names=preserve_property_names,
            base_url=base_url,
            server_variables=server_variables,
            strict=strict,
            load_reference=load_reference,
        )
        self._client = RestClient(
            ssl_verify=ssl_verify,
            client_factory=httpx_client_factory,
            allow_private=allow_private_network_access,
            timeout_seconds=timeout_seconds,
            keeps_connections=True,
        )
        self._strict = strict
        self._fields = {name: _as_list(one) for name, one in (fields or {}).items()}
        self._credentials = dict(auth_credentials or {})
        self._tools: list[RestApiTool] = []
        parsed = parser.parse(spec_dict)
        self._check_names(parsed, parser.scheme_names)
        for one in parsed:
            self._add_tool(one, header_provider, max_response_chars)
        for tool in self._tools:
            if auth_scheme:
                tool.configure_auth_scheme(auth_scheme)
            if auth_credential:
                tool.configure_auth_credential(auth_credential)
            if credential_key:
                tool.configure_credential_key(credential_key)

    @property
    def tools(self) -> list[RestApiTool]:
        """All tools in the document's order, whatever the filter selects."""
        return list(self._tools)

    def configure_ssl_verify_all(self, ssl_verify: SslVerify = None) -> None:
        """Set how certificates are checked, for all tools."""
        self._client.ssl_verify = ssl_verify
        for tool in self._tools:
            tool.use_client(self._client)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools that the filter selects, in the document's order."""
        if isinstance(self.tool_filter, list) and not self._is_checked:
            self._is_checked = True
            self._warn_of_unknown("tool_filter", self.tool_filter, self._tools)
        return [one for one in self._tools if self._is_tool_selected(one, readonly_context)]

    def get_tool(self, tool_name: str) -> RestApiTool | None:
        """Return the tool of a name without prefix, or None."""
        return next((one for one in self._tools if one.name == tool_name), None)

    def is_source_of(self, origin: ToolOrigin) -> bool:
        """Return whether a tool with this origin is one of this API; see `BaseToolset`."""
        known = [one.tool_origin for one in self._tools]
        return any(
            (one.kind, one.source) == (origin.kind, origin.source)
            and origin.address in ("", one.address)
            for one in known
        )

    async def close(self) -> None:
        """Close this event loop's connections; the next request opens others.

        With requests under way, such as those of another Runner, they close after these.
        """
        await self._client.aclose()

    def _add_tool(
        self, parsed: ParsedOperation, header_provider: HeaderProvider | None, max_chars: int
    ) -> None:
        try:
            tool = RestApiTool.from_parsed_operation(
                parsed,
                header_provider=header_provider,
                client=self._client,
                fields=self._find_fields(parsed.name),
                max_response_chars=max_chars,
            )
        except AgentConfigError as error:  # a name that the runtime reserves
            if self._strict:
                raise
            _log.warning("The operation %s is left out: %s", parsed.name, error)
            return
        tool.configure_security(_read_alternatives(parsed), self._credentials)
        self._tools.append(tool)

    def _find_fields(self, name: str) -> list[str]:
        return self._fields.get(name) or self._fields.get(self._add_prefix(name)) or []

    def _check_names(self, parsed: list[ParsedOperation], schemes: set[str]) -> None:
        """Refuse settings for tools and security schemes that the document does not have."""
        names = {name for one in parsed for name in (one.name, self._add_prefix(one.name))}
        for what, given, known in (
            ("fields", self._fields.keys(), names),
            ("auth_credentials", self._credentials.keys(), schemes),
        ):
            unknown = sorted(given - known)
            if unknown:
                shown = ", ".join(sorted(known)[:20]) or "none"
                raise AgentConfigError(
                    f"{what} names {unknown[0]!r}, which the document does not have. It has: "
                    f"{shown}."
                )


def _read_alternatives(parsed: ParsedOperation) -> list[dict[str, AuthScheme]]:
    context = cast("dict[str, Any]", parsed.additional_context or {})
    return context.get("auth_schemes") or []


def _as_list(pointers: Iterable[str]) -> list[str]:
    return [pointers] if isinstance(pointers, str) else list(pointers)

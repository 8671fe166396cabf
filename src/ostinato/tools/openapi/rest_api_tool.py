"""RestApiTool: one operation of a REST API as a tool."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from ... import types
from ..._clock import new_id
from ..._secret_values import redact_values, secrets_of_headers
from ...auth.auth_credential import AuthCredential
from ...auth.auth_schemes import AuthScheme, as_scheme
from ...context.context import Context as ToolContext
from ...context.readonly import ReadonlyContext
from ...errors import AgentConfigError
from ...events.tool_origin import ToolOrigin, ToolPolicy
from ...version import __version__
from ..base_tool import BaseTool, InDoubt
from ..call_doubt import CallNotRun, UnknownOutcome
from ..header_provider import ask_header_provider
from .api_parameter import ApiParameter
from .auth_helpers import check_credential, credential_to_param, dict_to_auth_scheme, place_of
from .credential_exchangers import AutoAuthCredentialExchanger, BaseAuthCredentialExchanger
from .name_guard import ArgumentError
from .operation_parser import MAX_NAME, OperationParser, read_operation
from .parsed_operation import OperationEndpoint, ParsedOperation
from .request_body import FileContent
from .rest_client import (
    SAFE_METHODS,
    HttpxClientFactory,
    RequestFailed,
    RestClient,
    SslVerify,
)
from .rest_request import (
    RequestBuilder,
    RestRequest,
    add_headers,
    check_header,
    drop_replaced,
)
from .rest_result import ResultShaper, error_text
from .spec_record import Operation
from .tool_auth_handler import ToolAuthHandler

MAX_RESPONSE_CHARS = 100_000
_PENDING = {"pending": True, "message": "Needs your authorization to access your data."}
_IDEMPOTENCY_NAMES = frozenset(
    ("idempotency-key", "x-idempotency-key", "idempotence-key", "x-idempotence-key")
)
_IDEMPOTENCY_MARK = "x-idempotency-key"

HeaderProvider = Callable[
    [ReadonlyContext], Mapping[str, str] | Awaitable[Mapping[str, str] | None] | None
]


class RestApiTool(BaseTool):
    """Calls an operation of a REST API (OpenAPI 3.1 §4.8.10).

    Its policy for calls in doubt follows the method: GET and other methods that change nothing
    are run again, and so is an operation that takes an idempotency key, which the tool sends. Any
    other is `at_most_once`; PUT and DELETE, too, because a run may be resumed hours later, and then
    they would undo what others have changed meanwhile.

    Args:
      name: what the model calls it by; cut at 60 characters.
      description: what the model is told.
      endpoint: where the operation is, as a record or JSON text.
      operation: the operation with its references resolved, as a record, a dict or JSON text.
      auth_scheme: how the service authenticates, as a record or JSON.
      auth_credential: the credential, as a record or JSON text.
      should_parse_operation: whether to read the operation's parameters now.
      ssl_verify: how certificates are checked: True or None by the system's authorities, False not
        at all, or by a bundle's path or a context.
      header_provider: a plain or async function that takes the context of the call and returns
        headers to send.
      httpx_client_factory: makes a client of httpx or httpx2 for each request, which is closed
        after it. It takes precedence over `ssl_verify` and `timeout_seconds`.
      credential_key: name of the credential in stores.
      allow_private_network_access: whether addresses that are not public may be requested.
      fields: JSON pointers of what is kept of a result.
      max_response_chars: length of a result; a longer one becomes an artifact, or is cut.
      timeout_seconds: how long to wait for the next bytes of a response; ten times as long for the
        whole of it.
      in_doubt: the policy for a call whose process died while it ran, in place of the method's.

    Raises:
      AgentConfigError: the runtime reserves the name.
      ValueError: the endpoint, operation, scheme, credential or a field is malformed.
    """

    has_outside_results = True

    def __init__(
        self,
        name: str,
        description: str,
        endpoint: OperationEndpoint | str,
        operation: Operation | str,
        auth_scheme: AuthScheme | str | None = None,
        auth_credential: AuthCredential | str | None = None,
        should_parse_operation: bool = True,
        ssl_verify: SslVerify = None,
        header_provider: HeaderProvider | None = None,
        httpx_client_factory: HttpxClientFactory | None = None,
        *,
        credential_key: str | None = None,
        allow_private_network_access: bool = False,
        fields: Iterable[str] = (),
        max_response_chars: int = MAX_RESPONSE_CHARS,
        timeout_seconds: float = 600.0,
        in_doubt: InDoubt | None = None,
    ) -> None:
        super().__init__(name=name[:MAX_NAME], description=description, in_doubt=in_doubt)
        self.endpoint = _read_endpoint(endpoint)
        self.operation = read_operation(operation)
        self.auth_scheme: AuthScheme | None = None
        self.auth_credential: AuthCredential | None = None
        self.credential_key = credential_key
        self.credential_exchanger: BaseAuthCredentialExchanger = AutoAuthCredentialExchanger()
        self._together: dict[str, AuthScheme] = {}
        self._credentials: dict[str, AuthCredential] = {}
        self.configure_auth_credential(auth_credential)
        self.configure_auth_scheme(auth_scheme)
        self._document = ""
        self._default_headers: dict[str, str] = {}
        self._header_provider = header_provider
        self._fields = [fields] if isinstance(fields, str) else list(fields)
        self._max_response_chars = max_response_chars
        ResultShaper(self.name, self._fields, max_response_chars)  # refuses malformed fields
        self._client = RestClient(
            ssl_verify=ssl_verify,
            client_factory=httpx_client_factory,
            allow_private=allow_private_network_access,
            timeout_seconds=timeout_seconds,
        )
        self._has_own_policy = in_doubt is not None
        self._operation_parser: OperationParser | None = None
        if should_parse_operation:
            self._use_parser(OperationParser(self.operation))

    @classmethod
    def from_parsed_operation(
        cls,
        parsed: ParsedOperation,
        ssl_verify: SslVerify = None,
        header_provider: HeaderProvider | None = None,
        httpx_client_factory: HttpxClientFactory | None = None,
        *,
        client: RestClient | None = None,
        **options: Any,
    ) -> RestApiTool:
        """Return the tool of an operation.

        Args:
          parsed: the operation.
          ssl_verify, header_provider, httpx_client_factory: as for the class.
          client: sends the requests, in place of one made of these settings; its owner closes it.
          options: more arguments of the class.
        """
        tool = cls(
            parsed.name,
            parsed.description,
            parsed.endpoint,
            parsed.operation,
            parsed.auth_scheme,
            parsed.auth_credential,
            False,
            ssl_verify,
            header_provider,
            httpx_client_factory,
            **options,
        )
        tool._use_parser(
            OperationParser.load(parsed.operation, parsed.parameters, parsed.return_value)
        )
        context: Any = parsed.additional_context
        if isinstance(context, dict):
            known = cast("dict[str, Any]", context)
            tool._document = str(known.get("document") or "")
        if client is not None:
            tool.use_client(client)
        return tool

    @classmethod
    def from_parsed_operation_str(cls, parsed_operation_str: str) -> RestApiTool:
        """Return the tool of an operation that is given as JSON text.

        Raises:
          ValueError: the text is not an operation.
        """
        return cls.from_parsed_operation(ParsedOperation.model_validate_json(parsed_operation_str))

    @property
    def parser(self) -> OperationParser:
        """The reader of the operation.

        Raises:
          AgentConfigError: the tool was made with should_parse_operation=False.
        """
        if self._operation_parser is None:
            raise AgentConfigError(
                f"Tool {self.name!r}: its operation was not read. Make the tool with "
                "should_parse_operation=True, or with from_parsed_operation."
            )
        return self._operation_parser

    @property
    def tool_origin(self) -> ToolOrigin:
        """The API, the operation's method and path, and the policy that follows from them."""
        endpoint = self.endpoint
        method = endpoint.method.upper()
        policy: ToolPolicy = self.in_doubt
        if policy == "rerun":
            known = self._operation_parser is not None and self._idempotency_parameters()
            policy = "read_only" if method in SAFE_METHODS else "idempotent" if known else "rerun"
        url = endpoint.base_url
        source = self._document or _host_of(url)
        address = hashlib.sha256(url.encode()).hexdigest()[:4] if url else ""
        return ToolOrigin("openapi", source, f"{method} {endpoint.path}", policy, address)

    def configure_auth_scheme(
        self, auth_scheme: AuthScheme | Mapping[str, Any] | str | None
    ) -> None:
        """Set how the service authenticates; it replaces all schemes of the document.

        Args:
          auth_scheme: the scheme as a record, its JSON or JSON text.
        """
        if isinstance(auth_scheme, str):
            auth_scheme = cast("dict[str, Any]", json.loads(auth_scheme))
        if isinstance(auth_scheme, Mapping):
            auth_scheme = dict_to_auth_scheme(auth_scheme)
        # Programs for google-adk also have FastAPI's records.
        self.auth_scheme = as_scheme(auth_scheme) if auth_scheme is not None else None
        self._together = {}

    def configure_auth_credential(
        self, auth_credential: AuthCredential | str | None = None
    ) -> None:
        """Set the credential, as a record or JSON text."""
        if isinstance(auth_credential, str):
            auth_credential = AuthCredential.model_validate_json(auth_credential)
        self.auth_credential = auth_credential

    def configure_security(
        self,
        alternatives: list[dict[str, AuthScheme]],
        credentials: Mapping[str, AuthCredential],
    ) -> None:
        """Choose of the document's security what there are credentials for.

        Args:
          alternatives: dicts of the schemes that are required together, by name.
          credentials: credentials by the names of their schemes.

        Raises:
          AgentConfigError: a credential does not fit its scheme, or two that are required together
            would have to be in the same header.
        """
        covered = [one for one in alternatives if one and one.keys() <= credentials.keys()]
        for name, scheme in [pair for one in covered for pair in one.items()]:
            check_credential(name, scheme, credentials[name])
        possible = [one for one in covered if len({*map(place_of, one.values())}) == len(one)]
        if covered and not possible:
            raise AgentConfigError(
                f"Tool {self.name!r}: the security schemes {', '.join(map(repr, covered[0]))} are "
                "required together, but their credentials would be in the same place of a request. "
                "Give auth_credentials for another alternative, or a header_provider."
            )
        required = [*possible, *alternatives]
        if not required or (not covered and not all(alternatives)):
            return
        self._together = required[0]
        self._credentials = dict(credentials)
        self.auth_scheme = next(iter(self._together.values()))

    def configure_credential_key(self, credential_key: str | None = None) -> None:
        """Set the name of the credential in stores."""
        self.credential_key = credential_key

    def configure_ssl_verify(self, ssl_verify: SslVerify = None) -> None:
        """Set how certificates are checked, for this tool alone."""
        self._client = RestClient(
            ssl_verify=ssl_verify,
            client_factory=self._client.client_factory,
            allow_private=self._client.allow_private,
            timeout_seconds=self._client.timeout_seconds,
        )

    def use_client(self, client: RestClient) -> None:
        """Send requests by a client that another object owns and closes."""
        self._client = client

    def set_default_headers(self, headers: dict[str, str]) -> None:
        """Set headers that each request has, unless it has its own of that name."""
        self._default_headers = dict(headers)

    def make_arguments_schema(self) -> dict[str, Any]:
        """Return the JSON schema of what the model gives; idempotency keys are not among it.

        Raises:
          AgentConfigError: the tool was made with should_parse_operation=False.
        """
        schema = self.parser.get_json_schema()
        hidden = {str(one.py_name) for one in self._idempotency_parameters()}
        schema["properties"] = {
            name: one for name, one in schema["properties"].items() if name not in hidden
        }
        schema["required"] = [name for name in schema["required"] if name not in hidden]
        return schema

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self.make_arguments_schema(),
        )

    def find_argument_fault(self, args: dict[str, Any]) -> str:
        """See `BaseTool`."""
        return self._find_unknown(args) or super().find_argument_fault(args)

    def _find_unknown(self, args: Mapping[str, Any]) -> str:
        """Return that the operation does not have an argument, which no request would hold.

        A call that was approved with it would do something else.
        """
        known = [str(one.py_name) for one in self.parser.get_parameters()]
        unknown = [name for name in args if name not in known]
        if not unknown:
            return ""
        taken = ", ".join(sorted(known)) or "none"
        return f"The operation has no argument {', '.join(map(repr, unknown))}. It takes: {taken}."

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Call the operation; see `call`."""
        return await self.call(args=args, tool_context=tool_context)

    async def call(self, *, args: dict[str, Any], tool_context: ToolContext | None) -> Any:
        """Call the operation.

        Args:
          args: values of its parameters, by their names for the model.
          tool_context: the context of the call; None outside of a run.

        Returns:
          The response's JSON; `{"text": ...}` if it is not JSON; `{"error": ...}` if the service
          refused or could not be reached, or an argument is wrong, an UnknownOutcome if the request
          may have been carried out, a CallNotRun if it was not and has no response;
          `{"pending": True, ...}` while the user is asked for a credential.

        Raises:
          AgentConfigError: the operation has no server.
          ValueError: the security scheme needs a credential that the developer did not give.
          CredentialExchangeError, CredentialRefresherError: the provider of tokens failed.
        """
        auth = await self._prepare_auth(tool_context)
        if auth is None:
            return dict(_PENDING)
        request: RestRequest | None = None
        try:
            if fault := self._find_unknown(args):
                raise ArgumentError(fault)
            request = await self._build_request(args, auth, tool_context)
            response = await self._client.send(request)
        except (ArgumentError, RequestFailed) as error:
            secrets = request.secrets if request else []
            about = f" ({self._document})" if self._document else ""
            told = error_text(self.name, f"{redact_values(str(error), secrets)}{about}")
            if isinstance(error, ArgumentError):
                return {"error": told}
            return UnknownOutcome(error=told) if error.may_have_run else CallNotRun(error=told)
        shaper = ResultShaper(
            self.name,
            self._fields,
            self._max_response_chars,
            is_repeatable=self.in_doubt == "rerun",
        )
        return await shaper.shape(response, request.secrets, tool_context)

    def __repr__(self) -> str:
        return (
            f'RestApiTool(name="{self.name}", description="{self.description}", '
            f'endpoint="{self.endpoint}")'
        )

    __str__ = __repr__

    def _use_parser(self, parser: OperationParser) -> None:
        self._operation_parser = parser
        if self._has_own_policy:
            return
        is_safe = self.endpoint.method.upper() in SAFE_METHODS
        self.in_doubt = "rerun" if is_safe or self._idempotency_parameters() else "at_most_once"

    def _idempotency_parameters(self) -> list[ApiParameter]:
        """Return the parameters that take an idempotency key, which the tool fills in itself."""
        marked = {
            one.get("name")
            for one in self.operation.raw.get("parameters") or ()
            if one.get(_IDEMPOTENCY_MARK)
        }
        return [
            one
            for one in self.parser.get_parameters()
            if (one.param_location == "header" and one.original_name.lower() in _IDEMPOTENCY_NAMES)
            or (one.param_location != "body" and one.original_name in marked)
        ]

    async def _prepare_auth(
        self, tool_context: ToolContext | None
    ) -> list[tuple[AuthScheme, AuthCredential]] | None:
        """Return the credentials to send, with their schemes; None while the user is asked."""
        schemes = self._together or ({"": self.auth_scheme} if self.auth_scheme else {})
        found: list[tuple[AuthScheme, AuthCredential]] = []
        for name, scheme in schemes.items():
            credential = self._credentials.get(name)
            key = self.credential_key
            if len(schemes) == 1:
                credential = credential or self.auth_credential
            elif key:
                key = f"{key}:{name}"
            handler = ToolAuthHandler.from_tool_context(
                tool_context, scheme, credential, self.credential_exchanger, credential_key=key
            )
            result = await handler.prepare_auth_credentials()
            if result.state == "pending":
                return None
            if result.auth_credential is not None:
                found.append((scheme, result.auth_credential))
        return found

    async def _build_request(
        self,
        args: dict[str, Any],
        auth: list[tuple[AuthScheme, AuthCredential]],
        tool_context: ToolContext | None,
    ) -> RestRequest:
        parameters = list(self.parser.get_parameters())
        given = dict(args)
        for one in parameters:
            default = one.schema_record.default
            if one.required and default is not None:
                given.setdefault(str(one.py_name), default)
        for one in self._idempotency_parameters():
            given[str(one.py_name)] = _make_idempotency_key(tool_context)
        secrets: list[str] = []
        credentials: list[ApiParameter] = []
        agent = f"ostinato/{__version__} (tool: {self.name})"
        headers: dict[str, str] = {"User-Agent": agent.encode("ascii", "replace").decode()}
        for scheme, credential in auth:
            parameter, values = credential_to_param(scheme, credential)
            if parameter is not None and values:
                credentials.append(parameter)
                given |= values
                secrets += map(str, values.values())
            if credential.http is not None:
                headers |= credential.http.additional_headers or {}

        async def load_file(name: str) -> FileContent:
            return await _load_artifact(name, tool_context)

        body = self.operation.raw.get("requestBody")
        parameters = drop_replaced(parameters, credentials)
        builder = RequestBuilder(self.endpoint, body, parameters, load_file)
        request = await builder.build(given)
        known = {name.lower() for name in request.headers}
        for name, value in [*headers.items(), *self._default_headers.items()]:
            if name.lower() not in known:
                known.add(name.lower())
                request.headers[name] = value
        provided = await self._provide_headers(tool_context)
        own = {one.original_name for one in credentials if one.param_location == "header"}
        add_headers(request.headers, provided, own | (headers.keys() - {"User-Agent"}))
        for name, value in request.headers.items():
            check_header(name, value)
        secrets += secrets_of_headers(provided, is_all=True)
        request.secrets = secrets + secrets_of_headers(request.headers)
        request.may_repeat = self.in_doubt == "rerun" and self.in_doubt_check is None
        return request

    async def _provide_headers(self, tool_context: ToolContext | None) -> dict[str, str]:
        """Return the headers of the program's header_provider."""
        if self._header_provider is None or tool_context is None:
            return {}
        return await ask_header_provider(self._header_provider, tool_context)


def snake_to_lower_camel(snake_case_string: str) -> str:
    """Return a name in snake_case as lowerCamelCase; one without underscores stays unchanged."""
    if "_" not in snake_case_string:
        return snake_case_string
    first, *others = snake_case_string.split("_")
    return first.lower() + "".join(one.capitalize() for one in others)


def _read_endpoint(endpoint: Any) -> OperationEndpoint:
    if isinstance(endpoint, str):
        return OperationEndpoint.model_validate_json(endpoint)
    return OperationEndpoint.model_validate(endpoint, from_attributes=True)


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _make_idempotency_key(tool_context: ToolContext | None) -> str:
    """Return a key that is the same whenever this call is run again, in the form of a UUID.

    It is a digest: the call's own key names the user and the session, which stay inside.
    """
    if tool_context is None or not tool_context.function_call_id:
        return new_id()
    digest = hashlib.sha256(tool_context.idempotency_key.encode()).hexdigest()
    parts = digest[:8], digest[8:12], f"8{digest[13:16]}", f"a{digest[17:20]}", digest[20:32]
    return "-".join(parts)


async def _load_artifact(name: str, tool_context: ToolContext | None) -> FileContent:
    """Return an artifact of the call's session.

    Raises:
      ArgumentError: there is no such artifact.
    """
    part = await tool_context.load_artifact(name) if tool_context is not None else None
    if part is None:
        raise ArgumentError(f"There is no artifact {name!r}.")
    if part.inline_data is not None:
        kind = part.inline_data.mime_type or "application/octet-stream"
        return FileContent(name, kind, part.inline_data.data or b"")
    if part.text is not None:
        return FileContent(name, "text/plain; charset=utf-8", part.text.encode())
    raise ArgumentError(f"The artifact {name!r} has no content that can be sent.")

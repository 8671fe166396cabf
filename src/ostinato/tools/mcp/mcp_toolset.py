"""McpToolset: the tools, resources and prompts of one MCP server."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TextIO, TypeVar

from pydantic import ValidationError

from ..._optional import need
from ...auth.auth_tool import AuthConfig
from ...context.readonly import ReadonlyContext
from ...errors import AgentConfigError, NotFoundError
from ...events.tool_origin import ToolOrigin
from ..base_tool import BaseTool
from ..base_toolset import BaseToolset, ToolPredicate
from ..tool_configs import ToolArgsConfig
from .annotations import Conditions, condition_of
from .caller import Callers, HeaderProvider, IdentityProvider
from .connection import McpConnection, ServerCallbacks
from .connection_params import EXTRA
from .errors import McpCallError, McpConnectionError
from .http_client import RequestTrace
from .load_resource_tool import LoadMcpResourceTool
from .mcp_tool import McpTool
from .sampling import SamplingPolicy
from .server_lists import ListKind
from .session_manager import IDLE_SECONDS, MAX_CONNECTIONS, MCPSessionManager
from .tool_listing import list_tools
from .toolset_config import McpToolsetConfig, check_stdio_allowed

if TYPE_CHECKING:
    from ...auth.auth_credential import AuthCredential
    from ...auth.auth_schemes import AuthScheme

T = TypeVar("T")
_MAX_RECONNECTS = 3


class McpToolset(BaseToolset):
    """The tools of an MCP server (google-adk's `McpToolset`; see docs/mcp.md).

    The server's list is read in all its pages and kept until the server announces a change, so a
    run whose tools are known asks the server nothing but its calls.

    Args:
      connection_params: StdioConnectionParams, SseConnectionParams or
        StreamableHTTPConnectionParams; or bare `mcp.StdioServerParameters`.
      tool_filter: names of the tools to offer, or a predicate. Here and in `require_confirmation`
        the server's names and those that models are told count, with and without the prefix.
      tool_name_prefix: put before each tool's name, with an underscore between.
      tool_list_cache_ttl_seconds: how long a list counts; 0 reads it anew in each invocation. By
        default the server's hint counts, else a list counts until the server announces a change,
        and for five minutes if it announces none.
      errlog: where a server on standard input and output writes its errors.
      auth_scheme: how the server authenticates, or None.
      auth_credential: the developer's part of the credential.
      require_confirmation: which calls a person confirms; see `McpTool`.
      header_provider: returns headers for a context, plain or async. Each request has those of its
        own caller.
      progress_callback: `async (progress, total, message)`, or a ProgressCallbackFactory.
      use_mcp_resources: whether the agent may read the server's resources.
      sampling_callback: answers the server's requests for a model's text; the SDK's signature.
      sampling_capabilities: `mcp.types.SamplingCapability` that goes with it.
      sampling: lets the agent's model answer such requests, within limits and after a person's
        consent; by default the server gets no text.
      elicitation_callback: answers the server's questions to the user; the SDK's signature.
      roots_callback: tells the server which folders it may work in; the SDK's signature.
      logging_callback: receives the server's log messages; the SDK's signature.
      credential_key: the credential's key in stores.
      identity: returns whose connection a context uses. By default each user has a connection if
        requests have headers of their own; all users share one otherwise.
      max_connections: connections that may be open in one event loop.
      idle_seconds: after how long without requests a connection is closed.
      defer: tell the model of each tool only once it has searched for it.

    Raises:
      AgentConfigError: there are no connection_params, a limit is not positive, or there are both
        `sampling` and `sampling_callback`.
    """

    def __init__(
        self,
        *,
        connection_params: Any,
        tool_filter: ToolPredicate | list[str] | None = None,
        tool_name_prefix: str | None = None,
        tool_list_cache_ttl_seconds: float | None = None,
        errlog: TextIO | None = None,
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        require_confirmation: Conditions = False,
        header_provider: HeaderProvider | None = None,
        progress_callback: Any = None,
        use_mcp_resources: bool | None = False,
        sampling_callback: Any = None,
        sampling_capabilities: Any = None,
        sampling: SamplingPolicy | None = None,
        elicitation_callback: Any = None,
        roots_callback: Any = None,
        logging_callback: Any = None,
        credential_key: str | None = None,
        identity: IdentityProvider | None = None,
        max_connections: int = MAX_CONNECTIONS,
        idle_seconds: float = IDLE_SECONDS,
        defer: bool = False,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix, defer=defer)
        if sampling is not None and sampling_callback is not None:
            raise AgentConfigError(
                "McpToolset: give either sampling, by which the agent's model answers, or "
                "sampling_callback."
            )
        self._sampling, self._max_age = sampling, tool_list_cache_ttl_seconds
        self._errlog = errlog
        self._manager = MCPSessionManager(
            connection_params,
            errlog or sys.stderr,
            callbacks=ServerCallbacks(
                sampling=sampling_callback,
                sampling_capabilities=sampling_capabilities,
                elicitation=elicitation_callback,
                roots=roots_callback,
                logging=logging_callback,
                log_level="debug" if logging_callback is not None else None,
            ),
            answers_sampling=sampling is not None,
            max_connections=max_connections,
            idle_seconds=idle_seconds,
        )
        self._auth_config = auth_scheme and AuthConfig(
            auth_scheme=auth_scheme,
            raw_auth_credential=auth_credential,
            credential_key=credential_key,
        )
        self._callers = Callers(self._auth_config or None, header_provider, identity)
        self._require_confirmation = require_confirmation
        self._progress_callback = progress_callback
        self._use_mcp_resources = bool(use_mcp_resources)
        # The tools of the newest lists, by the list that they were made of.
        self._made: dict[str, tuple[Sequence[Any], Sequence[McpTool]]] = {}

    @property
    def label(self) -> str:
        """The server's name for messages: its program, or its address."""
        return self._manager.label

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> Self:
        """Make a toolset of the `args` in a file, as `McpToolsetConfig` describes them.

        Raises:
          FieldFault: the file would start a program, and the host does not allow it.
          ValidationError: a field is unknown or invalid.
        """
        read = McpToolsetConfig.model_validate(config.model_dump())
        check_stdio_allowed(read)
        return cls(
            connection_params=read.find_connection(),
            tool_filter=read.tool_filter,
            tool_name_prefix=read.tool_name_prefix,
            tool_list_cache_ttl_seconds=read.tool_list_cache_ttl_seconds,
            auth_scheme=read.auth_scheme,
            auth_credential=read.auth_credential,
            credential_key=read.credential_key,
            use_mcp_resources=read.use_mcp_resources,
        )

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools that the filter lets through, in the order of their names.

        Args:
          readonly_context: the run, for headers and the filter.

        Raises:
          McpConnectionError: the server cannot be reached.
          McpCallError: the server answers with an error, or its list has no end.
        """
        raw, redact = await self._use_connection(
            self._load_tools, "list its tools", readonly_context
        )
        identity = self._callers.identify(readonly_context)
        made = self._made.get(identity)
        if made is None or made[0] is not raw:
            prefix = self.tool_name_prefix or ""
            tools = await list_tools(raw, self._make_tool, self.label, prefix, redact)
            made = self._made[identity] = (raw, tools)
            self._check_settings(tools)
            while len(self._made) > MAX_CONNECTIONS:
                del self._made[next(iter(self._made))]
        selected: list[BaseTool] = [
            tool for tool in made[1] if self._is_tool_selected(tool, readonly_context)
        ]
        if self._use_mcp_resources:
            selected.append(LoadMcpResourceTool(self))
        return selected

    async def list_resources(self, readonly_context: ReadonlyContext | None = None) -> list[str]:
        """Return the names of the server's resources.

        Raises:
          McpConnectionError, McpCallError: as for `get_tools`.
        """
        return [one.name for one in await self._list_items("resources", readonly_context)]

    async def list_resource_infos(
        self, readonly_context: ReadonlyContext | None = None
    ) -> list[dict[str, Any]]:
        """Return what the server says about each resource: `uri`, `name`, `mimeType` and more.

        Raises:
          McpConnectionError, McpCallError: as for `get_tools`.
        """
        found = await self._list_items("resources", readonly_context)
        return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in found]

    async def list_resource_templates(
        self, readonly_context: ReadonlyContext | None = None
    ) -> list[dict[str, Any]]:
        """Return the server's resource templates, with `uriTemplate` and `name` each.

        Raises:
          McpConnectionError, McpCallError: as for `get_tools`.
        """
        found = await self._list_items("templates", readonly_context)
        return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in found]

    async def get_resource_info(
        self, name: str, readonly_context: ReadonlyContext | None = None
    ) -> dict[str, Any]:
        """Return what the server says about a resource: `uri`, `name`, `mimeType` and more.

        Raises:
          NotFoundError: there is no resource of that name.
          McpConnectionError, McpCallError: as for `get_tools`.
        """
        for one in await self._list_items("resources", readonly_context):
            if one.name == name:
                return one.model_dump(mode="json", by_alias=True, exclude_none=True)
        raise NotFoundError(f"MCP server {self.label} has no resource named {name!r}.")

    async def read_resource(
        self, name: str, readonly_context: ReadonlyContext | None = None
    ) -> list[Any]:
        """Return the contents of a resource, with `text` or `blob` each.

        Args:
          name: its name, or its address, which may come from a template.
          readonly_context: the run, for headers.

        Raises:
          NotFoundError: there is no resource of that name.
          McpConnectionError, McpCallError: as for `get_tools`.
        """
        uri = name
        if "://" not in name:
            uri = (await self.get_resource_info(name, readonly_context))["uri"]
        result = await self._ask_server(
            lambda session: session.read_resource(uri), f"read resource {name!r}", readonly_context
        )
        return result.contents

    async def list_prompts(
        self, readonly_context: ReadonlyContext | None = None
    ) -> list[dict[str, Any]]:
        """Return the server's prompts, with `name`, `description` and `arguments` each.

        Raises:
          McpConnectionError, McpCallError: as for `get_tools`.
        """
        found = await self._list_items("prompts", readonly_context)
        return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in found]

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        readonly_context: ReadonlyContext | None = None,
    ) -> Any:
        """Return a prompt with its arguments filled in, as `mcp.types.GetPromptResult`.

        Args:
          name: its name.
          arguments: its arguments.
          readonly_context: the run, for headers.

        Raises:
          McpConnectionError, McpCallError: as for `get_tools`.
        """
        given = {key: str(value) for key, value in (arguments or {}).items()}
        return await self._ask_server(
            lambda session: session.get_prompt(name, given),
            f"get prompt {name!r}",
            readonly_context,
        )

    def is_source_of(self, origin: ToolOrigin) -> bool:
        """Return whether a tool with this origin is one of this server; see `BaseToolset`."""
        if origin.kind != "mcp" or origin.source != self.label:
            return False
        return origin.address in ("", self._manager.address)

    async def close(self) -> None:
        """Close this event loop's connections; the processes of servers that were started end.

        A connection with a request under way, such as that of another Runner, ends after it.
        """
        self._made = {}
        await self._manager.close(ends_calls=False)

    def get_auth_config(self) -> AuthConfig | None:
        """Return the credential that requests need, or None."""
        return self._auth_config or None

    def _names_of(self, tool: BaseTool) -> Iterable[str]:
        """Return the names of a tool: the server's, the one that models take, and with prefix."""
        raw = [tool.raw_mcp_tool.name] if isinstance(tool, McpTool) else []
        return *raw, *super()._names_of(tool)

    def _check_settings(self, tools: Sequence[McpTool]) -> None:
        """Warn of names in the settings that the server's list does not have."""
        if isinstance(self.tool_filter, list):
            self._warn_of_unknown("tool_filter", self.tool_filter, tools)
        conditions = self._require_confirmation
        if not isinstance(conditions, bool) and not callable(conditions):
            self._warn_of_unknown("require_confirmation", conditions, tools)

    def _make_tool(self, raw: Any, name: str) -> McpTool:
        return McpTool(
            mcp_tool=raw,
            mcp_session_manager=self._manager,
            require_confirmation=condition_of(
                self._require_confirmation, (raw.name, name, self._add_prefix(name))
            ),
            progress_callback=self._progress_callback,
            callers=self._callers,
            name=name,
            sampling=self._sampling,
        )

    async def _load_tools(
        self, connection: McpConnection, trace: RequestTrace
    ) -> tuple[Sequence[Any], Callable[[str], str]]:
        """Return the list of tools, and what takes the secrets of its request out of a text."""
        raw = await connection.lists.load(
            "tools",
            lambda work: connection.run(work, trace, self._manager.call_seconds),
            self._max_age,
        )
        return raw, lambda text: connection.redact(text, trace.headers)

    async def _list_items(self, kind: ListKind, context: ReadonlyContext | None) -> Sequence[Any]:
        async def load(connection: McpConnection, trace: RequestTrace) -> Sequence[Any]:
            return await connection.lists.load(
                kind, lambda work: connection.run(work, trace, self._manager.call_seconds)
            )

        return await self._use_connection(load, f"list its {kind}", context)

    async def _ask_server(
        self,
        ask: Callable[[Any], Awaitable[Any]],
        what: str,
        context: ReadonlyContext | None,
    ) -> Any:
        async def run(connection: McpConnection, trace: RequestTrace) -> Any:
            return await connection.run(
                lambda session, _: ask(session), trace, self._manager.call_seconds
            )

        return await self._use_connection(run, what, context)

    async def _use_connection(
        self,
        use: Callable[[McpConnection, RequestTrace], Awaitable[T]],
        what: str,
        context: ReadonlyContext | None,
    ) -> T:
        """Ask the server something that has no effect.

        Raises:
          McpConnectionError: it cannot be reached.
          McpCallError: it answers with an error, or not in time.
        """
        headers = await self._callers.make_headers(context)
        trace = RequestTrace(headers)
        identity = self._callers.identify(context)
        connection = await self._manager.connect(identity, headers)
        try:
            for _ in range(_MAX_RECONNECTS):
                try:
                    return await use(connection, trace)
                except McpConnectionError:
                    if not trace.never_sent or connection.is_open:
                        raise
                    # It made room for another caller before the request was sent.
                    connection = await self._manager.connect(identity, headers)
            return await use(connection, trace)
        except TimeoutError as error:
            problem = f"no answer within {self._manager.call_seconds:g} s"
            raise self._describe_failure(what, problem, trace) from error
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(step) for step in first["loc"])
            problem = f"its answer is not in the format of MCP: {place}: {first['msg']}"
            problem = connection.redact(problem, headers)
            raise self._describe_failure(what, problem, trace) from error
        except need("mcp", extra=EXTRA).MCPError as error:
            if trace.status == 404:
                connection.retire("the server has ended the session")
            problem = connection.redact(trace.fault or str(error.message), headers)[:1_000]
            raise self._describe_failure(what, problem, trace) from error

    def _describe_failure(self, what: str, problem: str, trace: RequestTrace) -> McpCallError:
        if trace.status in (401, 403):
            problem = f"it refuses the credentials (HTTP {trace.status})"
        return McpCallError(
            f"MCP server {self.label} could not {what}: {problem}.", status=trace.status
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_errlog": None, "_made": {}, "_listed": None}


class MCPToolset(McpToolset):
    """The former name of McpToolset."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("MCPToolset is now called McpToolset.", DeprecationWarning, stacklevel=2)
        super().__init__(*args, **kwargs)

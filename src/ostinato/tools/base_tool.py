"""BaseTool: the base of every tool of an agent; the flow calls its `run_async`."""

from __future__ import annotations

import copy
from abc import ABC
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Self, cast, get_args

from .. import types
from ..context.context import Context as ToolContext
from ..errors import AgentConfigError
from ..events.tool_origin import InDoubt, ToolOrigin
from ..models.llm_request import LlmRequest
from .json_fit import check_schema
from .tool_configs import ToolArgsConfig, arguments_for

CheckInDoubt = Callable[[dict[str, Any], Any], Any]


# Calls of these names are the runtime's own.
RESERVED_NAMES = frozenset(
    (
        "adk_request_credential",
        "adk_request_confirmation",
        "adk_request_input",
        "adk_framework",
        "transfer_to_agent",
        "set_model_response",
        "finish_task",
    )
)


def is_reserved_name(name: str) -> bool:
    """Return whether calls of a name are the runtime's own."""
    return name in RESERVED_NAMES or name.startswith("adk_request_")


class BaseTool(ABC):  # noqa: B024 - a tool that only changes the request overrides neither method
    """A tool of an agent (Spec 1 §10, FEATURES row 128).

    Args:
      name: what the model calls it by.
      description: what the model is told about it.
      is_long_running: the result comes later, as a function response of the client.
      custom_metadata: JSON of the developer's, for programs that list tools.
      in_doubt: the policy for a call whose process died while it ran, so that its outcome is
        unknown. `rerun`: run it again with the same `tool_context.idempotency_key`, and mark its
        response event with `custom_metadata["ostinato:rerun"]`. `at_most_once`: tell the model that
        the outcome is unknown. `ask`: ask the user. The default is `rerun`, or `ask` for tools that
        require confirmation.
      check: a plain or async function that takes the call's arguments and the tool context and
        decides instead: a dict is the call's result; None means that it did not take effect, and
        runs it.
      defer: tell the model of the tool only once it has searched for it with `search_tools`.

    Attributes:
      repeatable: whether running a call twice does no harm; such a call is always run again.
      asks_first: whether `run_async` asks the user before it has any effect. It then calls
        `begin_call` of the invocation context itself, once the user has agreed.
      wants_own_agent: whether the tool that `in_own_agent` returns replaces this one beside other
        tools.
      returns_media: whether `split_media` is called for each response.
      has_outside_results: whether others write the results, such as a server. U+FFFD replaces NUL
        in them, which not every store can keep; in a result of the program's own it is an error.
      sends_events: whether the run of a call yields events: those of an agent.
      reports_progress: whether a call may report its progress in the stream of its run.
      keeps_result: whether the log holds results whole whatever the context policy says, because
        the runtime reads them or the tool bounds them.
      copied_from: the tool that this one is a deferred copy of, or None.

    Raises:
      AgentConfigError: `in_doubt` is unknown, or the runtime reserves the name.
    """

    repeatable: ClassVar[bool] = False
    is_long_running: bool = False
    custom_metadata: dict[str, Any] | None = None
    asks_first: bool = False
    wants_own_agent: bool = False
    returns_media: ClassVar[bool] = False
    has_outside_results: ClassVar[bool] = False
    sends_events: ClassVar[bool] = False
    reports_progress: ClassVar[bool] = False
    keeps_result: ClassVar[bool] = False
    defer: bool = False
    copied_from: BaseTool | None = None
    in_doubt: InDoubt = "rerun"
    in_doubt_check: CheckInDoubt | None = None

    def __init__(
        self,
        *,
        name: str,
        description: str,
        is_long_running: bool = False,
        custom_metadata: dict[str, Any] | None = None,
        in_doubt: InDoubt | None = None,
        check: CheckInDoubt | None = None,
        defer: bool = False,
    ) -> None:
        if name.startswith("adk_request_") or name == "adk_framework":
            raise AgentConfigError(
                f"A tool cannot be called {name!r}: the runtime asks people by calls of that name, "
                "and a tool's call would pose as one. Give it another name."
            )
        self.name = name
        self.description = description
        self.is_long_running = is_long_running
        self.custom_metadata = custom_metadata
        if in_doubt is not None:
            if in_doubt not in get_args(InDoubt):
                raise AgentConfigError(
                    f"Tool {name!r}: in_doubt is {in_doubt!r}, but must be one of "
                    f"{', '.join(get_args(InDoubt))}."
                )
            self.in_doubt = in_doubt
        if check is not None:
            self.in_doubt_check = check
        if defer:
            self.defer = True

    @property
    def ignores_unknown(self) -> bool:
        """Whether what reads the arguments drops names that its schema does not have, as classes
        do by default. A person's edit must not have such names."""
        return False

    @property
    def tool_origin(self) -> ToolOrigin | None:
        """Where the tool comes from if it is not code of the program; None for a function."""
        return None

    async def asks_user(self, args: dict[str, Any], tool_context: Any) -> bool:
        """Return whether `run_async` would ask the user before a call, by `require_confirmation`.

        Args:
          args: the arguments of the call.
          tool_context: the call's context.
        """
        return False

    def in_own_agent(self, make_agent: Callable[..., Any]) -> BaseTool:
        """Return the tool that replaces this one beside other tools.

        Args:
          make_agent: makes an agent with the model of the one that has this tool; takes the fields
            of an LlmAgent.
        """
        return self

    def find_origin(self, args: dict[str, Any]) -> ToolOrigin | None:
        """Return `tool_origin` for one call; a tool whose origin depends on arguments overrides it.

        Args:
          args: the call's arguments.
        """
        return self.tool_origin

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> Self:
        """Make a tool of the `args` in a file; a class that needs more overrides this.

        Each argument goes to the parameter of that name. One that takes a function is given what
        the dotted name names; one that takes records is given records.

        Args:
          config: the arguments.
          config_abs_path: the file that they are from.

        Raises:
          AgentFileError: the class takes no such argument.
        """
        return cls(**arguments_for(cls, config))

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        """Return the declaration for the model, or None if the model does not see this tool.

        The record is shared by all requests: never change it.
        """
        return None

    def find_argument_fault(self, args: dict[str, Any]) -> str:
        """Return why arguments that a person edited do not fit the tool; empty if they do.

        Args:
          args: the arguments, by parameter name.
        """
        declaration = self._get_declaration()
        if declaration is None:
            return ""
        schema: Any = declaration.parameters_json_schema
        if schema is None and declaration.parameters is not None:
            schema = declaration.parameters.model_dump(
                mode="json", by_alias=True, exclude_none=True
            )
        if not isinstance(schema, dict):
            return ""
        try:
            given = cast("dict[str, Any]", schema)
            check_schema(args, given, "args", names_all=self.ignores_unknown)
        except ValueError as error:
            return str(error)
        return ""

    def read_arguments(self, args: Mapping[str, Any], names: Collection[str]) -> Any:
        """Return arguments as `run_async` reads them, so that a policy decides on these values too.

        Args:
          args: what the model gave.
          names: the arguments that matter; others may be left out.

        Returns:
          A mapping or pydantic record with the values that differ from those given, defaults
          included; nothing for a tool that takes all of them unchanged, or if they do not fit.
        """
        return None

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run the tool.

        Args:
          args: what the model gave, by parameter name; this call's own copy.
          tool_context: state, actions and services of this call.

        Returns:
          The result; anything but a dict reaches the model as `{"result": value}`.
        """
        raise NotImplementedError(
            f"Tool {self.name!r}: {type(self).__name__} does not implement run_async"
        )

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add this tool to a request before it is sent (Spec 2 §3.9).

        Args:
          tool_context: context of the step.
          llm_request: the request, changed in place.
        """
        llm_request.append_tools([self])

    def split_media(
        self, response: dict[str, Any]
    ) -> tuple[dict[str, Any], list[types.FunctionResponsePart]]:
        """Return a response without its media, and the media as parts of the function response."""
        return response, []

    def copy_as(self, name: str) -> Self:
        """Return a copy of this tool that the model knows by another name."""
        other = copy.copy(self)
        other.name = name

        def get_declaration() -> types.FunctionDeclaration | None:
            declaration = self._get_declaration()
            return declaration and declaration.model_copy(update={"name": name})

        other._get_declaration = get_declaration
        return other


def is_plain_tool(tool: BaseTool) -> bool:
    """Return whether a tool only adds its declaration to a request."""
    # getattr, because mocks of tools keep no methods in their classes.
    edit = getattr(type(tool), "process_llm_request", None)
    return edit is BaseTool.process_llm_request


def describe_origin(tool: BaseTool) -> ToolOrigin:
    """Return where any tool comes from; the policy of a function is that for calls in doubt."""
    return tool.tool_origin or ToolOrigin("function", policy=tool.in_doubt)


def find_outside_origin(tool: BaseTool, args: dict[str, Any]) -> ToolOrigin | None:
    """Return where the tool of a call comes from; None for a function or an agent of the program.

    Args:
      tool: the tool.
      args: the call's arguments.
    """
    try:
        depends = type(tool).find_origin is not BaseTool.find_origin  # a call less if not
    except AttributeError:  # the class of a mock has none
        return None
    origin: Any = tool.find_origin(args) if depends else tool.tool_origin
    # The tool may be a mock.
    return origin if isinstance(origin, ToolOrigin) and not origin.is_own else None

"""FunctionNode: a Python function as a node."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard, cast

from pydantic import BaseModel, PrivateAttr, create_model

from .. import auth, types
from .._aborted_tool import ABORTS, as_tool_error
from .._aclosing import Aclosing
from ..context.context import Context
from ..context.node import BaseNode, RetryConfig
from ..context.readonly import ReadonlyContext
from ..errors import GraphError, NodeError, StateSchemaError
from ..events.event import Event
from ..events.request_input import RequestInput
from ..sessions.state import SCOPED_PREFIXES
from .node_credential import ask_for_credential
from .node_run import Last, plain_model
from .stored_output import is_content
from .values import check_value

if TYPE_CHECKING:
    from ..auth.auth_tool import AuthConfig

_CONTEXTS = frozenset(("ctx", "tool_context"))
_INPUT = "node_input"
_NONE: Any = inspect.Parameter.empty
_UNFILLED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class _Parameter(NamedTuple):
    name: str
    annotation: Any
    default: Any


class FunctionNode(BaseNode):
    """Calls a function, a coroutine function, or a generator function of either kind.

    A parameter called `ctx`, or annotated with a context class, gets the node's context, one called
    `node_input` its input; each other one gets the state key of its name, or, with
    `parameter_binding="node_input"`, the field of that name of the input. Values are fitted to the
    annotations. What the function returns or yields is the node's output, unless it is an Event, a
    Content or a RequestInput.

    A plain function runs on the event loop: one that blocks holds up everything else.

    Args:
      func: the function.
      name: name of the node; that of the function where None.
      rerun_on_resume: as for BaseNode; a function that calls `ctx.run_node` needs it.
      retry_config, timeout, state_schema: as for BaseNode.
      auth_config: credential that the function needs; the user is asked for it before the function
        runs, and `ctx.get_auth_response(auth_config)` gives it. It needs rerun_on_resume.
      parameter_binding: where its parameters come from.

    Raises:
      StateSchemaError: a parameter is not in the state schema.
      GraphError: there is an auth_config, and the node is not run again for it.
    """

    auth_config: Any = None
    parameter_binding: Literal["state", "node_input"] = "state"

    _func: Callable[..., Any] = PrivateAttr()
    _parameters: list[_Parameter] = PrivateAttr(default_factory=list[_Parameter])
    _context_names: list[str] = PrivateAttr(default_factory=list[str])
    _input: _Parameter | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        func: Callable[..., Any],
        name: str | None = None,
        rerun_on_resume: bool = False,
        retry_config: RetryConfig | None = None,
        timeout: float | None = None,
        auth_config: AuthConfig | None = None,
        parameter_binding: Literal["state", "node_input"] = "state",
        state_schema: type[BaseModel] | None = None,
    ) -> None:
        if auth_config is not None and not rerun_on_resume:
            raise GraphError(
                f"FunctionNode {name or name_of(func)!r} with auth_config requires "
                "rerun_on_resume=True: it runs again when the credential is there."
            )
        if auth_config is not None:
            auth_config = auth.AuthConfig.model_validate(auth_config)
        super().__init__(
            name=name or name_of(func),
            rerun_on_resume=rerun_on_resume,
            retry_config=retry_config,
            timeout=timeout,
            auth_config=auth_config,  # pyright: ignore[reportCallIssue]
            parameter_binding=parameter_binding,  # pyright: ignore[reportCallIssue]
            state_schema=state_schema,
        )
        self._func = func
        self.description = inspect.getdoc(func) or ""
        self._read_signature(func)
        if state_schema is not None:
            self.check_state(state_schema)

    def check_state(self, schema: type[BaseModel]) -> None:
        """Raise StateSchemaError where a parameter that comes from the state is not in `schema`."""
        for parameter in self._parameters if self.parameter_binding == "state" else ():
            if parameter.name not in schema.model_fields and parameter.default is _NONE:
                if not parameter.name.startswith(SCOPED_PREFIXES):
                    raise StateSchemaError(
                        f"FunctionNode {self.name!r} parameter {parameter.name!r} is not declared "
                        f"in state_schema {schema.__name__!r}. Declared fields: "
                        f"{list(schema.model_fields)}"
                    )

    def _read_signature(self, func: Callable[..., Any]) -> None:
        hints = _read_hints(func)
        for name, parameter in inspect.signature(func).parameters.items():
            if parameter.kind in _UNFILLED:
                continue
            annotation = hints.get(name, Any)
            one = _Parameter(name, annotation, parameter.default)
            if name in _CONTEXTS or _is_context(annotation):
                self._context_names.append(name)
            elif name == _INPUT:
                self._input = one
            else:
                self._parameters.append(one)
        if self._input is not None and self._input.annotation is not Any:
            if _is_model(self._input.annotation):
                self.input_schema = self._input.annotation
        elif self.parameter_binding == "node_input" and self._parameters:
            self.input_schema = _model_of(self.name, self._parameters).model_json_schema()
        given = hints.get("return")
        if _is_model(given) and not issubclass(given, (Event, RequestInput, types.Content)):
            self.output_schema = given

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        if self.auth_config is not None:
            request = await ask_for_credential(ctx, self.auth_config)
            if request is not None:
                yield request
                return
        arguments = self._read_arguments(ctx, node_input)
        try:
            given = self._func(**arguments)
            if inspect.isasyncgen(given):
                async with Aclosing(given) as items:
                    async for item in items:
                        yield _as_message(item)
                return
            if inspect.isgenerator(given):
                for item in given:
                    yield _as_message(item)
                return
            if inspect.isawaitable(given):
                given = await given
        except ABORTS as abort:
            raise as_tool_error(abort, f"Node {ctx.node_path}") from abort
        yield Last(_as_message(given))

    def _read_arguments(self, ctx: Context, node_input: Any) -> dict[str, Any]:
        found: dict[str, Any] = dict.fromkeys(self._context_names, ctx)
        if self._input is not None:
            found[_INPUT] = self._convert_argument(ctx, self._input, node_input)
        if not self._parameters:
            return found
        source: Any = ctx.state
        if self.parameter_binding == "node_input":
            source = plain_model(node_input)
            if not isinstance(source, Mapping):
                raise NodeError(
                    f"Node {ctx.node_path} takes its parameters from its input, which is no dict "
                    f"but {type(source).__name__}."
                )
        for parameter in self._parameters:
            if parameter.name in source:
                value = cast(Any, source)[parameter.name]
                found[parameter.name] = self._convert_argument(ctx, parameter, value)
            elif parameter.default is _NONE:
                place = "state" if self.parameter_binding == "state" else "the node's input"
                raise NodeError(
                    f'Missing value for parameter "{parameter.name}" of function "{self.name}" in '
                    f"node {ctx.node_path}. It was not found in {place} and has no default value."
                )
        return found

    def _convert_argument(self, ctx: Context, parameter: _Parameter, value: Any) -> Any:
        annotation = parameter.annotation
        if annotation is Any or type(value) is annotation:
            return value
        return check_value(
            value, annotation, f"Parameter {parameter.name!r} of node {ctx.node_path}"
        )


def _as_message(item: Any) -> Any:
    """Return an event for a Content, which a function says; for other nodes it is the output."""
    return Event(content=item) if is_content(item) else item


def name_of(func: Callable[..., Any]) -> str:
    """Return the name of a function, also behind partials; of another callable that of its type."""
    while isinstance(func, functools.partial):
        func = func.func
    return getattr(func, "__name__", type(func).__name__)


def _read_hints(func: Callable[..., Any]) -> dict[str, Any]:
    while isinstance(func, functools.partial):
        func = func.func
    target: Any = func
    if not inspect.isroutine(func):
        target = type(func).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError):  # a type that exists for the type checker only
        found = getattr(target, "__annotations__", {})
        return {
            name: value if not isinstance(value, str) else (Context if "Context" in value else Any)
            for name, value in found.items()
        }


def _is_context(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, ReadonlyContext)


def _is_model(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _model_of(name: str, parameters: list[_Parameter]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        p.name: (p.annotation, ... if p.default is _NONE else p.default) for p in parameters
    }
    return create_model(f"{name}Params", **fields)

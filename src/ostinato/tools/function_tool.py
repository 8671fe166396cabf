"""FunctionTool: a Python function as a tool. Agents wrap the functions among their tools in it."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from .. import types
from .._adk_mode import follows_adk
from ..auth.tool_confirmation import ToolConfirmation
from ..context.context import Context
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..context.run_config import RUN_CONFIG_TEMPLATE, RunConfig
from ..errors import AgentConfigError, ToolTimeoutError
from ..events.pending import make_approval_hint
from ._schema import declaration_of
from .base_tool import BaseTool, CheckInDoubt, InDoubt
from .function.function_signature import (
    Signature,
    find_reading,
    refuse_typed_dicts,
    target_of,
)
from .function.worker_pool import POOL_SIZE, CallTimeout, pool_of
from .model_mistake import ModelMistake

UNCONFIRMED = "This tool call requires confirmation, please approve or reject."
REJECTED = "This tool call is rejected."


def make_rejection(answer: ToolConfirmation) -> dict[str, Any]:
    """Return the response to a rejected call, with the reason if the answer's payload has one."""
    payload: Any = answer.payload
    fields = cast(dict[str, Any], payload) if isinstance(payload, dict) else {}
    reason = fields.get("reason")
    given = isinstance(reason, str) and reason.strip()
    return {"error": REJECTED, "reason": reason} if given else {"error": REJECTED}


class FunctionTool(BaseTool):
    """A function that the model may call (Spec 2 §6.7, FEATURES rows 141 to 146).

    An async generator function is a streaming tool, for live runs: the model is told each thing
    that it yields. Its parameter of type LiveRequestQueue gets what the user sends meanwhile.

    Name, description and parameters are those of the function: its docstring is the description.
    A parameter called `tool_context`, or annotated with a context class, gets the context.

    Plain functions that receive the context run one at a time within an invocation, so that what
    one does between reading and writing state is not disturbed by another. A call that such a
    function makes itself, and waits for, runs within its turn. Coroutine functions, and plain ones
    without the context, run side by side.

    Args:
      func: a function, coroutine function, bound method, partial or object with `__call__`. A
        plain one runs in a worker thread, or on the event loop if `RunConfig.sync_tools` says so.
      require_confirmation: ask the user before each call; or a function, plain or async, that
        takes the call's arguments and returns whether to ask.
      timeout: seconds after which a call is given up. A coroutine is cancelled; a thread
        cannot be killed and is abandoned: it may still write to the state while later calls run.
        A plain function with a timeout always gets a thread. The wait for other functions does not
        count.
      parallel: run a plain function that receives the context side by side with others. It then
        has to guard what it shares with them.
      in_doubt, check: the policy for a call whose process died while it ran, as for BaseTool.

    Raises:
      TypeError: `func` is not callable, or is a plain generator function.
      AgentConfigError: `timeout` is not positive.
    """

    _own_parameters: Collection[str] = ()  # those that the tool fills in, not the model

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        require_confirmation: bool | Callable[..., Any] = False,
        timeout: float | None = None,
        parallel: bool = False,
        in_doubt: InDoubt | None = None,
        check: CheckInDoubt | None = None,
        defer: bool = False,
    ) -> None:
        if not callable(func):
            raise TypeError(f"FunctionTool takes a callable, not {func!r}")
        target = target_of(func)
        name = _name_of(func)
        if inspect.isgeneratorfunction(target):
            raise TypeError(
                f"Tool {name!r} is a generator function, which gives no single result. Return "
                "a value, such as a list of what it yields."
            )
        self._streams = inspect.isasyncgenfunction(target)
        if timeout is not None and timeout <= 0:
            raise AgentConfigError(
                f"Tool {name!r}: timeout is {timeout} s, but must be more than 0; None sets none."
            )
        self.asks_first = require_confirmation is not False
        super().__init__(
            name=name,
            description=_description_of(func),
            in_doubt=in_doubt or ("ask" if self.asks_first else None),
            check=check,
            defer=defer,
        )
        refuse_typed_dicts(func, self.name)
        self.func = func
        self._require_confirmation = require_confirmation
        self._timeout = timeout
        self._parallel = parallel
        self._is_async = inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(target)
        self._signature: Signature | None = None
        self._condition: Signature | None = None
        self._declaration: types.FunctionDeclaration | None = None

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        declaration = self._declaration
        if declaration is None or declaration.name != self.name:
            declaration = self._declare()
            self._declaration = declaration
        return declaration

    def _declare(self) -> types.FunctionDeclaration:
        """Build the declaration, once; subclasses add to it."""
        return declaration_of(self.name, self.description, self._offered_signature())

    def _offered_signature(self) -> Signature:
        """Return the signature without the parameters that the tool fills in itself."""
        signature = self._read_signature()
        if self._own_parameters:
            signature = copy.copy(signature)
            own = self._own_parameters
            signature.parameters = [p for p in signature.parameters if p.name not in own]
        return signature

    def _read_signature(self) -> Signature:
        if self._signature is None:
            self._signature = Signature(self.func, self.name)
        return self._signature

    @property
    def ignores_unknown(self) -> bool:
        """Whether unknown names are dropped: by the function and by the classes of its types."""
        return True

    def find_argument_fault(self, args: dict[str, Any]) -> str:
        """Return why edited arguments do not fit the function; see `BaseTool`.

        A person's typing error in a name is a fault, though a model's is passed over.
        """
        signature = self._offered_signature()
        known = [parameter.name for parameter in signature.parameters]
        unknown = [name for name in args if name not in known]
        if unknown:
            return f"{', '.join(unknown)} is no parameter; there are: {', '.join(known) or 'none'}"
        values = signature.bind_arguments(self.name, args)
        if isinstance(values, ModelMistake):
            return values.message
        return super().find_argument_fault(args)

    def read_arguments(self, args: Mapping[str, Any], names: Collection[str]) -> Any:
        """Return the values that the function gets and that are not as given; see `BaseTool`."""
        signature = self._signature or self._read_signature()
        return signature.read_converted(
            args, names, models_only=follows_adk(), reading=find_reading(self)
        )

    @property
    def sees_answers(self) -> bool:
        """Whether a person's answer reaches the function, or a `run_async` of a subclass."""
        own = type(self).run_async is not FunctionTool.run_async
        return own or self._read_signature().context_name is not None

    def drop_unknown(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that the function takes; the others never reach it.

        Args:
          args: what the model gave.

        Returns:
          All of them for a subclass with a `run_async` of its own, which may read any.
        """
        if type(self).run_async is not FunctionTool.run_async:
            return args
        known = {parameter.name for parameter in self._read_signature().parameters}
        return {name: value for name, value in args.items() if name in known}

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Call the function with the model's arguments.

        Returns:
          What the function returned; or a dict with `error` where an argument is missing or of the
          wrong type, or where the user has yet to confirm the call or has rejected it.

        Raises:
          ToolTimeoutError: the call took longer than `timeout`.
        """
        signature = self._signature or self._read_signature()
        values = signature.bind_arguments(
            self.name, args, models_only=follows_adk(), reading=find_reading(self)
        )
        if isinstance(values, ModelMistake):
            return values
        if signature.context_name is not None:
            values[signature.context_name] = tool_context
        if self._require_confirmation is not False:
            refusal = await self._ask_user(values, tool_context)
            if refusal is not None:
                return refusal
        ctx = _find_invocation(tool_context)
        if self.asks_first and ctx is not None:
            await ctx.begin_call(tool_context.function_call_id, self.name)
        if self._streams or signature.input_name is not None:
            return await self._call_live(values, tool_context, signature.input_name)
        return await self._call(values, ctx)

    async def asks_user(self, args: dict[str, Any], tool_context: Any) -> bool:
        """Return whether the call would ask the user; see `BaseTool`."""
        needed: Any = self._require_confirmation
        if not callable(needed):
            return bool(needed)
        signature = self._read_signature()
        values = signature.bind_arguments(self.name, args, models_only=follows_adk())
        if isinstance(values, ModelMistake):
            return False
        if signature.context_name is not None:
            values[signature.context_name] = tool_context
        return bool(await self._ask_condition(needed, values, tool_context))

    async def _ask_user(
        self, values: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Return the answer that replaces the call, or None to call the function."""
        needed: Any = self._require_confirmation
        if callable(needed):
            needed = await self._ask_condition(needed, values, tool_context)
        if not needed:
            return None
        answer = tool_context.tool_confirmation
        if answer is None:
            tool_context.request_confirmation(hint=make_approval_hint(self.name))
            tool_context.actions.skip_summarization = True
            return {"error": UNCONFIRMED}
        return None if answer.confirmed else make_rejection(answer)

    async def _ask_condition(
        self, condition: Callable[..., Any], values: dict[str, Any], tool_context: ToolContext
    ) -> Any:
        """Call the function that decides on confirmation with those arguments that it takes."""
        if self._condition is None:
            self._condition = Signature(condition, self.name)
        wanted = {parameter.name for parameter in self._condition.parameters}
        kwargs = {name: value for name, value in values.items() if name in wanted}
        if self._condition.context_name is not None:
            kwargs[self._condition.context_name] = tool_context
        result = condition(**kwargs)
        return await result if inspect.isawaitable(result) else result

    async def _call_live(
        self, values: dict[str, Any], tool_context: ToolContext, input_name: str | None
    ) -> Any:
        """Start a tool that streams, or that reads what the user sends."""
        live_state = tool_context.get_invocation_context().live_state
        streams = None if live_state is None else live_state.streams
        if streams is None:
            raise AgentConfigError(
                f"Tool {self.name!r} streams its results or reads the user's stream, which only "
                "Runner.run_live offers. Give agents that run otherwise a tool that returns a "
                "value."
            )
        if input_name is not None:
            values[input_name] = streams.input_of(self.name)
        if self._streams:
            return streams.start(self.name, self.func(**values))
        return await self._call(values, _find_invocation(tool_context))

    async def _call(self, values: dict[str, Any], ctx: InvocationContext | None) -> Any:
        if self._is_async:
            if self._timeout is None:
                return await self.func(**values)
            return await self._call_in_time(values, self._timeout)
        if ctx is None or self._parallel or self._read_signature().context_name is None:
            result = await self._call_plain(values, ctx)
        else:
            result = await ctx.run_state.run_serially(
                functools.partial(self._call_plain, values, ctx)
            )
        # A plain function may hand back a coroutine, as an undeclared wrapper of one does.
        return await result if inspect.isawaitable(result) else result

    async def _call_plain(self, values: dict[str, Any], ctx: InvocationContext | None) -> Any:
        config = None if ctx is None else ctx.run_config
        if config is None or (type(config) is not RunConfig and not _is_real(config, RunConfig)):
            config = RUN_CONFIG_TEMPLATE.create()
        pool_config = config.tool_thread_pool_config
        inline = config.sync_tools == "inline" and pool_config is None
        if inline and self._timeout is None:
            # A copy, as a worker thread has: what the function sets in it does not leak.
            return contextvars.copy_context().run(self.func, **values)
        pool = pool_of(pool_config.max_workers if pool_config else POOL_SIZE)
        try:
            return await pool.run(
                functools.partial(self.func, **values), name=self.name, seconds=self._timeout
            )
        except CallTimeout as error:
            raise self._timeout_error() from error

    async def _call_in_time(self, values: dict[str, Any], seconds: float) -> Any:
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                return await self.func(**values)
        except TimeoutError as error:
            if scope.expired():
                raise self._timeout_error() from error
            raise

    def _timeout_error(self) -> ToolTimeoutError:
        return ToolTimeoutError(
            f"Tool {self.name!r} ran longer than its timeout of {self._timeout} s. Make it "
            "faster, or give it more time: FunctionTool(func, timeout=seconds)."
        )


def _find_invocation(tool_context: ToolContext) -> InvocationContext | None:
    """Return the invocation of a context, or None for a test's substitute of a context."""
    if type(tool_context) is not Context and not _is_real(tool_context, Context):
        return None
    ctx = tool_context.get_invocation_context()
    known = type(ctx) is InvocationContext or _is_real(ctx, InvocationContext)
    return ctx if known else None


def _is_real(value: object, kind: type) -> bool:
    """Return whether a value is of a class; a mock of it says so of itself, to isinstance too."""
    return issubclass(type(value), kind)


def _name_of(func: Callable[..., Any]) -> str:
    while isinstance(func, functools.partial):
        func = func.func
    return getattr(func, "__name__", None) or type(func).__name__


def _description_of(func: Callable[..., Any]) -> str:
    """Return the docstring of a function; of an object, that of its class or of `__call__`."""
    while isinstance(func, functools.partial):
        func = func.func
    return inspect.getdoc(func) or inspect.getdoc(target_of(func)) or ""

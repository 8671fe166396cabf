"""The places where a process may die, and the records of what tools did, for `crash_everywhere`.

Within `instrument` the runtime passes a point before and after each commit, each model call and
each tool body, and each tool body leaves lines in a file that is only appended to. The file is how
effects are counted: a line is there before the body begins, whatever becomes of the process.
"""

from __future__ import annotations

import copy
import functools
import inspect
import json
import logging
import os
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast
from unittest.mock import patch

from pydantic import PrivateAttr

from .._aclosing import Aclosing
from ..agents.llm_agent import LlmAgent
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..flows.llm_flows import functions
from ..models.base_llm import BaseLlm
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..sessions.sqlite_session_service import SqliteSessionService
from ..sessions.store.effect_ledger import EffectSettings
from ..tools import call_doubt
from ..tools.function_tool import FunctionTool
from ..workflow import tool_node
from .global_values import describe_value, is_first_use
from .key_reading import watch_key_readings
from .scenario import Scenario
from .scripted_model import ScriptError, responses
from .started_work import StartedWork

_BODY: ContextVar[Any] = ContextVar("ostinato_crash_body", default=None)
_CACHED = type(functools.cache(len))
_ENVIRONMENT = {"environ", "putenv", "unsetenv"}
# Where the runtime calls a tool; private there, and as near to the tool's own code as possible.
_RUN_BODY, _RUN_CALL, _CALL = "_run_body", "_run_call", "_call"
_WATCHED = ("append", "release", "hand_over", "park", "put_message", "claim_answers")
Replies = dict[tuple[str, int], list[LlmResponse]]


class ProcessKilledError(BaseException):
    """Stands for the death of the process, in the mode that kills none."""


class CrashWorld:
    """One process of a trial: the points that it passes, and the lines that its tools leave.

    Args:
      folder: where the store and the lines are.
      at: number of the point at which it dies, from 1; None for none.
      kills: whether it really dies; else it raises `ProcessKilledError`, and commits nothing more.
      replies: recorded replies of models; those of agents without a script are added.
    """

    def __init__(
        self, folder: Path, at: int | None, *, kills: bool, replies: Replies | None = None
    ) -> None:
        self.folder = folder
        self.points: list[str] = []
        self.replies: Replies = {} if replies is None else replies
        self.is_dead = False
        self._at, self._kills = at, kills
        self._mutex = threading.Lock()

    @property
    def database(self) -> Path:
        """The file of the sessions."""
        return self.folder / "sessions.db"

    def pass_point(self, name: str) -> None:
        """Pass a point; die if it is the one."""
        with self._mutex:
            self.points.append(name)
            self.is_dead = self.is_dead or len(self.points) == self._at
        if self.is_dead:
            if len(self.points) == self._at:
                self.note("died", name=name)
            if self._kills:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ProcessKilledError(name)

    def note(self, kind: str, **facts: Any) -> None:
        """Append a line to the file; it is there when this returns."""
        line = json.dumps({"kind": kind, "pid": os.getpid(), **facts}, default=repr)
        file = os.open(self.folder / "marks", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{line}\n".encode())
        finally:
            os.close(file)

    def read_notes(self) -> list[dict[str, Any]]:
        """Return the lines of all processes, in order."""
        path = self.folder / "marks"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def open_watched_store(world: CrashWorld) -> SqliteSessionService:
    """Return the session store of a trial; each change of it passes a point before and after."""
    service = SqliteSessionService(world.database, synchronous="NORMAL", effects=EffectSettings())

    def watch(name: str) -> Callable[..., Any]:
        inner = getattr(service, name)

        async def pass_points(*args: Any, **kwargs: Any) -> Any:
            what = f"{name}{_describe(args, kwargs)}"
            world.pass_point(f"before {what}")
            result = await inner(*args, **kwargs)
            world.pass_point(f"after {what}")
            return result

        return pass_points

    for name in _WATCHED:
        setattr(service, name, watch(name))
    renew = service.renew

    async def renew_alive(*args: Any, **kwargs: Any) -> Any:
        if world.is_dead:
            raise ProcessKilledError("renew")
        return await renew(*args, **kwargs)

    service.renew = renew_alive  # no point: a thread renews by the clock
    return service


def _describe(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return what an append holds: the author and the calls or responses of its events."""
    events: Any = args[1] if len(args) > 1 else kwargs.get("events", ())
    words: list[str] = []
    for event in cast(Sequence[Event], events) if isinstance(events, (list, tuple)) else ():
        calls = [f"call of {one.name}" for one in event.get_function_calls()]
        answers = [f"response of {one.name}" for one in event.get_function_responses()]
        words += [f"{event.author}: {', '.join([*calls, *answers]) or 'text'}"]
    return f" ({'; '.join(words)})" if words else ""


@contextmanager
def instrument(world: CrashWorld, scenario: Scenario, root: str, probe: bool) -> Generator[None]:
    """Let the runtime of this process pass points and leave lines until the block ends.

    Args:
      world: the process.
      scenario: has the scripts of the models.
      root: name of the root agent.
      probe: look for changes of globals and of state outside of the delta, for threads, and for
        what the scenario names.
    """
    own_model = LlmAgent.canonical_model.fget
    assert own_model is not None

    def replay_model(agent: LlmAgent) -> BaseLlm:
        of_root = scenario.model.get("") if agent.name == root else None
        script = scenario.model.get(agent.name, of_root)
        return _ReplayedModel(world, agent.name, script, lambda: own_model(agent), probe)

    level = logging.root.manager.disable
    with (
        watch_key_readings(lambda call_id: world.note("key", call=call_id)),
        _watch_tools(world, probe),
        patch.object(LlmAgent, "canonical_model", property(replay_model)),
    ):
        logging.disable(logging.ERROR)  # a resume is worth a warning elsewhere
        try:
            yield
        finally:
            logging.disable(level)


@contextmanager
def _watch_tools(world: CrashWorld, probe: bool) -> Generator[None]:
    """Let each tool body pass points and leave lines."""
    begin_call = InvocationContext.begin_call
    begun = set[int]()
    started = StartedWork(
        _BODY.get, lambda run, what: world.note("starts", tool=run.tool.name, what=what)
    )

    def watch(run_body: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def watch_body(run: Any) -> Any:
            token = _BODY.set(run)
            try:
                result = await run_body(run)
                if not _has_plain_body(run.tool) and not run.tool.repeatable:
                    _end(world, run)
            except Exception as error:  # boundary: the tool's error, raised again
                world.note("failed", tool=run.tool.name, error=describe_error(error))
                raise
            finally:
                _BODY.reset(token)
                begun.discard(id(run))
            return result

        return watch_body

    async def watch_begin(ctx: InvocationContext, call_id: str | None, tool_name: str) -> None:
        await begin_call(ctx, call_id, tool_name)
        run = _BODY.get()
        if run is None or run.call.id != call_id or _has_plain_body(run.tool):
            return
        if id(run) not in begun:  # a tool in its body may begin the same call
            begun.add(id(run))
            _begin(world, run)

    resolve = call_doubt.resolve_doubt

    async def watch_check(tool: Any, args: Any, context: Any, policy: Any) -> Any:
        if tool.in_doubt_check is None:
            return await resolve(tool, args, context, policy)
        facts = {"call": context.function_call_id, "tool": tool.name}
        try:
            answer = await resolve(tool, args, context, policy)
        except Exception as error:  # boundary: the error of check=, raised again
            world.note("checked", found=False, error=describe_error(error), **facts)
            raise
        world.note("checked", found=answer is not None, error="", **facts)
        return answer

    with (
        patch.object(call_doubt, "resolve_doubt", watch_check),
        patch.object(functions, _RUN_BODY, watch(getattr(functions, _RUN_BODY))),
        patch.object(tool_node, _RUN_CALL, watch(getattr(tool_node, _RUN_CALL))),
        patch.object(FunctionTool, _CALL, _watch_function(world, started, probe)),
        patch.object(InvocationContext, "begin_call", watch_begin),
        started.watch() if probe else ExitStack(),
    ):
        yield


def _watch_function(world: CrashWorld, started: StartedWork, probe: bool) -> Callable[..., Any]:
    """Return what calls the function of a tool; it leaves lines if the tool is the called one."""
    call_function = getattr(FunctionTool, _CALL)

    async def watch_call(tool: FunctionTool, values: dict[str, Any], ctx: Any) -> Any:
        run = _BODY.get()
        if run is None:
            return await call_function(tool, values, ctx)
        is_call = tool is run.tool and _has_plain_body(tool)
        if is_call:
            _begin(world, run)
        elif tool is not run.tool:  # in the body of the called one, whose call counts
            world.note("nested", tool=run.tool.name, name=tool.name)
        before = _snapshot(tool.func, run) if probe else None
        with started.watch_body(run) if probe else ExitStack():
            result = await call_function(tool, values, ctx)
        if before is not None:
            _note_changes(world, tool, run, before)
        if is_call:
            _end(world, run)
        return result

    return watch_call


def _has_plain_body(tool: Any) -> bool:
    """Return whether a tool's own function is all that a call of it runs."""
    return isinstance(tool, FunctionTool) and type(tool).run_async is FunctionTool.run_async


def describe_error(error: Exception) -> str:
    """Return the class and the text of an error."""
    return f"{type(error).__name__}: {error}"


def _end(world: CrashWorld, run: Any) -> None:
    world.note("end", call=run.call.id, tool=run.tool.name)
    world.pass_point(f"after {run.tool.name}")


def _begin(world: CrashWorld, run: Any) -> None:
    world.pass_point(f"before {run.tool.name}")
    world.note(
        "begin",
        call=run.call.id,
        tool=run.tool.name,
        args=run.args,
        policy=run.tool.in_doubt,
        has_check=run.tool.in_doubt_check is not None,
        is_builtin=getattr(getattr(run.tool, "func", None), "__module__", "").startswith(
            "ostinato."
        ),
    )


class _ReplayedModel(BaseLlm):
    """A model that replies by the position in the conversation: from a script or a recording."""

    _world: Any = PrivateAttr()
    _agent: str = PrivateAttr()
    _script: Any = PrivateAttr()
    _own: Callable[[], BaseLlm] = PrivateAttr()
    _probe: bool = PrivateAttr()

    def __init__(
        self, world: CrashWorld, agent: str, script: Any, own: Callable[[], BaseLlm], probe: bool
    ) -> None:
        super().__init__(model="replayed")
        self._world, self._agent, self._script, self._own = world, agent, script, own
        self._probe = probe

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        world, agent, script = self._world, self._agent, self._script
        position = sum(content.role == "model" for content in llm_request.contents)
        world.pass_point(f"before model of {agent}")
        if self._probe:
            tools = [*llm_request.tools_dict]
            world.note("asked", agent=agent, position=position, tools=tools)
        if script is not None:
            if position >= len(script):
                raise ScriptError(
                    f"the scenario has {len(script)} replies of agent {agent!r}, and one more was "
                    "asked for"
                )
            for response in responses(script[position], stream=stream):
                _check_calls(response, agent, [*llm_request.tools_dict])
                yield response
            return
        known = world.replies.get((agent, position))
        if known is None:
            known = list[LlmResponse]()
            world.replies[agent, position] = known
            async with Aclosing(self._own().generate_content_async(llm_request)) as own:
                async for response in own:
                    known.append(response)
        for response in known:
            yield response.model_copy(deep=True)


def _check_calls(response: LlmResponse, agent: str, tools: Sequence[str]) -> None:
    """Raise ScriptError for a call of a tool that the agent does not have."""
    for part in (response.content and response.content.parts) or ():
        name = part.function_call and part.function_call.name
        if name and name not in tools:
            raise ScriptError(
                f"a reply of agent {agent!r} calls {name!r}, which is no tool of it; "
                f"{suggest(name, tools)}"
            )


def suggest(name: str, known: Sequence[str]) -> str:
    """Return which of the known names may be meant by a wrong one, or all of them."""
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(known) or 'none'}"


def _snapshot(func: Any, run: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the globals that a tool uses, as text, and the session's state."""
    state = run.ctx.session.state
    return _globals_of(func), {key: copy.deepcopy(state[key]) for key in state}


def _globals_of(func: Any) -> dict[str, str]:
    """Return what a tool's function names and a call can change, as text, by what it is.

    That are globals of its module with the attributes of its classes and functions and the misses
    of their caches, variables of its closure, its defaults, and the environment. Of objects of
    other packages, only which they are.
    """
    func = getattr(func, "__func__", func)
    while hasattr(func, "__wrapped__"):
        func = func.__wrapped__
    if not isinstance(func, FunctionType):
        return {}
    found: dict[str, str] = {}
    names = _names_in(func.__code__)
    for name in names & func.__globals__.keys():
        value: Any = func.__globals__[name]
        if isinstance(value, _CACHED):
            found[f"the cache of {name!r} of its module"] = f"{value.cache_info().misses} misses"
        elif isinstance(value, (type, FunctionType)):
            for attribute in _attributes_of(value) if value.__module__ == func.__module__ else ():
                label = f"{f'{name}.{attribute}'!r} of its module"
                found[label] = describe_value(value.__dict__[attribute])
        elif not isinstance(value, ModuleType):
            found[f"{name!r} of its module"] = describe_value(value)
    for name, cell in zip(func.__code__.co_freevars, func.__closure__ or (), strict=False):
        try:
            found[f"{name!r} of its closure"] = describe_value(cell.cell_contents)
        except ValueError:
            continue  # not bound yet
    for name, parameter in inspect.signature(func).parameters.items():
        found[f"the default of its parameter {name!r}"] = describe_value(parameter.default)
    if not names.isdisjoint(_ENVIRONMENT):
        found |= {f"os.environ[{name!r}]": value for name, value in os.environ.items()}
    return found


def _attributes_of(value: Any) -> list[str]:
    """Return the attributes of a class or a function that hold data."""
    attributes: Mapping[str, Any] = value.__dict__
    return [
        name
        for name, held in attributes.items()
        if not name.startswith("__")
        and not isinstance(held, (FunctionType, type, property, classmethod, staticmethod))
    ]


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return names


def _note_changes(
    world: CrashWorld, tool: FunctionTool, run: Any, before: tuple[dict[str, str], dict[str, Any]]
) -> None:
    """Note which globals, and which keys of the state outside of its delta, a tool has changed."""
    now = _globals_of(tool.func)
    for name in dict.fromkeys((*now, *before[0])):
        texts = before[0].get(name), now.get(name)
        if texts[0] != texts[1] and not is_first_use(*texts):
            world.note("global", tool=tool.name, name=name)
    state, delta = run.ctx.session.state, run.context.actions.state_delta
    orders = (getattr(delta, "order", None), run.ctx.run_state.write_order)
    # Calls and branches beside this one have written through deltas of their own.
    written = {*delta}.union(*(order.newest for order in orders if order is not None))
    for key in {*state, *before[1]}:
        changed = key not in before[1] or key not in state or before[1][key] != state[key]
        if changed and key not in written and not key.startswith("temp:"):
            world.note("state", tool=tool.name, name=key)

"""BaseAgent: a node of the agent tree, with hooks around the work of its subclasses."""

import asyncio
import copy
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, final

from pydantic import ConfigDict, Field, SkipValidation, field_validator, model_validator

from .. import types
from .._aclosing import Aclosing, describe_non_generator
from .._adk_mode import follows_adk
from .._lists import to_list
from .._log import get_logger
from ..context.callbacks import CallbackField, as_list, first_answer, plugin_answer
from ..context.context import Context
from ..context.guardrail import Guards, as_guardrails
from ..context.invocation import BaseAgentState as BaseAgentState
from ..context.invocation import InvocationContext
from ..errors import AgentConfigError, CallerError
from ..events.event import Event, path_in_graph, place_in_tree
from ..events.event_actions import EventActions
from ..sessions.log.resume import Resume, agent_waits_for_answer
from ..sessions.state import check_state
from ..telemetry.tracing import span
from ..types.deferred_signature import DeferredSignature
from ..types.record_template import shallow_copy
from ..workflow.agent_node import as_node_context, place_event, wait_for_answers
from ..workflow.node_errors import limit_time
from ._runnable_node import RunnableNode
from .base_agent_config import BaseAgentConfig as BaseAgentConfig
from .base_agent_config import base_fields
from .guarded_live import run_guarded_live
from .guarded_run import run_guarded

if TYPE_CHECKING:
    from .callback_types import AgentCallback, OneOrMore

logger = get_logger(__name__)

AgentState = TypeVar("AgentState", bound=BaseAgentState)
Callback = Callable[..., Any]
BeforeAgentCallback = Callback | list[Callback]
AfterAgentCallback = Callback | list[Callback]


class ConfigType:
    """A class attribute that loads the class of an agent's settings from `ostinato.agents`.

    Args:
      name: the class's name in `ostinato.agents`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return getattr(sys.modules[__package__ or ""], self.name)


class BaseAgent(RunnableNode):
    """Base of all agents (Spec 1 §2, Spec 2 §2.1).

    A subclass overrides `_run_async_impl` and yields events.

    Attributes:
      name: identifier, unique in the tree; not `user`.
      description: what the agent can do; other agents choose by it.
      sub_agents: children; each has one parent only.
      parent_agent: set by the parent.
      before_agent_callback: one callback or several; Content from one replaces the agent's run.
      after_agent_callback: one callback or several; Content from one is added as an event.
      input_guardrails: check the agent's input, before or during its work.
      output_guardrails: check the output of the agent and the agents below it before it is yielded.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    parent_agent: SkipValidation["BaseAgent | None"] = Field(
        default=None, init=False, exclude=True, repr=False
    )
    sub_agents: SkipValidation[list["BaseAgent"]] = Field(
        default_factory=lambda: list["BaseAgent"]()
    )
    if TYPE_CHECKING:
        before_agent_callback: OneOrMore[AgentCallback] = None
        after_agent_callback: OneOrMore[AgentCallback] = None
    else:
        before_agent_callback: CallbackField = None
        after_agent_callback: CallbackField = None
    input_guardrails: SkipValidation[list[Any]] = Field(default_factory=list[Any])
    output_guardrails: SkipValidation[list[Any]] = Field(default_factory=list[Any])

    kind_name: ClassVar[str] = "Agent"
    config_type: ClassVar[Any] = BaseAgentConfig  #: The settings of its file
    __signature__: ClassVar[Any] = DeferredSignature()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "__signature__" not in vars(cls):
            cls.__signature__ = DeferredSignature()

    @field_validator("name", mode="after")
    @classmethod
    def validate_name(cls, value: str) -> str:
        """Return a name, or raise ValueError if an agent cannot have it."""
        if not value.isidentifier():
            raise ValueError(f"Agent name {value!r} must be a valid Python identifier.")
        if value == "user":
            raise ValueError(
                "Agent name cannot be `user`. `user` is reserved for end-user's input."
            )
        return value

    @field_validator("parent_agent", mode="after")
    @classmethod
    def _check_parent(cls, value: Any) -> Any:
        if value is not None and not isinstance(value, BaseAgent):
            raise ValueError(f"parent_agent takes an agent; got {value!r:.80}")
        return value

    @field_validator("sub_agents", mode="before")
    @classmethod
    def _list_sub_agents(cls, value: Any) -> list[Any]:
        return to_list(value, "sub_agents", "agents")

    @field_validator("sub_agents", mode="after")
    @classmethod
    def validate_sub_agents_unique_names(cls, value: list["BaseAgent"]) -> list["BaseAgent"]:
        """Return agents, or raise ValueError if two have the same name."""
        for item in value:
            if not isinstance(item, BaseAgent):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(
                    f"sub_agents takes agents; got {type(item).__name__}: {item!r:.80}"
                )
        names = [agent.name for agent in value]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice and follows_adk():
            if len({*map(id, value)}) < len(value):
                raise ValueError(
                    f"Agent `{twice[0]}` already has a parent agent: it is twice among sub_agents. "
                    "List a copy made with `clone()`."
                )
            logger.warning(
                "Found duplicate sub-agent names: %s. All sub-agents must have unique names: a "
                "transfer by name goes to the first of them.",
                ", ".join(f"`{name}`" for name in twice),
            )
        elif twice:
            raise ValueError(f"Agent names must be unique among sub_agents; twice: {twice}")
        return value

    @field_validator("input_guardrails", "output_guardrails", mode="after")
    @classmethod
    def _check_guardrails(cls, value: Any) -> list[Any]:
        return list(as_guardrails(value))

    @model_validator(mode="after")
    def _become_parent(self) -> Self:
        for sub_agent in self.sub_agents:
            if sub_agent.parent_agent is not None and sub_agent.parent_agent is not self:
                raise ValueError(
                    f"Agent `{sub_agent.name}` already has a parent agent, current parent: "
                    f"`{sub_agent.parent_agent.name}`, trying to add: `{self.name}`. "
                    "Give the second parent a copy made with `clone()`."
                )
        for sub_agent in self.sub_agents:
            sub_agent.parent_agent = self
        return self

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def clone(self, update: Mapping[str, Any] | None = None) -> Self:
        """Return a copy without parent; sub-agents are cloned, too.

        The class's constructor is not called, because it may take other arguments than the fields.

        Args:
          update: fields to change.

        Raises:
          ValueError: a field does not exist, is `parent_agent`, or does not accept its new value.
        """
        changes = dict(update or {})
        if "parent_agent" in changes:
            raise ValueError(
                "Cannot update `parent_agent` field in clone. Put the clone of agent "
                f"{self.name!r} into the sub_agents of its parent."
            )
        unknown = set(changes) - set(type(self).model_fields)
        if unknown:
            raise ValueError(
                f"Cannot update nonexistent fields in {type(self).__name__}: {unknown} (agent "
                f"{self.name!r})"
            )
        fields: dict[str, Any] = {
            name: copy.copy(value)
            for name in type(self).model_fields
            if type(value := getattr(self, name)) in (list, dict)
        }
        if "sub_agents" not in changes:
            changes["sub_agents"] = [agent.clone() for agent in self.sub_agents]
        copied = self.model_copy(update={**fields, **changes, "parent_agent": None})
        for name, value in changes.items():
            self.__pydantic_validator__.validate_assignment(copied, name, value)
        return copied

    @classmethod
    def from_config(cls, config: BaseAgentConfig, config_abs_path: str) -> Self:
        """Create an agent from a file's settings; `config_agent_utils.from_config` reads files.

        Args:
          config: the settings.
          config_abs_path: the file that holds them; paths of sub-agents are relative to it.

        Raises:
          AgentFileError: a setting is invalid; the message names file, line and field.
        """
        fields = base_fields(config, config_abs_path, cls.model_fields)
        return cls(**cls._parse_config(config, config_abs_path, fields))

    @classmethod
    def _parse_config(
        cls, config: Any, config_abs_path: str, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the constructor's arguments; a class with fields of its own adds them.

        Args:
          config: the settings, of the class's `config_type`.
          config_abs_path: the file that holds them.
          kwargs: the arguments of every kind of agent.
        """
        return kwargs

    @classmethod
    def reads_own_settings(cls) -> bool:
        """Return whether the class reads its settings with code from outside of this package."""
        own = (cls.from_config.__module__, cls._parse_config.__module__)
        return any(module.rpartition(".")[0] != __package__ for module in own)

    @property
    def root_agent(self) -> "BaseAgent":
        """The root of the tree this agent is in."""
        agent: BaseAgent = self
        while agent.parent_agent is not None:
            agent = agent.parent_agent
        return agent

    def find_agent(self, name: str) -> "BaseAgent | None":
        """Return this agent or the agent below it with that name, or None."""
        return self if self.name == name else self.find_sub_agent(name)

    def find_sub_agent(self, name: str) -> "BaseAgent | None":
        """Return the agent below this one with that name, or None."""
        for sub_agent in self.sub_agents:
            found = sub_agent.find_agent(name)
            if found is not None:
                return found
        return None

    @property
    def canonical_before_agent_callbacks(self) -> list[Callback]:
        """The before-agent callbacks as a list."""
        return as_list(self.before_agent_callback)

    @property
    def canonical_after_agent_callbacks(self) -> list[Callback]:
        """The after-agent callbacks as a list."""
        return as_list(self.after_agent_callback)

    @final
    def run_async(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent with its callbacks (Spec 2 §2.1).

        Args:
          parent_context: context of the run or of the agent that calls this one.

        Yields:
          The events; each is committed before the agent continues.

        Raises:
          NodeTimeoutError: the run took longer than the agent's `timeout`.
        """
        if self.timeout is None and self.retry_config is None:
            return self.run_attempt(parent_context)
        return _run_limited(self, parent_context)

    @final
    def run_attempt(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent once, without `timeout` and `retry_config`; a graph applies its own.

        Args:
          parent_context: as for `run_async`.
        """
        return self._run_guarded(parent_context, self._run_async_impl, run_guarded)

    @final
    def run_live(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent over a live connection, with its callbacks (Spec 1 §17).

        `timeout` and `retry_config` do not apply to a live conversation.
        """
        return self._run_guarded(parent_context, self._run_live_impl, run_guarded_live)

    def _run_guarded(
        self,
        parent_context: InvocationContext,
        run: Callable[[InvocationContext], AsyncGenerator[Event, None]],
        guard: Callable[..., AsyncGenerator[Event, None]],
    ) -> AsyncGenerator[Event, None]:
        """Return a run under its guardrails; without a wrapper if it has none."""
        hooked = self._run_with_hooks(parent_context, run)
        above = parent_context.run_state.guards
        if not above and not self.input_guardrails and not self.output_guardrails:
            return hooked
        guards = Guards.of(self.name, self)
        if above:  # this agent applies them; agents below must not apply them again
            guards, parent_context.run_state.guards = above + guards, None
        return guard(parent_context.model_copy(update={"agent": self}), guards, hooked)

    async def _run_with_hooks(
        self,
        parent_context: InvocationContext,
        run: Callable[[InvocationContext], AsyncGenerator[Event, None]],
    ) -> AsyncGenerator[Event, None]:
        ctx = self._create_invocation_context(parent_context)
        resume = ctx.run_state.resume
        if resume is not None and self._has_ended(ctx, resume):
            if resume.is_over(ctx.branch):  # its after-agent hooks may not have run
                event = await self._handle_after_agent_callback(ctx)
                if event is not None:
                    yield event
            return
        begun = resume is not None and resume.has_begun(self.name, ctx.branch)
        tracing = span(
            "invoke_agent",
            self.name,
            invocation_id=ctx.invocation_id,
            description=self.description or None,
            branch=ctx.branch,
        )
        tracing.resume()
        error: BaseException | None = None
        try:
            if not begun:
                event = await self._handle_before_agent_callback(ctx)
                for closed in self._close_skipped_calls(ctx) if ctx.end_invocation else ():
                    tracing.suspend()
                    yield closed
                    tracing.resume()
                if event is not None:
                    tracing.suspend()
                    yield event
                    tracing.resume()
            if ctx.end_invocation:
                return
            events = _start(self, run, ctx)
            try:
                async for event in events:
                    tracing.suspend()
                    self._complete_event(ctx, event)
                    yield event
                    tracing.resume()
            finally:
                await events.aclose()
            if ctx.end_invocation:
                return
            event = await self._handle_after_agent_callback(ctx)
            if event is not None:
                tracing.suspend()
                yield event
        except Exception as raised:  # boundary: plugins see an agent's error, and it is raised
            error = raised
            await self._handle_error(ctx, raised)
            raise
        finally:
            tracing.suspend()
            tracing.end(error)

    def _complete_event(self, ctx: InvocationContext, event: Event) -> None:
        """Check an event's state changes, and set the path of its run."""
        if type(event) is not Event and not hasattr(event, "actions"):
            raise AgentConfigError(
                f"Agent {self.name!r} yielded a {type(event).__name__} and not an Event: "
                f"{event!r:.80}"
            )
        if event.actions.state_delta and not event.partial:
            self._check_state(ctx, event)
        path = ctx.run_path
        if path and event.author != "user":  # a path marks a task's answer, not a user's
            place_in_tree(event, path)

    def _check_state(self, ctx: InvocationContext, event: Event) -> None:
        """Check the state changes of this agent's event; agents and nodes below check theirs."""
        schema = ctx.state_schema
        if schema is None or path_in_graph(event):
            return
        if event.author == self.name or self.find_sub_agent(event.author) is None:
            check_state(schema, event.actions.state_delta)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Do the agent's work; subclasses override it."""
        raise NotImplementedError(
            f"Agent {self.name!r}: {type(self).__name__} does not implement _run_async_impl"
        )
        yield

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Do the agent's work over a live connection; subclasses override it."""
        self.check_live()
        return
        yield

    def check_live(self) -> None:
        """Raise NotImplementedError if the agent cannot run over a live connection."""
        if type(self)._run_live_impl is BaseAgent._run_live_impl:
            raise NotImplementedError(
                f"Agent {self.name!r}: {type(self).__name__} does not support live runs. Use "
                "run_async, or an LlmAgent or a SequentialAgent of them."
            )

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Run as a node of a graph: the agent reads the conversation, not the node's input."""
        async with Aclosing(self.run_attempt(as_node_context(ctx, self))) as events:
            async for event in events:
                place_event(ctx, self.name, event)
                yield event
        wait_for_answers(ctx)

    def _create_invocation_context(self, parent_context: InvocationContext) -> InvocationContext:
        """Return the context of this agent; only its own fields differ from the parent's."""
        return shallow_copy(parent_context, agent=self, canonical_tools_cache=None, last_calls={})

    async def _handle_before_agent_callback(self, ctx: InvocationContext) -> Event | None:
        """Run the before-agent hooks; an answer ends this agent's run, state changes are kept."""
        content, context = await self._run_agent_hook(
            ctx, "before_agent_callback", self.canonical_before_agent_callbacks
        )
        if content is not None:
            ctx.end_invocation = True
        return self._hook_event(ctx, content, context)

    def _close_skipped_calls(self, ctx: InvocationContext) -> list[Event]:
        """Return responses to the calls that wait for this run, which a callback has ended."""
        return []

    async def _handle_after_agent_callback(
        self, invocation_context: InvocationContext
    ) -> Event | None:
        """Run the after-agent hooks; an answer is added as an event."""
        content, context = await self._run_agent_hook(
            invocation_context, "after_agent_callback", self.canonical_after_agent_callbacks
        )
        return self._hook_event(invocation_context, content, context)

    async def _run_agent_hook(
        self, ctx: InvocationContext, hook: str, callbacks: list[Callback]
    ) -> tuple[types.Content | None, Context | None]:
        hooks = ctx.plugin_manager
        if not callbacks and not hooks.overrides(hook):
            return None, None
        context = Context(ctx)
        run_plugins = getattr(hooks, f"run_{hook}")
        content = await plugin_answer(
            run_plugins(agent=self, callback_context=context), types.Content, hook, self.name
        )
        if content is None:
            content = await first_answer(
                callbacks, types.Content, hook, self.name, callback_context=context
            )
        return content, context

    def _hook_event(
        self, ctx: InvocationContext, content: types.Content | None, context: Context | None
    ) -> Event | None:
        # As in google-adk, effects other than state are dropped without content.
        if context is None or (content is None and not context.actions.state_delta):
            return None
        event = Event(
            invocation_id=ctx.invocation_id,
            author=self.name,
            branch=ctx.branch,
            content=content,
            actions=context.actions,
        )
        self._complete_event(ctx, event)
        return event

    async def _handle_error(self, ctx: InvocationContext, error: Exception) -> None:
        hooks, noted = ctx.plugin_manager, ctx.run_state.failure
        if noted is None or noted[0] is not error:
            ctx.run_state.failure = error, ctx.run_path, self.name, ctx.branch
        if hooks.overrides("on_agent_error_callback"):
            await hooks.run_on_agent_error_callback(
                agent=self, callback_context=Context(ctx), error=error
            )

    def _load_agent_state(
        self, ctx: InvocationContext, state_type: type[AgentState]
    ) -> AgentState | None:
        """Return this agent's checkpoint in a resumed run, or None."""
        state = ctx.agent_states.get(self.name)
        if state is None:
            return None
        if ctx.run_state.resume is not None:
            ctx.run_state.resume.enter(self.name, ctx.branch)
        return state_type.model_validate(state)

    def _has_ended(self, ctx: InvocationContext, resume: Resume) -> bool:
        """Return whether this agent had finished before the run was interrupted."""
        return resume.take_end(self.name, ctx.branch)

    def _create_agent_state_event(self, ctx: InvocationContext) -> Event:
        """Return the event that stores this agent's checkpoint or its end."""
        actions = EventActions()
        if self.name in ctx.agent_states:
            actions.agent_state = ctx.agent_states[self.name]
        if ctx.end_of_agents.get(self.name):
            actions.end_of_agent = True
        return Event(
            invocation_id=ctx.invocation_id, author=self.name, branch=ctx.branch, actions=actions
        )


async def _run_limited(agent: BaseAgent, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """Run an agent within its `timeout`, and retry it by its `retry_config`.

    An attempt that fails after its first complete event is not retried, as that event is stored.

    Args:
      agent: the agent.
      ctx: the context that the agent is called with.

    Raises:
      NodeTimeoutError: the last attempt took longer than the agent's `timeout`.
      Exception: the exception of the last attempt.
    """
    config, guards, attempt = agent.retry_config, ctx.run_state.guards, 1
    while True:
        events = agent.run_attempt(ctx)
        if agent.timeout is not None:
            events = limit_time(events, agent.timeout, agent.name)
        is_stored = False
        try:
            async with Aclosing(events):
                async for event in events:
                    is_stored = is_stored or not event.partial
                    yield event
            return
        except CallerError:
            raise
        except Exception as error:  # boundary: the agent's retry_config decides what is retried
            pause = config.pause_after(attempt, error) if config and not is_stored else None
            if pause is None:
                raise
            logger.warning("Agent %r failed: %r. Retrying.", agent.name, error)
            close = ctx.services.close_cut_calls
            # A decided call would run once more; its tool may have taken effect.
            for event in close(ctx, error, "", agent.name) if close is not None else ():
                yield event
        await asyncio.sleep(pause)
        attempt += 1
        ctx.run_state.guards = guards  # the first attempt has taken them


def _start(
    agent: BaseAgent,
    run: Callable[[InvocationContext], AsyncGenerator[Event, None]],
    ctx: InvocationContext,
) -> AsyncGenerator[Event, None]:
    """Return the events of an agent's run, whose method may be of any kind in a subclass."""
    events = run(ctx)
    if not hasattr(events, "aclose"):
        name = getattr(run, "__name__", "_run_async_impl")
        method = f"Agent {agent.name!r}: {type(agent).__name__}.{name}"
        raise AgentConfigError(describe_non_generator(events, method, "event"))
    return events


def is_paused(ctx: InvocationContext) -> bool:
    """Return whether the run waits for the answer to a long-running call.

    Shell agents then stop, even if the run is not resumable, because later agents need the answer.
    """
    return agent_waits_for_answer(ctx.log, ctx.invocation_id, ctx.branch, ctx.isolation_scope)

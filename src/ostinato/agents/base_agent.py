"""BaseAgent: a node of the agent tree, with its hooks around what a subclass does."""

import copy
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar, final

from pydantic import ConfigDict, Field, SkipValidation, field_validator, model_validator

from .. import types
from .._aclosing import Aclosing
from .._log import get_logger
from ..context.callbacks import as_list, first_answer, plugin_answer
from ..context.context import Context
from ..context.guardrail import Guards, as_guardrails
from ..context.invocation import BaseAgentState as BaseAgentState
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..events.event_actions import EventActions
from ..sessions._resume import Resume, waits_for_answer
from ..telemetry.tracing import span
from ..types.blank import twin
from ..workflow.agent_node import as_node_context, wait_for_answers
from ._runnable_node import RunnableNode
from .agent_fields import base_fields
from .base_agent_config import BaseAgentConfig as BaseAgentConfig
from .guarded_live import guarded_live
from .guarded_run import guarded

logger = get_logger(__name__)

AgentState = TypeVar("AgentState", bound=BaseAgentState)
Callback = Callable[..., Any]
BeforeAgentCallback = Callback | list[Callback]
AfterAgentCallback = Callback | list[Callback]


class BaseAgent(RunnableNode):
    """Base of all agents (Spec 1 §2, Spec 2 §2.1).

    A subclass overrides `_run_async_impl` and yields events.

    Attributes:
      name: identifier, unique in the tree; not `user`.
      description: what the agent is good for; other agents choose by it.
      sub_agents: children; each has one parent only.
      parent_agent: set by the parent.
      before_agent_callback: one callback or several; Content from one replaces the agent's run.
      after_agent_callback: one callback or several; Content from one is added as an event.
      input_guardrails: check what the agent is told, before or beside its work.
      output_guardrails: check what it and the agents below it say, before anybody sees it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    parent_agent: SkipValidation["BaseAgent | None"] = Field(
        default=None, init=False, exclude=True, repr=False
    )
    sub_agents: SkipValidation[list["BaseAgent"]] = Field(
        default_factory=lambda: list["BaseAgent"]()
    )
    before_agent_callback: Any = None
    after_agent_callback: Any = None
    input_guardrails: SkipValidation[list[Any]] = Field(default_factory=list[Any])
    output_guardrails: SkipValidation[list[Any]] = Field(default_factory=list[Any])

    config_type: ClassVar[Any] = BaseAgentConfig  #: What its file may say

    @field_validator("name", mode="after")
    @classmethod
    def _check_reserved_name(cls, value: str) -> str:
        if value == "user":
            raise ValueError(
                "Agent name cannot be `user`. `user` is reserved for end-user's input."
            )
        return value

    @field_validator("sub_agents", mode="after")
    @classmethod
    def _check_sub_agents(cls, value: list["BaseAgent"]) -> list["BaseAgent"]:
        for item in value:
            if not isinstance(item, BaseAgent):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(
                    f"sub_agents takes agents; got {type(item).__name__}: {item!r:.80}"
                )
        names = [agent.name for agent in value]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"Agent names must be unique among sub_agents; twice: {twice}")
        return value

    @field_validator("input_guardrails", "output_guardrails", mode="after")
    @classmethod
    def _check_guardrails(cls, value: Any) -> list[Any]:
        return list(as_guardrails(value))

    @model_validator(mode="after")
    def _become_parent(self) -> Self:
        for sub_agent in self.sub_agents:
            if sub_agent.parent_agent is not None:
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
        """Return a copy without parent; sub-agents are cloned too.

        Args:
          update: fields to change.

        Raises:
          ValueError: a field does not exist or is `parent_agent`.
        """
        changes = dict(update or {})
        unknown = sorted(set(changes) - set(type(self).model_fields))
        if unknown or "parent_agent" in changes:
            raise ValueError(
                f"Cannot clone agent {self.name!r}: no such field to update: "
                f"{unknown or ['parent_agent']}"
            )
        fields: dict[str, Any] = {
            name: _own(value)
            for name in type(self).model_fields
            if name not in ("parent_agent", "sub_agents")
            for value in (getattr(self, name),)
        }
        if "sub_agents" not in changes:
            changes["sub_agents"] = [agent.clone() for agent in self.sub_agents]
        return type(self)(**{**fields, **changes})

    @classmethod
    def from_config(cls, config: BaseAgentConfig, config_abs_path: str) -> Self:
        """Make an agent of its settings in a file; `config_agent_utils.from_config` reads files.

        Args:
          config: the settings.
          config_abs_path: the file that they are from, where its sub-agents are looked for.

        Raises:
          AgentFileError: something in the file cannot be; it names file, line and field.
        """
        fields = base_fields(config, config_abs_path, cls.model_fields)
        return cls(**cls._parse_config(config, config_abs_path, fields))

    @classmethod
    def _parse_config(
        cls, config: Any, config_abs_path: str, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what the class is constructed with; a class with fields of its own adds them.

        Args:
          config: the settings, of the class's `config_type`.
          config_abs_path: the file that they are from.
          kwargs: what every kind of agent takes.
        """
        return kwargs

    @classmethod
    def reads_own_settings(cls) -> bool:
        """Tell whether the class makes of its settings what only its own code knows."""
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
        """Return this agent or the one below it with that name, or None."""
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
          The events; each is committed before the agent goes on.
        """
        return self._guarded(parent_context, self._run_async_impl, guarded)

    @final
    def run_live(self, parent_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent over a live connection, with its callbacks (Spec 1 §17)."""
        return self._guarded(parent_context, self._run_live_impl, guarded_live)

    def _guarded(
        self,
        parent_context: InvocationContext,
        run: Callable[[InvocationContext], AsyncGenerator[Event, None]],
        guard: Callable[..., AsyncGenerator[Event, None]],
    ) -> AsyncGenerator[Event, None]:
        """Return a run under the guardrails that hold for it; as it is where there are none."""
        hooked = self._run_hooked(parent_context, run)
        above = parent_context.ports.guards
        if not above and not self.input_guardrails and not self.output_guardrails:
            return hooked
        guards = Guards.of(self.name, self)
        if above:  # the run begins here; what runs below passes here too
            guards, parent_context.ports.guards = above + guards, None
        return guard(parent_context.model_copy(update={"agent": self}), guards, hooked)

    async def _run_hooked(
        self,
        parent_context: InvocationContext,
        run: Callable[[InvocationContext], AsyncGenerator[Event, None]],
    ) -> AsyncGenerator[Event, None]:
        ctx = self._create_invocation_context(parent_context)
        resume = ctx.ports.resume
        if resume is not None and self._has_ended(ctx, resume):
            if resume.is_over(ctx.branch):  # its last hooks may not have run
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
                if event is not None:
                    tracing.suspend()
                    yield event
                    tracing.resume()
            if ctx.end_invocation:
                return
            events = run(ctx)
            try:
                async for event in events:
                    tracing.suspend()
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
        except Exception as raised:  # boundary: plugins may note an agent's error, nobody hides it
            error = raised
            await self._handle_error(ctx, raised)
            raise
        finally:
            tracing.suspend()
            tracing.end(error)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Do the agent's work; subclasses override it."""
        raise NotImplementedError(
            f"Agent {self.name!r}: {type(self).__name__} does not implement _run_async_impl"
        )
        yield

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Do the agent's work over a live connection; subclasses override it."""
        raise NotImplementedError(
            f"Agent {self.name!r}: {type(self).__name__} has no live runs; use run_async, or run "
            "an LlmAgent or a SequentialAgent of them live."
        )
        yield

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Run as a node of a graph: the agent reads the conversation, not the node's input."""
        async with Aclosing(self.run_async(as_node_context(ctx, self))) as events:
            async for event in events:
                yield event
        wait_for_answers(ctx)

    def _create_invocation_context(self, parent_context: InvocationContext) -> InvocationContext:
        """Return a context of this agent's own; session, counters and ports are shared."""
        return twin(parent_context, agent=self, canonical_tools_cache=None, last_calls={})

    async def _handle_before_agent_callback(self, ctx: InvocationContext) -> Event | None:
        """Run the before-agent hooks; an answer ends this agent's run, state writes are kept."""
        content, context = await self._run_agent_hook(
            ctx, "before_agent_callback", self.canonical_before_agent_callbacks
        )
        if content is not None:
            ctx.end_invocation = True
        return self._hook_event(ctx, content, context)

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
        if context is None or (content is None and context.actions.is_empty()):
            return None
        return Event(
            invocation_id=ctx.invocation_id,
            author=self.name,
            branch=ctx.branch,
            content=content,
            actions=context.actions,
        )

    async def _handle_error(self, ctx: InvocationContext, error: Exception) -> None:
        hooks = ctx.plugin_manager
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
        if ctx.ports.resume is not None:
            ctx.ports.resume.enter(self.name, ctx.branch)
        return state_type.model_validate(state)

    def _has_ended(self, ctx: InvocationContext, resume: Resume) -> bool:
        """Tell whether an interrupted run had come to this agent's end; it is not run again."""
        return resume.take_end(self.name, ctx.branch)

    def _create_agent_state_event(self, ctx: InvocationContext) -> Event:
        """Return the event that stores this agent's checkpoint, or that it has finished."""
        actions = EventActions()
        if self.name in ctx.agent_states:
            actions.agent_state = ctx.agent_states[self.name]
        if ctx.end_of_agents.get(self.name):
            actions.end_of_agent = True
        return Event(
            invocation_id=ctx.invocation_id, author=self.name, branch=ctx.branch, actions=actions
        )


def _own(value: Any) -> Any:
    """Return a copy of a list or dict, so that a clone may be changed; anything else as it is."""
    return copy.copy(value) if type(value) in (list, dict) else value


def is_paused(ctx: InvocationContext) -> bool:
    """Tell whether the run waits for somebody to answer a long-running call.

    Shell agents then stop, in runs that are not resumable too: what comes next needs the answer.
    """
    return waits_for_answer(ctx.log, ctx.invocation_id, ctx.branch)

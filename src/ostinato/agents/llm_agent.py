"""LlmAgent: an agent that thinks with a model. `Agent` is its short name."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from pydantic import (
    Field,
    PrivateAttr,
    SkipValidation,
    field_validator,
    model_validator,
)

from .. import types
from .._aclosing import Aclosing
from ..context.deps import Deps
from ..context.invocation import InvocationContext
from ..context.readonly import ReadonlyContext
from ..errors import AgentConfigError
from ..events.event import Event
from ..flows.llm_flows import delegation
from ..flows.llm_flows.auto_flow import AutoFlow
from ..flows.llm_flows.base_llm_flow import BaseLlmFlow
from ..flows.llm_flows.single_flow import SingleFlow
from ..models.base_llm import BaseLlm
from ..models.registry import LLMRegistry
from ..sessions._resume import Resume
from ..tools.base_tool import BaseTool
from ..tools.base_toolset import BaseToolset
from ..tools.finish_task_tool import FinishTaskTool
from ..tools.function_tool import FunctionTool
from ..tools.single_turn_tool import SingleTurnTool
from ..tools.task_tool import TaskTool
from ..types.late_field import later
from ..types.like_named import own
from ._llm_hooks import AfterModelCallback as AfterModelCallback
from ._llm_hooks import AfterToolCallback as AfterToolCallback
from ._llm_hooks import BeforeModelCallback as BeforeModelCallback
from ._llm_hooks import BeforeToolCallback as BeforeToolCallback
from ._llm_hooks import LlmHooks
from ._llm_hooks import OnModelErrorCallback as OnModelErrorCallback
from ._llm_hooks import OnToolErrorCallback as OnToolErrorCallback
from ._llm_node import run_as_node
from ._output_reader import OutputReader
from ._typed_agent import Text
from .base_agent import BaseAgent, is_paused
from .config_type import ConfigType
from .llm_agent_fields import llm_fields
from .node_agent import as_agents

if TYPE_CHECKING:
    from ..types import GenerateContentConfig
    from .llm_agent_config import LlmAgentConfig
else:
    GenerateContentConfig = later("GenerateContentConfig")

_CONFIG_REFUSALS = {
    "tools": "Set tools on the agent (LlmAgent.tools), not in generate_content_config.",
    "system_instruction": "Set the agent's instruction (LlmAgent.instruction), not "
    "generate_content_config.system_instruction.",
    "response_schema": "Set output_schema on the agent, not response_schema in the config.",
}


ToolUnion = Callable[..., Any] | BaseTool | BaseToolset
InstructionProvider = Callable[[ReadonlyContext], str | Awaitable[str]]


class LlmAgent(LlmHooks[Deps, Text]):
    """An agent that calls a model and tools in a loop (Spec 1 §2, Spec 4 §1).

    `Agent[Deps, Output]` says to the type checker what it is passed as `deps` and what comes out.

    Attributes:
      model: name or instance; where empty, the nearest ancestor's, else the default model.
      instruction: what to do: text with `{state_key}` in it, or a function of the context.
      static_instruction: fixed system instruction; `instruction` then goes into the conversation.
      global_instruction: instruction for the whole tree; only the root's counts.
      tools: functions, tools and toolsets.
      generate_content_config: generation settings, copied for each request.
      mode: `chat`, the default, talks with the user and hands over by transfers. The agent above
        calls the others like tools: `task` talks with the user until it calls `finish_task`,
        `single_turn` runs once.
      disallow_transfer_to_parent: never hand the conversation back to the parent.
      disallow_transfer_to_peers: never hand it to the parent's other children.
      include_contents: `default` for the whole conversation, `none` for the current turn.
      output_key: state key that keeps the agent's final text or parsed output.
      output_schema: type of the final output, such as a pydantic model.
      planner: plans before it acts.
      code_executor: runs code that the model writes.
      before_model_callback, after_model_callback, on_model_error_callback, before_tool_callback,
        after_tool_callback, on_tool_error_callback: one callback or several.
    """

    DEFAULT_MODEL: ClassVar[str] = "gemini-2.5-flash"
    DEFAULT_LIVE_MODEL: ClassVar[str] = "gemini-live-2.5-flash-native-audio"
    config_type: ClassVar[Any] = ConfigType("LlmAgentConfig")
    _default_model: ClassVar[str | BaseLlm] = DEFAULT_MODEL
    _default_live_model: ClassVar[str | BaseLlm] = DEFAULT_LIVE_MODEL

    model: SkipValidation[str | BaseLlm] = ""
    output_schema: SkipValidation[type[Text] | Any] = None
    instruction: SkipValidation[str | Callable[[ReadonlyContext], Any]] = ""
    global_instruction: SkipValidation[str | Callable[[ReadonlyContext], Any]] = ""
    static_instruction: Any = None
    tools: SkipValidation[list[Any]] = Field(default_factory=list[Any])
    generate_content_config: GenerateContentConfig | None = None
    mode: Literal["chat", "task", "single_turn"] | None = None
    parallel_worker: bool | None = None
    disallow_transfer_to_parent: bool = False
    disallow_transfer_to_peers: bool = False
    include_contents: Literal["default", "none"] = "default"
    output_key: str | None = None
    planner: Any = None
    code_executor: Any = None

    _flow: BaseLlmFlow | None = PrivateAttr(default=None)
    _wrapped: dict[int, FunctionTool] = PrivateAttr(default_factory=dict[int, FunctionTool])
    _apart: dict[int, tuple[BaseTool, BaseTool]] = PrivateAttr(
        default_factory=dict[int, tuple[BaseTool, BaseTool]]
    )
    _resolved_model: tuple[str, BaseLlm] | None = PrivateAttr(default=None)
    _finish_tool: FinishTaskTool | None = PrivateAttr(default=None)
    _delegating: dict[str, TaskTool | SingleTurnTool] = PrivateAttr(
        default_factory=dict[str, TaskTool | SingleTurnTool]
    )
    _output_reader: OutputReader | None = PrivateAttr(default=None)

    _take_nodes = field_validator("sub_agents", mode="before")(as_agents)

    @field_validator("model", mode="before")
    @classmethod
    def _check_model(cls, value: Any) -> Any:
        if not isinstance(value, str | BaseLlm):
            raise ValueError(
                "model takes a model's name or a BaseLlm; "
                f"got {type(value).__name__}: {value!r:.80}"
            )
        return value

    @field_validator("static_instruction", "output_schema", "input_schema", mode="before")
    @classmethod
    def _take_in(cls, value: Any) -> Any:
        return own(value)

    @field_validator("generate_content_config", mode="after")
    @classmethod
    def _check_config(
        cls, value: "types.GenerateContentConfig | None"
    ) -> "types.GenerateContentConfig | None":
        for name, message in _CONFIG_REFUSALS.items():
            if value is not None and getattr(value, name):
                raise ValueError(message)
        return value

    @field_validator("tools", mode="after")
    @classmethod
    def _check_tools(cls, value: list[Any]) -> list[Any]:
        for tool in value:
            if not callable(tool) and not isinstance(tool, BaseTool | BaseToolset):
                raise ValueError(
                    "tools takes functions, BaseTool and BaseToolset objects; "
                    f"got {type(cast(object, tool)).__name__}: {tool!r:.80}"
                )
        return value

    @model_validator(mode="after")
    def _check_mode(self) -> Self:
        if self.parallel_worker:
            raise NotImplementedError(
                f"Agent {self.name!r}: parallel_worker is not built yet in Ostinato; use a "
                "ParallelAgent."
            )
        for sub_agent in self.sub_agents:
            if isinstance(sub_agent, LlmAgent) and sub_agent.mode is None:
                sub_agent.mode = "chat"
        return self

    @classmethod
    def _parse_config(
        cls, config: "LlmAgentConfig", config_abs_path: str, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        return kwargs | llm_fields(config, config_abs_path)

    @classmethod
    def set_default_model(cls, model: str | BaseLlm) -> None:
        """Set the model of agents that name none, for the whole process (FEATURES A.27 X7).

        Raises:
          ValueError: the name is empty.
          TypeError: it is neither a name nor a model.
        """
        LlmAgent._default_model = _checked_default("Default model", model)

    @classmethod
    def set_default_live_model(cls, model: str | BaseLlm) -> None:
        """Set the model that agents without one use in live runs; refusals as above."""
        LlmAgent._default_live_model = _checked_default("Default live model", model)

    @property
    def canonical_model(self) -> BaseLlm:
        """The model: the agent's own, the nearest ancestor's, or the default (Spec 1 §2).

        Raises:
          ModelUnavailableError: there is no adapter, key or extra for it.
        """
        model = self.model
        if model and not isinstance(model, str):
            return model
        return self._resolve_model(self.named_model)

    @property
    def present_model(self) -> BaseLlm | None:
        """The agent's own model object, if it has one by now; a name becomes one on first use."""
        if isinstance(self.model, BaseLlm):
            return self.model
        return self._resolved_model[1] if self._resolved_model is not None else None

    @property
    def canonical_live_model(self) -> BaseLlm:
        """The model of live runs: found like `canonical_model`, with a default of its own.

        Raises:
          ModelUnavailableError: there is no adapter, key or extra for it.
        """
        return self._resolve_model(self._own_model or self._default_live_model)

    @property
    def named_model(self) -> str | BaseLlm:
        """What `canonical_model` is resolved from: a name or an instance."""
        return self._own_model or self._default_model

    @property
    def _own_model(self) -> str | BaseLlm:
        """The agent's model or the nearest ancestor's; empty where none has one."""
        agent: BaseAgent | None = self
        while agent is not None:
            if isinstance(agent, LlmAgent) and agent.model:
                return agent.model
            agent = agent.parent_agent
        return ""

    def _resolve_model(self, wanted: str | BaseLlm) -> BaseLlm:
        if not isinstance(wanted, str):
            return wanted
        if self._resolved_model is None or self._resolved_model[0] != wanted:
            self._resolved_model = (wanted, LLMRegistry.new_llm(wanted))
        return self._resolved_model[1]

    async def canonical_instruction(self, ctx: ReadonlyContext) -> tuple[str, bool]:
        """Return the instruction, and whether it is final: given by a function, not a template."""
        return await _instruction(self.instruction, ctx)

    async def canonical_global_instruction(self, ctx: ReadonlyContext) -> tuple[str, bool]:
        """Return the global instruction, and whether it is final."""
        return await _instruction(self.global_instruction, ctx)

    async def canonical_tools(self, ctx: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools: functions wrapped, toolsets unfolded for this context.

        Args:
          ctx: what toolsets filter by.
        """
        tools: list[BaseTool] = []
        # By its name is slow to find.
        known: dict[int, FunctionTool] = (self.__pydantic_private__ or {})["_wrapped"]
        for tool in self.tools:
            wrapped = known.get(id(tool))
            if wrapped is not None and wrapped.func is tool:
                tools.append(wrapped)
            elif isinstance(tool, BaseTool):
                apart = tool.wants_own_agent and len(self.tools) > 1
                tools.append(self._in_own_agent(tool) if apart else tool)
            elif isinstance(tool, BaseToolset):
                tools.extend(await tool.get_tools_with_prefix(ctx))
            else:
                wrapped = known[id(tool)] = FunctionTool(tool)
                tools.append(wrapped)
        if self.mode == "task":
            tools.append(self.finish_tool)
        tools.extend(self._delegating_tool(agent) for agent in self.delegates.values())
        return tools

    def _in_own_agent(self, tool: BaseTool) -> BaseTool:
        """Return what stands for a tool that is not sent beside others; the same at each call."""
        kept = self._apart.get(id(tool))
        if kept is None or kept[0] is not tool:
            make_agent = partial(LlmAgent, model=self.canonical_model)
            kept = self._apart[id(tool)] = (tool, tool.in_own_agent(make_agent))
        return kept[1]

    @property
    def delegates(self) -> "dict[str, LlmAgent]":
        """The sub-agents that are called like tools, by name (Spec 4 §1)."""
        return {
            agent.name: agent
            for agent in self.sub_agents
            if isinstance(agent, LlmAgent) and agent.mode in ("task", "single_turn")
        }

    @property
    def finish_tool(self) -> FinishTaskTool:
        """The tool with which this agent, in mode `task`, says that it is done."""
        tool = self._finish_tool
        if tool is None or tool.output_schema is not self.output_schema:
            tool = self._finish_tool = FinishTaskTool(self.output_schema)
        return tool

    def _delegating_tool(self, agent: "LlmAgent") -> BaseTool:
        wanted = TaskTool if agent.mode == "task" else SingleTurnTool
        tool = self._delegating.get(agent.name)
        if type(tool) is not wanted or tool.agent is not agent:
            tool = self._delegating[agent.name] = wanted(agent)
        return tool

    @property
    def _llm_flow(self) -> BaseLlmFlow:
        """The loop: with transfers unless there can be none (Spec 2 §2.2)."""
        single = (
            self.disallow_transfer_to_parent
            and self.disallow_transfer_to_peers
            and not self.sub_agents
        )
        wanted = SingleFlow if single else AutoFlow
        flow: BaseLlmFlow | None = (self.__pydantic_private__ or {})["_flow"]
        if flow is None or type(flow) is not wanted:
            flow = self._flow = wanted()
        return flow

    def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Go on with a sub-agent that was interrupted, or run the loop (Spec 2 §2.1, §10.2)."""
        ports = ctx.ports
        if ports.resume is None and ports.journal is None and not ctx.is_resumable:
            if not (self.output_key or self.sub_agents or self.mode == "task"):
                return self._llm_flow.run_async(ctx)  # and nothing is to be noted beside it
        return self._run_noting(ctx)

    async def _run_noting(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run, and note the output and that the agent has ended."""
        sub_agent = self._get_subagent_to_resume(ctx)
        if sub_agent is not None:
            async with Aclosing(sub_agent.run_async(ctx)) as events:
                async for event in events:
                    yield event
        else:
            async with Aclosing(self._llm_flow.run_async(ctx)) as events:
                async for event in events:
                    self._maybe_save_output_to_state(event)
                    yield event
        if delegation.waits(ctx):
            return  # its run is not at its end
        if self.mode == "task" and not delegation.is_done(ctx):
            return  # the task is not done, so neither is its agent
        ports = ctx.ports
        if not ctx.is_resumable and ports.journal is None:
            return  # nobody would read that it has ended
        if is_paused(ctx) or (ports.resume and ports.resume.take_end(self.name, ctx.branch)):
            return
        ctx.set_agent_state(self.name, end_of_agent=True)
        if ctx.is_resumable:
            yield self._create_agent_state_event(ctx)

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Run as a node of a graph, on the node's input (FEATURES A.25)."""
        async with Aclosing(run_as_node(self, ctx, node_input)) as events:
            async for event in events:
                yield event

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the loop over a live connection (Spec 1 §17)."""
        async with Aclosing(self._llm_flow.run_live(ctx)) as events:
            async for event in events:
                self._maybe_save_output_to_state(event)
                yield event

    def _has_ended(self, ctx: InvocationContext, resume: Resume) -> bool:
        """Tell whether an interrupted run had come to this agent's end; see BaseAgent."""
        if not resume.look(self.name, ctx.branch).closed:
            return False
        resume.take(self.name, ctx.branch)
        return True

    def _get_subagent_to_resume(self, ctx: InvocationContext) -> BaseAgent | None:
        """Return the agent that an interrupted run had been transferred to (Spec 2 §10.2)."""
        resume = ctx.ports.resume
        if resume is None:
            return None
        reached = resume.look(self.name, ctx.branch)
        if reached.kind != "transfer" or reached.record is None:
            return None
        resume.take(self.name, ctx.branch)
        target = reached.record.transfer_to_agent or ""
        agent = self.root_agent.find_agent(target)
        if agent is None:
            raise AgentConfigError(
                f"Agent {self.name!r} had transferred to {target!r}, which is no longer in the "
                "agent tree; the invocation cannot be resumed with this tree."
            )
        return agent

    def _maybe_save_output_to_state(self, event: Event) -> None:
        """Put the final output into the event's state delta under `output_key` (Spec 1 §2)."""
        if not self.output_key or event.author != self.name or not event.is_final_response():
            return
        if self.mode == "task":
            return  # its output is what it finishes the task with
        if event.partial or event.content is None or not event.content.parts:
            return
        text = "".join(p.text for p in event.content.parts if p.text and not p.thought)
        if not self.output_schema:
            if text or any(p.text is not None and not p.thought for p in event.content.parts):
                event.actions.state_delta[self.output_key] = text
            return
        if not text.strip() or event.error_code:
            return  # a response that was interrupted, blocked or cut may end without its JSON
        event.actions.state_delta[self.output_key] = self.parse_output(text)

    def parse_output(self, text: str) -> Any:
        """Validate text as the output schema and return it as JSON values.

        Raises:
          ValueError: it does not fit; pydantic's ValidationError, where the schema is a type.
        """
        reader = self._output_reader
        if reader is None or reader.schema is not self.output_schema:
            reader = self._output_reader = OutputReader(self.output_schema, self.name)
        return reader.read(text)


Agent = LlmAgent
set_default_model = LlmAgent.set_default_model


def _checked_default(what: str, model: Any) -> str | BaseLlm:
    if not isinstance(model, str | BaseLlm):
        raise TypeError(f"{what} must be a model name or a BaseLlm.")
    if not model:
        raise ValueError(f"{what} must be a non-empty name.")
    return model


async def _instruction(value: Any, ctx: ReadonlyContext) -> tuple[str, bool]:
    if isinstance(value, str):
        return value, False
    text = value(ctx)
    return (await text if inspect.isawaitable(text) else text), True

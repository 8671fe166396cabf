"""LlmAgent: an agent that runs a model and tools in a loop. `Agent` is its short name."""

import inspect
import json
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from pydantic import (
    BaseModel,
    Field,
    PrivateAttr,
    SkipValidation,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from .. import types
from .._aclosing import Aclosing
from .._lists import to_list
from ..context.callbacks import CallbackField, as_list
from ..context.delegation import in_scope, is_last_word
from ..context.deps import Deps
from ..context.invocation import InvocationContext
from ..context.readonly import ReadonlyContext
from ..context.run_path import enter_transfer
from ..errors import AgentConfigError
from ..events.event import Event
from ..flows.llm_flows import delegation
from ..flows.llm_flows.auto_flow import AutoFlow
from ..flows.llm_flows.base_llm_flow import BaseLlmFlow
from ..flows.llm_flows.resume.decided_calls import close_decided_calls, has_calls_to_finish
from ..flows.llm_flows.single_flow import SingleFlow
from ..models.base_llm import BaseLlm
from ..models.registry import LLMRegistry
from ..sessions.log.event_log import scope_of_node
from ..sessions.log.resume import Resume
from ..tools.base_tool import BaseTool
from ..tools.base_toolset import BaseToolset
from ..tools.finish_task_tool import FinishTaskTool
from ..types.content import extract_text_from_content
from ..types.deferred_type import deferred_type
from ..types.like_named import own
from ..workflow.agent_node import as_node_context, place_event, wait_for_answers
from ..workflow.stored_output import is_content, to_json
from ._typed_agent import Text, TypedAgent
from .agent_tools import AgentTools
from .base_agent import BaseAgent, Callback, ConfigType, is_paused
from .field_checks import check_instruction, check_methods, take_static_instruction
from .llm_agent_fields import llm_fields
from .node_agent import as_agents

if TYPE_CHECKING:
    from ..types import GenerateContentConfig
    from .callback_types import (
        AfterModel,
        AfterTool,
        BeforeModel,
        BeforeTool,
        OneOrMore,
        OnModelError,
        OnToolError,
    )
    from .llm_agent_config import LlmAgentConfig
else:
    GenerateContentConfig = deferred_type("GenerateContentConfig")

_SKIPPED = "A before-agent callback skipped agent {!r}, which waited; the call did not run."
_CONFIG_REFUSALS = {
    "tools": "All tools must be set via LlmAgent.tools.",
    "system_instruction": "System instruction must be set via LlmAgent.instruction.",
    "response_schema": "Response schema must be set via LlmAgent.output_schema.",
}


ToolUnion = Callable[..., Any] | BaseTool | BaseToolset
InstructionProvider = Callable[[ReadonlyContext], str | Awaitable[str]]
BeforeModelCallback = Callback | list[Callback]
AfterModelCallback = Callback | list[Callback]
OnModelErrorCallback = Callback | list[Callback]
BeforeToolCallback = Callback | list[Callback]
AfterToolCallback = Callback | list[Callback]
OnToolErrorCallback = Callback | list[Callback]


class LlmAgent(TypedAgent[Deps, Text]):
    """An agent that calls a model and tools in a loop (Spec 1 §2, Spec 4 §1).

    `Agent[Deps, Output]` tells the type checker the types of `deps` and of the output.

    Attributes:
      model: name or instance; if empty, the nearest ancestor's, else the default model.
      instruction: text with `{state_key}` placeholders, or a function of the context.
      static_instruction: fixed system instruction; `instruction` then goes into the conversation.
      global_instruction: instruction for the whole tree; only the root's counts.
      tools: functions, tools and toolsets.
      generate_content_config: generation settings, copied for each request.
      mode: `chat`, the default, talks with the user and transfers the conversation. The parent
        agent calls the other two like tools: `task` talks with the user until it calls
        `finish_task`, `single_turn` runs once.
      parallel_worker: as a node of a graph, run concurrently for each item of a list.
      disallow_transfer_to_parent: never transfer back to the parent.
      disallow_transfer_to_peers: never transfer to the parent's other children.
      include_contents: `default` for the whole conversation, `none` for the current turn.
      output_key: state key for the agent's final text or parsed output.
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

    if TYPE_CHECKING:
        before_model_callback: OneOrMore[BeforeModel] = None
        after_model_callback: OneOrMore[AfterModel] = None
        on_model_error_callback: OneOrMore[OnModelError] = None
        before_tool_callback: OneOrMore[BeforeTool] = None
        after_tool_callback: OneOrMore[AfterTool] = None
        on_tool_error_callback: OneOrMore[OnToolError] = None
    else:
        before_model_callback: CallbackField = None
        after_model_callback: CallbackField = None
        on_model_error_callback: CallbackField = None
        before_tool_callback: CallbackField = None
        after_tool_callback: CallbackField = None
        on_tool_error_callback: CallbackField = None
    model: SkipValidation[str | BaseLlm] = ""
    output_schema: SkipValidation[type[Text] | Any] = None
    instruction: SkipValidation[str | Callable[[ReadonlyContext], Any]] = ""
    global_instruction: SkipValidation[str | Callable[[ReadonlyContext], Any]] = ""
    static_instruction: Any = None
    tools: SkipValidation[list[ToolUnion]] = Field(default_factory=list[ToolUnion])
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
    _tool_objects: AgentTools = PrivateAttr(default_factory=AgentTools)
    _resolved_model: tuple[str, BaseLlm] | None = PrivateAttr(default=None)
    _output_adapter: tuple[Any, TypeAdapter[Any]] | None = PrivateAttr(default=None)

    _take_nodes = field_validator("sub_agents", mode="before")(as_agents)
    _check_texts = field_validator("instruction", "global_instruction")(check_instruction)
    _take_static = field_validator("static_instruction", mode="before")(take_static_instruction)
    _check_parts = field_validator("planner", "code_executor")(check_methods)

    def __copy__(self) -> Self:
        """Return a shallow copy, which creates its own tools and model from its fields."""
        copied = super().__copy__()
        for name in LlmAgent.__private_attributes__:
            setattr(copied, name, AgentTools() if name == "_tool_objects" else None)
        return copied

    @field_validator("model", mode="before")
    @classmethod
    def _check_model(cls, value: Any) -> Any:
        if not isinstance(value, str | BaseLlm):
            raise ValueError(
                "model takes a model's name or a BaseLlm; "
                f"got {type(value).__name__}: {value!r:.80}"
            )
        return value

    @field_validator("output_schema", "input_schema", mode="before")
    @classmethod
    def _take_in(cls, value: Any) -> Any:
        return own(value)

    @field_validator("output_schema", "input_schema", mode="after")
    @classmethod
    def _check_schema(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str | bytes | int | float | list | tuple | set):
            raise ValueError(
                f"{info.field_name} takes a type, a types.Schema, or a JSON schema as a dict; "
                f"got {type(cast(object, value)).__name__}: {value!r:.80}"
            )
        return value

    @field_validator("generate_content_config", mode="after")
    @classmethod
    def validate_generate_content_config(
        cls, generate_content_config: "types.GenerateContentConfig | None"
    ) -> "types.GenerateContentConfig | None":
        """Return settings, or raise ValueError if the agent has a field for one of them."""
        for name, message in _CONFIG_REFUSALS.items():
            if generate_content_config is not None and getattr(generate_content_config, name):
                raise ValueError(message)
        return generate_content_config

    @field_validator("generate_content_config", mode="before")
    @classmethod
    def _make_config(cls, value: Any) -> Any:
        return types.GenerateContentConfig() if value is None else own(value)

    @field_validator("tools", mode="before")
    @classmethod
    def _check_tools(cls, value: Any) -> Any:
        tools = to_list(value, "tools", "functions, tools and toolsets")
        for tool in tools:
            if not callable(tool) and not isinstance(tool, BaseTool | BaseToolset):
                raise ValueError(
                    "tools takes functions, BaseTool and BaseToolset objects; "
                    f"got {type(tool).__name__}: {tool!r:.80}"
                )
        return tools

    @model_validator(mode="after")
    def _check_mode(self) -> Self:
        for sub_agent in self.sub_agents:
            if isinstance(sub_agent, LlmAgent) and sub_agent.mode is None:
                sub_agent.mode = "chat"
        return self

    @model_validator(mode="after")
    def _check_thinking(self) -> Self:
        config = self.generate_content_config
        if config is not None and config.thinking_config is not None:
            if getattr(self.planner, "thinking_config", None) is not None:
                warnings.warn(
                    f"Agent {self.name!r} has a thinking_config in generate_content_config and "
                    "another in its planner. The planner's is used; remove the other.",
                    UserWarning,
                    stacklevel=3,
                )
        return self

    @classmethod
    def _parse_config(
        cls, config: "LlmAgentConfig", config_abs_path: str, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        return kwargs | llm_fields(config, config_abs_path)

    @classmethod
    def set_default_model(cls, model: str | BaseLlm) -> None:
        """Set the model of agents without one, for the whole process (FEATURES A.27 X7).

        Raises:
          ValueError: the name is empty.
          TypeError: `model` is neither a name nor a model.
        """
        LlmAgent._default_model = _check_default("Default model", model)

    @classmethod
    def set_default_live_model(cls, model: str | BaseLlm) -> None:
        """Set the live model of agents without one; see `set_default_model` for errors."""
        LlmAgent._default_live_model = _check_default("Default live model", model)

    @property
    def canonical_model(self) -> BaseLlm:
        """The model: the agent's own, the nearest ancestor's, or the default (Spec 1 §2).

        Raises:
          ModelUnavailableError: the adapter or extra for it is missing. A missing key raises at
            the first request.
        """
        model: Any = self.model
        # Not by isinstance, which asks a model for its `__class__`.
        if model and not issubclass(type(model), str):
            return model
        owner = self._model_owner
        return owner._resolve_model(owner.model or self._default_model)

    @property
    def present_model(self) -> BaseLlm | None:
        """The model object, or None if the model is a name that was not used yet."""
        owner = self._model_owner
        if isinstance(owner.model, BaseLlm):
            return owner.model
        return owner._resolved_model[1] if owner._resolved_model is not None else None

    @property
    def canonical_live_model(self) -> BaseLlm:
        """The model of live runs: found like `canonical_model`, with a default of its own.

        Raises:
          ModelUnavailableError: the adapter or extra for it is missing.
        """
        owner = self._model_owner
        return owner._resolve_model(owner.model or self._default_live_model)

    @property
    def named_model(self) -> str | BaseLlm:
        """The name or instance that `canonical_model` resolves."""
        return self._model_owner.model or self._default_model

    @property
    def _model_owner(self) -> "LlmAgent[Any, Any]":
        """The agent whose model object this one uses: itself or the nearest ancestor with a model.

        If none has a model it is the topmost, so that all agents of a tree share the default model.
        """
        owner: LlmAgent[Any, Any] = self
        agent = self.parent_agent
        while not owner.model and agent is not None:
            if isinstance(agent, LlmAgent):
                owner = cast("LlmAgent[Any, Any]", agent)
            agent = agent.parent_agent
        return owner

    def _resolve_model(self, wanted: str | BaseLlm) -> BaseLlm:
        if not isinstance(wanted, str):
            return wanted
        if self._resolved_model is None or self._resolved_model[0] != wanted:
            self._resolved_model = (wanted, LLMRegistry.new_llm(wanted))
        return self._resolved_model[1]

    async def canonical_instruction(self, ctx: ReadonlyContext) -> tuple[str, bool]:
        """Return the instruction, and whether a function returned it; then it is not a template."""
        return await _read_instruction(self.instruction, ctx)

    async def canonical_global_instruction(self, ctx: ReadonlyContext) -> tuple[str, bool]:
        """Return the global instruction, and whether a function returned it."""
        return await _read_instruction(self.global_instruction, ctx)

    async def canonical_tools(self, ctx: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools: functions wrapped, toolsets expanded for this context.

        A toolset that cannot list its tools, for instance because its server is down, is logged and
        left out.

        Args:
          ctx: the context that toolsets filter by.
        """
        # Access by attribute is slow for private attributes of pydantic models.
        tool_objects: AgentTools = (self.__pydantic_private__ or {})["_tool_objects"]
        return await tool_objects.list_tools(self, ctx, self._make_agent)

    def _make_agent(self, **fields: Any) -> "LlmAgent":
        """Return a helper agent with the model of this one."""
        return LlmAgent(model=self.canonical_model, **fields)

    @property
    def canonical_before_model_callbacks(self) -> list[Callback]:
        """The before-model callbacks as a list."""
        return as_list(self.before_model_callback)

    @property
    def canonical_after_model_callbacks(self) -> list[Callback]:
        """The after-model callbacks as a list."""
        return as_list(self.after_model_callback)

    @property
    def canonical_on_model_error_callbacks(self) -> list[Callback]:
        """The on-model-error callbacks as a list."""
        return as_list(self.on_model_error_callback)

    @property
    def canonical_before_tool_callbacks(self) -> list[Callback]:
        """The before-tool callbacks as a list."""
        return as_list(self.before_tool_callback)

    @property
    def canonical_after_tool_callbacks(self) -> list[Callback]:
        """The after-tool callbacks as a list."""
        return as_list(self.after_tool_callback)

    @property
    def canonical_on_tool_error_callbacks(self) -> list[Callback]:
        """The on-tool-error callbacks as a list."""
        return as_list(self.on_tool_error_callback)

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
        """The tool by which this agent, in mode `task`, finishes its task."""
        return self._tool_objects.get_finish_tool(self.output_schema)

    @property
    def _llm_flow(self) -> BaseLlmFlow:
        """The loop: with transfers unless none is possible (Spec 2 §2.2)."""
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
        """Resume an interrupted sub-agent, or run the loop (Spec 2 §2.1, §10.2)."""
        state = ctx.run_state
        if state.resume is None and state.journal is None and not ctx.is_resumable:
            if not (self.output_key or self.sub_agents or self.mode == "task"):
                return self._llm_flow.run_async(ctx)  # no checkpoint or output to store
        return self._run_with_checkpoints(ctx)

    async def _run_with_checkpoints(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run, store the output, and record the end of the agent."""
        sub_agent = self._get_subagent_to_resume(ctx)
        if sub_agent is not None:
            if has_calls_to_finish(ctx):
                async with Aclosing(self._llm_flow.finish_calls(ctx)) as events:
                    async for event in events:
                        yield event
            async with Aclosing(sub_agent.run_async(enter_transfer(ctx, sub_agent))) as events:
                async for event in events:
                    yield event
        else:
            async with Aclosing(self._llm_flow.run_async(ctx)) as events:
                async for event in events:
                    self._maybe_save_output_to_state(event)
                    yield event
        if delegation.is_waiting(ctx):
            return  # the run has not ended
        if self.mode == "task" and not delegation.is_done(ctx):
            return  # the task is still open
        state = ctx.run_state
        if not ctx.is_resumable and state.journal is None:
            return  # nothing reads the end of the agent
        if is_paused(ctx) or (state.resume and state.resume.take_end(self.name, ctx.branch)):
            return
        ctx.set_agent_state(self.name, end_of_agent=True)
        if ctx.is_resumable:
            yield self._create_agent_state_event(ctx)

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Run as a node of a graph, on its input; a chat agent reads the conversation instead.

        A task agent talks with the user until it is done; its task's output is the node's output.
        Otherwise the last text is, parsed by the output schema (FEATURES A.25).

        Args:
          ctx: the node's context.
          node_input: the agent's prompt: text, a Content, or any other value as JSON.
        """
        inner = as_node_context(ctx, self)
        if self.mode == "task":
            outer = inner.isolation_scope or inner.invocation_id
            inner.isolation_scope = scope_of_node(outer, ctx.node_path)
        prompt = None if self.mode == "chat" else _as_prompt(node_input)
        if prompt is not None:
            inner.run_state.initial_prompts[inner.isolation_scope or ctx.node_path] = prompt
        run = in_scope(self.run_attempt(inner), inner.isolation_scope)
        async with Aclosing(run) as events:
            async for event in events:
                if self.mode != "task" and is_last_word(event, inner.isolation_scope):
                    event.node_info.message_as_output = True
                    if self.output_schema is not None:
                        ctx.output = self.parse_output(extract_text_from_content(event.content))
                place_event(ctx, self.name, event)
                yield event
        wait_for_answers(ctx)

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the loop over a live connection (Spec 1 §17)."""
        async with Aclosing(self._llm_flow.run_live(ctx)) as events:
            async for event in events:
                self._maybe_save_output_to_state(event)
                yield event

    def _has_ended(self, ctx: InvocationContext, resume: Resume) -> bool:
        """Return whether this agent had finished before the run was interrupted."""
        if not resume.look(self.name, ctx.branch).closed:
            return False
        resume.take(self.name, ctx.branch)
        return True

    def _close_skipped_calls(self, ctx: InvocationContext) -> list[Event]:
        """Return responses to the decided calls that a before-agent callback skips."""
        if not ctx.log.called_long_running(ctx.invocation_id) and not ctx.run_state.is_resumed:
            return []
        return close_decided_calls(ctx, _SKIPPED.format(self.name))

    def _get_subagent_to_resume(self, ctx: InvocationContext) -> BaseAgent | None:
        """Return the agent that an interrupted run had transferred to (Spec 2 §10.2)."""
        resume = ctx.run_state.resume
        if resume is None:
            return None
        resume_point = resume.look(self.name, ctx.branch)
        if resume_point.kind != "transfer" or resume_point.record is None:
            return None
        resume.take(self.name, ctx.branch)
        target = resume_point.record.transfer_to_agent or ""
        agent = self.root_agent.find_agent(target)
        if agent is None:
            raise AgentConfigError(
                f"Agent {self.name!r} had transferred to {target!r}, which is no longer in the "
                "agent tree. Resume the invocation with a tree that has this agent."
            )
        return agent

    def _maybe_save_output_to_state(self, event: Event) -> None:
        """Put the final output into the event's state delta under `output_key` (Spec 1 §2)."""
        if not self.output_key or event.author != self.name or not event.is_final_response():
            return
        if self.mode == "task":
            return  # its output is the argument of finish_task
        if event.partial or event.content is None or not event.content.parts:
            return
        text = "".join(p.text for p in event.content.parts if p.text and not p.thought)
        if not self.output_schema:
            if text or any(p.text is not None and not p.thought for p in event.content.parts):
                event.actions.state_delta[self.output_key] = text
            return
        if not text.strip() or event.error_code:
            return  # an interrupted, blocked or cut-off response may lack its JSON
        event.actions.state_delta[self.output_key] = self.parse_output(text)

    def parse_output(self, text: str) -> Any:
        """Validate text against the output schema and return it as JSON values.

        Raises:
          ValueError: it does not match; pydantic's ValidationError if the schema is a type.
        """
        schema = self.output_schema
        if isinstance(schema, dict | types.Schema):
            return json.loads(text)
        kept = self._output_adapter
        if kept is None or kept[0] is not schema:
            kept = self._output_adapter = (schema, TypeAdapter[Any](schema))
        try:
            value = kept[1].validate_json(text)
        except ValidationError as error:
            error.add_note(
                f"the final output of agent {self.name!r} does not match its output_schema"
            )
            raise
        return kept[1].dump_python(value, exclude_none=True)


Agent = LlmAgent
set_default_model = LlmAgent.set_default_model


def _check_default(what: str, model: Any) -> str | BaseLlm:
    if not isinstance(model, str | BaseLlm):
        raise TypeError(f"{what} must be a model name or a BaseLlm.")
    if not model:
        raise ValueError(f"{what} must be a non-empty name.")
    return model


async def _read_instruction(value: Any, ctx: ReadonlyContext) -> tuple[str, bool]:
    if isinstance(value, str):
        return value, False
    text = value(ctx)
    return (await text if inspect.isawaitable(text) else text), True


def _as_prompt(node_input: Any) -> types.Content | None:
    if node_input is None:
        return None
    if is_content(node_input):
        return own(node_input).model_copy(update={"role": "user"})
    if isinstance(node_input, BaseModel):
        node_input = node_input.model_dump(mode="json")
    if isinstance(node_input, (str, bytes)):
        text = str(node_input)
    else:
        text = json.dumps(
            node_input, default=lambda one: to_json(one) if is_content(one) else str(one)
        )
    return types.Content(role="user", parts=[types.Part(text=text)])

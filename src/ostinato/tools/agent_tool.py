"""AgentTool: another agent as a tool, run in a session of its own.

The runner's `spawn` port runs the agent; an invocation that no runner started gets a new runner.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Mapping
from typing import Any, Self, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from .. import _lazy, sessions, types
from .._aclosing import Aclosing
from .._adk_mode import follows_adk
from ..agent_files.file_reading import current_reading, enter_field
from ..agent_files.references import AgentRefConfig
from ..context._ports import AgentLike
from ..context.context import Context as ToolContext
from ..context.context import invocation_of
from ..context.invocation import InvocationContext
from ..context.services import RunServices
from ..errors import AgentConfigError
from ..events.child_event import child_event
from ..events.event import Event
from ..events.pending import CONFIRMATION, CREDENTIAL
from ..events.request_input import REQUEST_INPUT
from ..events.tool_origin import ToolOrigin
from ..sessions.log.resume import RERUN
from .base_tool import BaseTool
from .function.function_signature import find_reading, read_model, read_record
from .model_mistake import ModelMistake, missing_arguments, read_reasons, wrong_arguments
from .tool_configs import BaseToolConfig, ToolArgsConfig

_RUNNER = "ostinato.runners:Runner"  # as text, because it is above the tools
GROUNDING_KEY = "temp:_adk_grounding_metadata"
# State keys that are not shared with a child: those of the runtime and of one invocation.
_OWN_KEYS = ("_adk", "temp:")
_REQUESTS = (CONFIRMATION, CREDENTIAL, REQUEST_INPUT)


class AgentToolConfig(BaseToolConfig):
    """The `args` of an AgentTool in a file; the fields are as those of AgentTool.

    Attributes:
      agent: the agent, by file or dotted name.
    """

    agent: AgentRefConfig
    skip_summarization: bool = False
    include_plugins: bool = True


class AgentTool(BaseTool):
    """An agent that another agent calls like a function (Spec 1 §10, FEATURES row 129).

    The agent gets a session of its own with a copy of the state, and one message: the argument
    `request`, or the arguments as JSON where the agent has an `input_schema`. The last text it says
    is the result, or the value of that text where it has an `output_schema`. Its changes of the
    state, those of `temp:` keys left aside, and of artifacts go with the response.

    After a crash the agent resumes in the session that it had.

    Args:
      agent: the agent; its name and description become the tool's.
      skip_summarization: let the result stand as the answer, without another model call.
      include_plugins: let the plugins of this run see the agent's run as well.
      propagate_grounding_metadata: put the last grounding metadata of the agent into the state, as
        `temp:_adk_grounding_metadata`.
      stream: show the agent's events in this run's stream while they come, as partial events that
        name the call (`events.child_event`).

    Raises:
      AgentConfigError: `agent` is no agent, but a workflow for instance.
    """

    repeatable = True  # its agent's tools are in the journal of the session that it runs in

    @classmethod
    def populate_name(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Put the name of `data["agent"]` beside it, and return `data`."""
        data["name"] = data["agent"].name
        return data

    def __init__(
        self,
        agent: AgentLike,
        skip_summarization: bool = False,
        *,
        include_plugins: bool = True,
        propagate_grounding_metadata: bool = False,
        stream: bool = False,
    ) -> None:
        super().__init__(name=agent.name, description=agent.description)
        if _is_shell(agent) and not hasattr(agent, "sub_agents"):
            raise AgentConfigError(
                f"AgentTool takes an agent, and {agent.name!r} is a {type(agent).__name__}: list "
                "it in the sub_agents of the agent that is to hand over to it."
            )
        self.agent = agent
        self.skip_summarization = skip_summarization
        self.include_plugins = include_plugins
        self.propagate_grounding_metadata = propagate_grounding_metadata
        self.stream = stream
        self._input_schema = _input_schema_of(agent)
        self._output_schema = _output_schema_of(agent)
        self._output_adapter: TypeAdapter[Any] | None = None
        self._declaration: types.FunctionDeclaration | None = None

    @property
    def tool_origin(self) -> ToolOrigin:
        """The agent that runs."""
        return ToolOrigin("agent", self.agent.name)

    @property
    def ignores_unknown(self) -> bool:
        """Whether unknown names are dropped: the agent gets the fields of its input schema."""
        return True

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> Self:
        """Make the tool, and the agent that the file names; see BaseTool."""
        settings = AgentToolConfig.model_validate(config.model_dump())
        reading = current_reading()
        if reading is None:
            raise AgentConfigError(
                "AgentTool.from_config makes its agent where a file is read; construct "
                "AgentTool(agent=...) in Python."
            )
        with enter_field("agent"):
            agent = reading.build(settings.agent, config_abs_path)
        return cls(
            agent,
            skip_summarization=settings.skip_summarization,
            include_plugins=settings.include_plugins,
        )

    def _get_declaration(self) -> types.FunctionDeclaration:
        if self._declaration is None:
            if self._input_schema is not None:
                schema = self._input_schema.model_json_schema()
            else:
                schema = {
                    "type": "object",
                    "properties": {"request": {"type": "string"}},
                    "required": ["request"],
                }
            self._declaration = types.FunctionDeclaration(
                name=self.name, description=self.description, parameters_json_schema=schema
            )
        return self._declaration

    def read_arguments(self, args: Mapping[str, Any], names: Collection[str]) -> Any:
        """Return the record that the input schema makes of the arguments; see `BaseTool`."""
        return read_record(self._input_schema, args, find_reading(self))

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run the agent to its end.

        Returns:
          The answer; or a dict with `error`, where the arguments do not fit the agent's input
          schema, its answer does not fit the output schema, it ended with an error event, or it
          asked a person, which no caller sees in its session.

        Raises:
          Exception: what the agent's code or its model raised.
        """
        message = self._build_message(args)
        if isinstance(message, ModelMistake):
            return message
        if self.skip_summarization:
            tool_context.actions.skip_summarization = True
        last, failure, asked = await self._run_agent(message, tool_context)
        if last is not None and last.grounding_metadata and self.propagate_grounding_metadata:
            tool_context.state[GROUNDING_KEY] = last.grounding_metadata
        if last is None and failure is not None:
            return {
                "error": f"Agent `{self.name}` failed: {failure.error_code}"
                + (f": {failure.error_message}" if failure.error_message else "")
            }
        text = text_of(last)
        if asked and not text and not follows_adk():
            return {
                "error": f"Agent `{self.name}` {asked} No person sees that, because the agent is "
                "called as a tool. Its call stays without an answer."
            }
        return self._parse_result(text)

    def _build_message(self, args: dict[str, Any]) -> types.Content | ModelMistake:
        """Return the message to the agent, or the mistake to report to the model."""
        if self._input_schema is not None:
            try:
                record = read_model(self._input_schema, args, find_reading(self))
                text = record.model_dump_json(exclude_none=True)
            except ValidationError as error:
                return wrong_arguments(self.name, read_reasons(error))
        elif "request" not in args and follows_adk():
            text = json.dumps(args, ensure_ascii=False)
        elif "request" not in args:
            return missing_arguments(self.name, ("request",))
        else:
            request = args["request"]
            text = request if isinstance(request, str) else json.dumps(request)
        return types.Content(role="user", parts=[types.Part(text=text)])

    async def _run_agent(
        self, message: types.Content, tool_context: ToolContext
    ) -> tuple[Event | None, Event | None, str]:
        """Run the agent, apply its effects, and return its last event with content.

        The second event is the error event that followed it, or None; the text says what it last
        asked a person, or is empty.
        """
        context = invocation_of(tool_context)
        services = context.services
        spawn = (services.spawn if isinstance(services, RunServices) else None) or _spawn_alone
        state = tool_context.state.to_dict()
        last: Event | None = None
        failure: Event | None = None
        asked = ""
        call_id = tool_context.function_call_id or ""
        relay = context.run_state.relays.get(call_id) if self.stream else None
        run = spawn(
            agent=self.agent,
            parent=context,
            call_id=tool_context.function_call_id,
            message=message,
            state={key: value for key, value in state.items() if not key.startswith(_OWN_KEYS)},
            include_plugins=self.include_plugins,
        )
        async with Aclosing(run) as events:
            async for event in events:
                if relay is not None:
                    shown = child_event(
                        event,
                        call_id=call_id,
                        tool=self.name,
                        invocation_id=context.invocation_id,
                        branch=context.branch,
                    )
                    await relay.send(shown)
                if event.partial:
                    continue
                _apply_effects(event, tool_context)
                for call in event.get_function_calls() if event.long_running_tool_ids else ():
                    asked = _describe_question(call) or asked
                if event.content is not None:
                    last, failure = event, None
                elif event.error_code:
                    last, failure = None, event
        return last, failure, asked

    def _parse_result(self, text: str) -> Any:
        schema = self._output_schema
        if schema is None or not text:
            return text
        try:
            if isinstance(schema, (dict, types.Schema)):
                return json.loads(text)
            if self._output_adapter is None:
                self._output_adapter = TypeAdapter(schema)
            adapter = self._output_adapter
            return adapter.dump_python(adapter.validate_json(text), mode="json", exclude_none=True)
        except ValidationError as error:
            found = read_reasons(error)
        except json.JSONDecodeError as error:
            found = [str(error)]
        return ModelMistake(
            error=f"Agent `{self.name}` answered with something that does not fit its output "
            "schema:\n" + "\n".join(found) + "\nYou could retry with a clearer request."
        )


async def _spawn_alone(
    *,
    agent: Any,
    parent: Any,
    call_id: str | None,
    message: types.Content,
    state: dict[str, Any],
    include_plugins: bool,
) -> AsyncGenerator[Event, None]:
    """Run an agent for an invocation that no runner started, such as a test's own or a mock.

    The agent's session, in memory, has the id of the parent's, where its artifacts belong.
    """
    runner = _lazy.load(_RUNNER)(
        agent=agent,
        app_name=parent.app_name,
        plugins=list(parent.plugin_manager.plugins) if include_plugins else None,
        artifact_service=parent.artifact_service,
        session_service=sessions.InMemorySessionService(),
        memory_service=parent.memory_service,
        credential_service=parent.credential_service,
    )
    known = parent.session.id
    session = await runner.session_service.create_session(
        app_name=runner.app_name,
        user_id=parent.user_id,
        session_id=known if isinstance(known, str) else None,
        state=state,
    )
    run = runner.run_async(user_id=session.user_id, session_id=session.id, new_message=message)
    async with Aclosing(run) as events:
        async for event in events:
            yield event


def _describe_question(call: types.FunctionCall) -> str:
    """Return what a request to a person asks for, as the end of a sentence; empty if it is
    another call.
    """
    if call.name not in _REQUESTS:
        return ""
    if call.name != CONFIRMATION:
        return f"asked a person by `{call.name}`."
    asked: dict[str, Any] = (call.args or {}).get("originalFunctionCall") or {}
    return f"made a call of `{asked.get('name')}`, which requires approval by a person."


def _apply_effects(event: Event, tool_context: ToolContext) -> None:
    actions = event.actions
    for key, value in actions.state_delta.items():
        if not key.startswith(_OWN_KEYS):
            tool_context.state[key] = value
    tool_context.actions.artifact_delta.update(actions.artifact_delta)
    repeated = (event.custom_metadata or {}).get(RERUN)
    if repeated:
        state = tool_context.get_invocation_context().run_state
        state.repeated_call_ids.setdefault(tool_context.function_call_id or "", []).extend(repeated)


def text_of(event: Event | None) -> str:
    """Return the text of an event with the code that it ran, without thoughts."""
    if event is None or event.content is None:
        return ""
    texts: list[str] = []
    for part in event.content.parts or ():
        if part.thought:
            continue
        if part.text:
            texts.append(part.text)
        elif part.executable_code is not None and part.executable_code.code:
            texts.append(part.executable_code.code)
        elif part.code_execution_result is not None and part.code_execution_result.output:
            texts.append(part.code_execution_result.output)
    return "\n".join(texts)


def _input_schema_of(agent: Any) -> type[BaseModel] | None:
    """Return an agent's input schema; of a shell, that of the agent it starts with."""
    schema = getattr(agent, "input_schema", None)
    if schema is None and _is_shell(agent) and agent.sub_agents:
        return _input_schema_of(agent.sub_agents[0])
    return schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None


def _output_schema_of(agent: Any) -> Any:
    """Return an agent's output schema; of a shell, that of the agent it ends with."""
    schema = getattr(agent, "output_schema", None)
    if schema is None and _is_shell(agent) and agent.sub_agents:
        return _output_schema_of(agent.sub_agents[-1])
    return schema


def _is_shell(agent: Any) -> bool:
    """Return whether an agent only runs its sub-agents; one with a model answers by itself."""
    return not hasattr(cast(object, type(agent)), "canonical_model")


def copy_grounding(ctx: InvocationContext, event: Event) -> None:
    """Copy the grounding metadata of the last search to the response of the agent that asked.

    Args:
      ctx: the run of that agent.
      event: its response.
    """
    found = ctx.session.state.get(GROUNDING_KEY)
    if found is not None:
        event.grounding_metadata = found

"""Conformance cases: `spec.yaml` with recordings of models and tools, in google-adk's format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ... import types
from ..._aborted_tool import as_code_error
from ..._aclosing import Aclosing
from ..._optional import need
from ...apps.app import App
from ...artifacts.in_memory_artifact_service import InMemoryArtifactService
from ...context.context import Context
from ...errors import InputValidationError
from ...events.event import Event
from ...memory.in_memory_memory_service import InMemoryMemoryService
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ...plugins.base_plugin import BasePlugin
from ...runners import Runner
from ...sessions.in_memory_session_service import InMemorySessionService
from ...sessions.session import Session
from ...tools.agent_tool import AgentTool
from ...tools.base_tool import BaseTool
from .event_comparison import clean_state, compare_events, compare_values
from .recorded_answers import UnrecordedCallError, ask_own_callbacks, describe_failure

SPEC = "spec.yaml"
RECORDINGS = "generated-recordings.yaml"
SESSION = "generated-session.yaml"
USER = "adk_conformance_test_user"
_STRICT = ConfigDict(extra="forbid", defer_build=True)
_REQUEST_NOISE = {"config": {"http_options", "labels"}, "live_connect_config": True}


class UserMessage(BaseModel):
    """A message of the user: `text` or `content`, and a change of the state with it."""

    model_config = _STRICT

    text: str | None = None
    content: types.Content | None = None
    state_delta: dict[str, Any] | None = None


class CaseSpec(BaseModel):
    """What a case tests, as a person wrote it.

    Attributes:
      description: what it shows.
      agent: the name of the agent's folder.
      initial_state: the state of the session.
      user_messages: the messages.
    """

    model_config = _STRICT

    description: str
    agent: str
    initial_state: dict[str, Any] = Field(default_factory=dict[str, Any])
    user_messages: list[UserMessage] = Field(default_factory=list[UserMessage])


class LlmRecording(BaseModel):
    """A request to a model, and the responses."""

    model_config = _STRICT

    llm_request: LlmRequest | None = None
    llm_responses: list[LlmResponse] | None = None


class ToolRecording(BaseModel):
    """A call of a tool, and the response."""

    model_config = _STRICT

    tool_call: types.FunctionCall | None = None
    tool_response: types.FunctionResponse | None = None


class Recording(BaseModel):
    """One request of an agent, to its model or to a tool."""

    model_config = _STRICT

    user_message_index: int
    agent_name: str
    llm_recording: LlmRecording | None = None
    tool_recording: ToolRecording | None = None


class Recordings(BaseModel):
    """All requests of a case, in order."""

    model_config = _STRICT

    recordings: list[Recording] = Field(default_factory=list[Recording])


class CaseRecorder(BasePlugin):
    """Records the requests of agents.

    Attributes:
      recordings: the requests so far.
      message: index of the user's message that runs.
    """

    def __init__(self) -> None:
        super().__init__(name="ostinato_conformance_recorder")
        self.recordings = Recordings()
        self.message = 0
        self._asked: dict[str, LlmRecording] = {}
        self._called: dict[str, ToolRecording] = {}

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> None:
        """Record a request to a model."""
        made = LlmRecording(llm_request=llm_request.model_copy(deep=True), llm_responses=[])
        self._asked[callback_context.agent_name] = made
        self._add(callback_context, llm_recording=made)

    async def after_model_callback(
        self, *, callback_context: Context, llm_response: LlmResponse
    ) -> None:
        """Record a response."""
        made = self._asked.get(callback_context.agent_name)
        if made is not None and made.llm_responses is not None:
            made.llm_responses.append(llm_response.model_copy(deep=True))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> None:
        """Record a call of a tool."""
        call_id = tool_context.function_call_id
        call = types.FunctionCall(id=call_id, name=tool.name, args=dict(tool_args))
        made = self._called[call_id or ""] = ToolRecording(tool_call=call)
        self._add(tool_context, tool_recording=made)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, result: Any
    ) -> None:
        """Record the response of a tool."""
        call_id = tool_context.function_call_id
        response = cast(dict[str, Any], result) if isinstance(result, dict) else {"result": result}
        answer = types.FunctionResponse(id=call_id, name=tool.name, response=response)
        self._called[call_id or ""].tool_response = answer

    def _add(self, context: Context, **made: Any) -> None:
        self.recordings.recordings.append(
            Recording(user_message_index=self.message, agent_name=context.agent_name, **made)
        )


class CasePlayer(BasePlugin):
    """Answers the requests of agents from recordings, and checks that they are the recorded ones.

    Tools run for what they do to the state; the recorded response counts.

    Args:
      recordings: the recordings.

    Attributes:
      message: index of the user's message that runs.
    """

    def __init__(self, recordings: Recordings) -> None:
        super().__init__(name="ostinato_conformance_player")
        self.message = 0
        self._left = list(recordings.recordings)

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> LlmResponse:
        """Return the recorded response.

        Raises:
          UnrecordedCallError: the request was not recorded, or differs.
        """
        name = callback_context.agent_name
        own = await ask_own_callbacks(callback_context, llm_request)
        if own is not None:
            return own
        found = self._take(name, "llm_recording").llm_recording
        if found is None or not found.llm_responses:
            raise UnrecordedCallError(f"The recording of agent {name!r} has no response.")
        if found.llm_request is not None:
            lines = compare_values(_read_request(llm_request), _read_request(found.llm_request))
            if lines:
                raise UnrecordedCallError(
                    f"Agent {name!r} asks its model another thing:\n" + "\n".join(lines)
                )
        return found.llm_responses[-1].model_copy(deep=True)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> dict[str, Any] | None:
        """Run the tool, and return the recorded response.

        Raises:
          UnrecordedCallError: the call was not recorded, or differs.
        """
        name = tool_context.agent_name
        found = self._take(name, "tool_recording").tool_recording
        call = found.tool_call if found is not None else None
        if found is None or call is None or (call.name, call.args or {}) != (tool.name, tool_args):
            recorded = "nothing" if call is None else f"{call.name}({call.args})"
            raise UnrecordedCallError(
                f"Agent {name!r} calls {tool.name}({tool_args}); {recorded} was recorded."
            )
        if not isinstance(tool, AgentTool):
            await tool.run_async(args=tool_args, tool_context=tool_context)
        return found.tool_response.response if found.tool_response is not None else None

    def count_left(self) -> int:
        """Return how many recordings were not asked for."""
        return len(self._left)

    def _take(self, agent: str, kind: str) -> Recording:
        for one in self._left:
            if (one.user_message_index, one.agent_name) == (self.message, agent):
                if getattr(one, kind) is not None:
                    self._left.remove(one)
                    return one
        what = "its model" if kind == "llm_recording" else "a tool"
        raise UnrecordedCallError(
            f"Agent {agent!r} asks {what} more often than was recorded for message {self.message}."
        )


def _read_request(request: LlmRequest) -> dict[str, Any]:
    """Return a request without ids and settings that do not concern the model's answer."""
    shown = request.model_dump(
        mode="json",
        exclude_none=True,
        exclude_defaults=True,
        include={"model", "contents", "config"},
        exclude=cast(Any, _REQUEST_NOISE),
        fallback=str,
    )
    for content in cast(list[dict[str, Any]], shown.get("contents") or []):
        for part in cast(list[dict[str, Any]], content.get("parts") or []):
            part.pop("thought_signature", None)
            for name in ("function_call", "function_response"):
                if isinstance(part.get(name), dict):
                    part[name].pop("id", None)
    return shown


def find_cases(folders: list[Path]) -> list[Path]:
    """Return the folders of cases below folders, by category and name.

    Args:
      folders: where to look.
    """
    found = {file.parent for folder in folders for file in folder.rglob(SPEC)}
    return sorted(found, key=lambda one: (one.parent.name, one.name))


def read_case(folder: Path) -> CaseSpec:
    """Return the specification of a case.

    Args:
      folder: the folder of the case.

    Raises:
      InputValidationError: the file is not valid.
      MissingExtraError: the extra `yaml` is not installed.
    """
    return read_yaml_record(folder / SPEC, CaseSpec)


def read_yaml_record(file: Path, record: type[Any]) -> Any:
    """Return a record in a YAML file.

    Args:
      file: the file.
      record: the class of the record.

    Raises:
      InputValidationError: the file does not hold such a record.
      MissingExtraError: the extra `yaml` is not installed.
    """
    yaml = need("yaml", extra="yaml")
    try:
        return record.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")) or {})
    except FileNotFoundError as error:
        raise InputValidationError(f"There is no file {file}.") from error
    except OSError as error:
        raise InputValidationError(f"{file} cannot be read: {error.strerror}.") from error
    except (ValidationError, yaml.YAMLError, ValueError) as error:
        raise InputValidationError(f"{file}: {error}") from error
    except RecursionError as error:
        raise InputValidationError(f"{file} is nested too deeply.") from error


async def run_case(spec: CaseSpec, agent: Any, plugin: CaseRecorder | CasePlayer) -> Session:
    """Send the messages of a case to an agent; return the session at the end.

    Args:
      spec: the case.
      agent: the root agent, or an App.
      plugin: records, or plays a recording.

    Raises:
      InputValidationError: a message has no content, or answers no call.
      Exception: what the agent raised.
    """
    service = InMemorySessionService()
    services: dict[str, Any] = {
        "app_name": spec.agent,
        "session_service": service,
        "artifact_service": InMemoryArtifactService(),
        "memory_service": InMemoryMemoryService(),
    }
    if isinstance(agent, App):
        app = agent.model_copy(update={"plugins": [*agent.plugins, plugin]})
        runner = Runner(app=app, **services)
    else:
        runner = Runner(agent=agent, plugins=[plugin], **services)
    session = await service.create_session(
        app_name=spec.agent, user_id=USER, state=dict(spec.initial_state)
    )
    ids: dict[str, list[str]] = {}
    for number, message in enumerate(spec.user_messages):
        plugin.message = number
        stream = runner.run_async(
            user_id=USER,
            session_id=session.id,
            new_message=_make_content(message, number, ids),
            state_delta=message.state_delta,
        )
        async with Aclosing(stream) as events:
            async for event in events:
                for call in [] if event.partial else event.get_function_calls():
                    ids.setdefault(call.name or "", []).append(call.id or "")
    found = await service.get_session(app_name=spec.agent, user_id=USER, session_id=session.id)
    return found or session


def _make_content(
    message: UserMessage, number: int, ids: Mapping[str, Sequence[str]]
) -> types.Content:
    """Return a message whose answers go to the newest calls of their names, in order."""
    if message.content is None:
        if message.text is None:
            raise InputValidationError(f"User message {number} has neither text nor content.")
        return types.Content(role="user", parts=[types.Part(text=message.text)])
    content = message.content.model_copy(deep=True)
    content.role = content.role or "user"
    found = [part.function_response for part in content.parts or ()]
    answers = [one for one in found if one is not None]
    left = Counter(one.name or "" for one in answers)
    for answer in answers:
        name = answer.name or ""
        known = ids.get(name, ())
        if left[name] > len(known):
            times = f" {left[name]} times" if known else ""
            calls = f"called {len(known)} times" if known else "not called"
            raise InputValidationError(
                f"User message {number} answers {name!r}{times}, which was {calls}."
            )
        answer.id = known[-left[name]]
        left[name] -= 1
    return content


async def record_case(spec: CaseSpec, agent: Any) -> dict[str, str]:
    """Run a case with the agent's models; return the texts of the files by name.

    Args:
      spec: the case.
      agent: the root agent, or an App.
    """
    recorder = CaseRecorder()
    try:
        session = await run_case(spec, agent, recorder)
    except BaseException as raised:  # boundary: the agent's code may raise anything
        raise as_code_error(raised, "The agent's code") from None
    return {RECORDINGS: _format_yaml(recorder.recordings), SESSION: _format_yaml(session)}


def _format_yaml(record: BaseModel) -> str:
    yaml = need("yaml", extra="yaml")
    shown = record.model_dump(mode="json", exclude_none=True, exclude_defaults=True, fallback=str)
    return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=80)


async def check_case(spec: CaseSpec, agent: Any, folder: Path) -> list[str]:
    """Play the recordings of a case; return the lines that say what differs.

    Args:
      spec: the case.
      agent: the root agent, or an App.
      folder: the folder of the case.

    Raises:
      InputValidationError: the recordings are not valid.
    """
    player = CasePlayer(read_yaml_record(folder / RECORDINGS, Recordings))
    recorded: Session = read_yaml_record(folder / SESSION, Session)
    try:
        session = await run_case(spec, agent, player)
    except BaseException as raised:  # boundary: the agent's code may raise anything
        error = as_code_error(raised, "The agent's code")
        return describe_failure(error).splitlines()
    problem = compare_events(_without_config(session.events), _without_config(recorded.events))
    problem += compare_values(clean_state(session.state), clean_state(recorded.state))
    if player.count_left():
        problem.append(f"{player.count_left()} recorded requests were not made.")
    return problem


def _without_config(events: list[Event]) -> list[Event]:
    return [event for event in events if event.content or event.actions or event.error_code]

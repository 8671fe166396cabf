"""The handle of a golden scenario: one package (google.adk or ostinato) under short names.

Scenarios build agents with it, talk to them, and it keeps the trace. `record.py` binds it to
google.adk and stores the traces; `test_golden.py` binds it to ostinato and compares.
"""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .normalise import event_record, finish, part_record
from .script import scripted_model_class

PLACES = {
    "BaseAgent": "agents.base_agent",
    "BaseAgentConfig": "agents.base_agent_config",
    "LlmAgent": "agents.llm_agent",
    "SequentialAgent": "agents.sequential_agent",
    "ParallelAgent": "agents.parallel_agent",
    "LoopAgent": "agents.loop_agent",
    "RunConfig": "agents.run_config",
    "StreamingMode": "agents.run_config",
    "App": "apps.app",
    "ResumabilityConfig": "apps.app",
    "EventsCompactionConfig": "apps.app",
    "LlmEventSummarizer": "apps.llm_event_summarizer",
    "InMemoryArtifactService": "artifacts",
    "InMemoryCredentialService": "auth.credential_service.in_memory_credential_service",
    "AuthConfig": "auth.auth_tool",
    "AuthCredential": "auth.auth_credential",
    "UnsafeLocalCodeExecutor": "code_executors.unsafe_local_code_executor",
    "Event": "events.event",
    "EventActions": "events.event_actions",
    "InMemoryMemoryService": "memory",
    "BaseLlm": "models.base_llm",
    "LlmRequest": "models.llm_request",
    "LlmResponse": "models.llm_response",
    "BuiltInPlanner": "planners.built_in_planner",
    "PlanReActPlanner": "planners.plan_re_act_planner",
    "BasePlugin": "plugins.base_plugin",
    "ContextFilterPlugin": "plugins.context_filter_plugin",
    "GlobalInstructionPlugin": "plugins.global_instruction_plugin",
    "MultimodalToolResultsPlugin": "plugins.multimodal_tool_results_plugin",
    "ReflectAndRetryModelPlugin": "plugins._reflect_retry_model_plugin",
    "ReflectAndRetryToolPlugin": "plugins.reflect_retry_tool_plugin",
    "SaveFilesAsArtifactsPlugin": "plugins.save_files_as_artifacts_plugin",
    "GetSessionConfig": "sessions.base_session_service",
    "Runner": "runners",
    "InMemorySessionService": "sessions",
    "AgentTool": "tools.agent_tool",
    "GoogleSearchAgentTool": "tools.google_search_agent_tool",
    "ExecuteBashTool": "tools.bash_tool",
    "BaseTool": "tools.base_tool",
    "BaseToolset": "tools.base_toolset",
    "exit_loop": "tools.exit_loop_tool",
    "FunctionTool": "tools.function_tool",
    "LongRunningFunctionTool": "tools.long_running_tool",
    "enterprise_web_search": "tools",
    "get_user_choice": "tools",
    "google_maps_grounding": "tools",
    "google_search": "tools",
    "load_artifacts": "tools",
    "load_memory": "tools",
    "preload_memory": "tools",
    "request_input": "tools",
    "url_context": "tools",
    "VertexAiSearchTool": "tools",
    "RequestInput": "events.request_input",
    **dict.fromkeys(
        (
            "BaseNode",
            "DEFAULT_ROUTE",
            "Edge",
            "FunctionNode",
            "JoinNode",
            "Node",
            "RetryConfig",
            "START",
            "Workflow",
            "node",
        ),
        "workflow",
    ),
}

FILES = Path(__file__).resolve().parent / "yaml"


class Kit:
    """Short names of one package, scripted models, and the trace of one scenario."""

    def __init__(
        self, package: str, show: tuple[str, ...] = (), words: tuple[str, ...] = ()
    ) -> None:
        self.package = package
        self.show = show
        self.words = words
        name = "google.genai.types" if package == "google.adk" else f"{package}.types"
        self.types: Any = importlib.import_module(name)
        self.turns: list[dict[str, Any]] = []
        self.requests: dict[str, list[Any]] = {}
        self.notes: list[Any] = []
        self.talks: list[Talk] = []
        self._model_class = scripted_model_class(self.BaseLlm)
        self.load_file: Callable[[Path], Any] = self._from_config

    def __getattr__(self, name: str) -> Any:
        if name not in PLACES:
            raise AttributeError(f"the kit knows no {name!r}; add it to PLACES")
        return getattr(importlib.import_module(f"{self.package}.{PLACES[name]}"), name)

    # Building

    def model(self, name: str, *replies: Any) -> Any:
        """A model that gives the replies one by one and keeps what it was asked."""
        asked = self.requests.setdefault(name, [])

        def keep(request: Any, stream: bool) -> None:
            asked.append(self._request_record(request, stream))

        return self._model_class(model="scripted", kit=self, replies=list(replies), keep=keep)

    def agent(self, name: str, *replies: Any, **fields: Any) -> Any:
        """An LlmAgent whose model is scripted with the replies."""
        return self.LlmAgent(name=name, model=self.model(name, *replies), **fields)

    def described(self, file: str, **scripts: Any) -> Any:
        """The agent of a YAML file; the models of the agents that are named give the replies."""
        sys.modules["golden_package"] = self  # type: ignore[assignment]
        if str(FILES) not in sys.path:
            sys.path.append(str(FILES))
        for name in [one for one in sys.modules if one.partition(".")[0] == "golden_desk"]:
            del sys.modules[name]  # an agent in code has one parent, and each play makes its own
        root = self.load_file(FILES / "golden_desk" / file)
        for agent in agents_below(root):
            if agent.name in scripts:
                agent.model = self.model(agent.name, *scripts[agent.name])
        return root

    def _from_config(self, path: Path) -> Any:
        utils = importlib.import_module(f"{self.package}.agents.config_agent_utils")
        return utils.from_config(str(path))

    def text(self, text: str, **fields: Any) -> Any:
        return self.reply(self.types.Part(text=text), **fields)

    def thought(self, text: str) -> Any:
        return self.types.Part(text=text, thought=True)

    def call(self, name: str, /, _id: str | None = None, **args: Any) -> Any:
        """A function call part, as a model writes it (the runtime gives the id)."""
        return self.types.Part(function_call=self.types.FunctionCall(name=name, id=_id, args=args))

    def reply(self, *parts: Any, **fields: Any) -> Any:
        """One LlmResponse of role model with the parts (strings are texts)."""
        return self.LlmResponse(content=self.content("model", *parts), **fields)

    def content(self, role: str, *parts: Any) -> Any:
        made = [self.types.Part(text=p) if isinstance(p, str) else p for p in parts]
        return self.types.Content(role=role, parts=made)

    def note(self, *what: Any) -> None:
        """Keep what a hook or tool saw."""
        self.notes.append(what[0] if len(what) == 1 else list(what))

    # Talking

    async def open(self, root: Any = None, **fields: Any) -> "Talk":
        """A runner with in-memory services and a session; `fields` go to the Talk."""
        talk = Talk(self, root, **fields)
        await talk.begin()
        self.talks.append(talk)
        return talk

    async def trace(self) -> dict[str, Any]:
        """The whole trace, with stable names for ids and times."""
        logs = [await talk.stored() for talk in self.talks]
        return finish(self.turns, self.requests, self.notes, logs, self.words)

    def _request_record(self, request: Any, stream: bool) -> dict[str, Any]:
        contents = [
            [c.role, *(part_record(p) for p in c.parts or [])] for c in request.contents or []
        ]
        record: dict[str, Any] = {} if "no contents" in self.show else {"contents": contents}
        tools = sorted(request.tools_dict)
        if tools:
            record["tools"] = tools
        if stream:
            record["stream"] = True
        config = request.config
        if "system" in self.show and config.system_instruction:
            record["system"] = config.system_instruction
        if "config" in self.show:
            record["config"] = _config_record(config)
        return record


def agents_below(agent: Any) -> list[Any]:
    """An agent, and those below it or behind its tools."""
    tools = [getattr(tool, "agent", None) for tool in getattr(agent, "tools", [])]
    below = [*agent.sub_agents, *filter(None, tools)]
    return [agent, *(found for one in below for found in agents_below(one))]


def _config_record(config: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if config.response_schema is not None:
        shown["response_schema"] = getattr(config.response_schema, "__name__", "schema")
    for name in ("response_mime_type", "temperature", "labels"):
        if getattr(config, name) is not None:
            shown[name] = getattr(config, name)
    if config.thinking_config is not None:
        shown["thinking_config"] = config.thinking_config.model_dump(mode="json", exclude_none=True)
    return shown


class Talk:
    """One session with one runner; every turn becomes part of the trace."""

    def __init__(
        self,
        kit: Kit,
        root: Any = None,
        *,
        app: dict[str, Any] | None = None,
        state: dict[str, Any] | None = None,
        user: str = "u",
        sessions: Any = None,
        **services: Any,
    ) -> None:
        self.kit = kit
        self.user = user
        self.sessions = sessions or kit.InMemorySessionService()
        self.artifacts = kit.InMemoryArtifactService()
        self.state = state
        self.events: list[Any] = []
        target = (
            {"app": kit.App(name="golden", root_agent=root, **app)}
            if app is not None
            else {"agent": root, "app_name": "golden"}
        )
        services.setdefault("artifact_service", self.artifacts)
        self.runner = kit.Runner(session_service=self.sessions, **target, **services)

    async def begin(self) -> None:
        self.session = await self.sessions.create_session(
            app_name="golden", user_id=self.user, state=self.state
        )

    async def say(
        self, message: Any = None, *, raises: tuple[str, ...] = (), **run: Any
    ) -> list[Any]:
        """Send a text or parts as the user and keep what comes; `raises` is (type, words...)."""
        new_message = None
        if message is not None:
            parts = message if isinstance(message, (list, tuple)) else [message]
            new_message = self.kit.content("user", *parts)
        turn: dict[str, Any] = {"user": message if isinstance(message, str) else None}
        if new_message is not None and turn["user"] is None:
            turn["user"] = [part_record(p) for p in new_message.parts]
        if "invocation_id" in run:
            turn["invocation_id"] = run["invocation_id"]
        turn["events"] = []
        self.kit.turns.append(turn)
        got: list[Any] = []
        try:
            async for event in self.runner.run_async(
                user_id=self.user, session_id=self.session.id, new_message=new_message, **run
            ):
                turn["events"].append(event_record(event))
                got.append(event)
        except Exception as error:
            if not raises:
                raise
            turn["error"] = _error_record(error, raises)
        self.events += got
        return got

    async def answer(self, call: str, response: dict[str, Any], **run: Any) -> list[Any]:
        """Answer the latest call of that name with a function response."""
        return await self.say([self.response(call, response)], **run)

    def response(self, call: str, response: dict[str, Any]) -> Any:
        types = self.kit.types
        return types.Part(
            function_response=types.FunctionResponse(
                name=call, id=self.call_id(call), response=response
            )
        )

    def call_id(self, name: str) -> str:
        for event in reversed(self.events):
            for call in event.get_function_calls():
                if call.name == name:
                    return call.id
        raise LookupError(f"no call of {name!r} was seen")

    def invocation(self) -> str:
        """The id of the latest invocation."""
        return self.events[-1].invocation_id

    async def load(self) -> Any:
        return await self.sessions.get_session(
            app_name="golden", user_id=self.user, session_id=self.session.id
        )

    async def stored(self) -> dict[str, Any]:
        session = await self.load()
        return {
            "state": dict(session.state),
            "log": [event_record(event) for event in session.events],
        }


def _error_record(error: BaseException, raises: tuple[str, ...]) -> dict[str, Any]:
    names = [cls.__name__ for cls in type(error).__mro__]
    expected, *words = raises
    return {
        "is": expected if expected in names else names[0],
        "says": [word for word in words if word in str(error)],
    }


Scenario = Callable[[Kit], Any]

"""CaseRunner: runs the conversations of cases with an agent or an app."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .. import _clock, types
from .._aborted_tool import as_code_error
from .._aclosing import Aclosing
from ..apps.app import App
from ..artifacts.base_artifact_service import BaseArtifactService
from ..artifacts.in_memory_artifact_service import InMemoryArtifactService
from ..context.budget import Budget, BudgetUsage
from ..errors import InputValidationError
from ..events.event import Event
from ..execution.store_access import import_events
from ..memory.in_memory_memory_service import InMemoryMemoryService
from ..plugins.base_plugin import BasePlugin
from ..runners import Runner
from ..sessions.base_session_service import BaseSessionService
from ..sessions.in_memory_session_service import InMemorySessionService
from .eval_case import EvalCase, Invocation, SessionInput
from .eval_config import ToolMockConfig
from .event_conversion import convert_events
from .node_gate import PluginNodeGate
from .run_observer import RunObserver, TurnRecord, current_turn
from .simulation.user_simulator import Status, UserSimulator
from .tool_mocks import ToolMocks, mocks_of_turn
from .turn_usage import TurnUsage

DEFAULT_APP = "EvaluationGenerator"
DEFAULT_USER = "test_user_id"


@dataclass(slots=True)
class RunSettings:
    """How cases are run.

    Attributes:
      tool_mocks: what answers the calls of tools; the tools by default.
      seed: the seed of model requests.
      budget: limits of all cases together, and the prices of models.
    """

    tool_mocks: ToolMockConfig | None = None
    seed: int | None = None
    budget: Budget | None = None


@dataclass(slots=True)
class CaseRun:
    """What happened when a case ran.

    Attributes:
      invocations: its turns.
      final_state: the session's state at the end.
      usage: what each turn used.
    """

    invocations: list[Invocation] = field(default_factory=list[Invocation])
    final_state: dict[str, Any] = field(default_factory=dict[str, Any])
    usage: list[TurnUsage] = field(default_factory=list[TurnUsage])


class FailedTurnError(RuntimeError):
    """A turn ended with an error event instead of an answer."""


class CaseNotRunError(RuntimeError):
    """The evaluation could not run a case; its agent is not to blame."""


@contextmanager
def blame_evaluation(what: str) -> Generator[None]:
    """Tell failures of the evaluation's own parts from those of the agent.

    Args:
      what: what runs in the block, for the message, such as "The simulated user".

    Raises:
      CaseNotRunError: the block failed.
    """
    try:
        yield
    except BaseException as raised:  # boundary: a simulated user may be the user's code
        error = as_code_error(raised, what)
        raise CaseNotRunError(f"{what} failed: {type(error).__name__}: {error}") from error


class CaseRunner:
    """Runs cases, each in a session of its own; several may run at once.

    Args:
      agent: the root agent, or an App with its plugins.
      session_service, artifact_service, memory_service: in memory by default.
      settings: mocks, seed, budget.
    """

    def __init__(
        self,
        agent: Any,
        session_service: BaseSessionService | None = None,
        artifact_service: BaseArtifactService | None = None,
        memory_service: Any = None,
        settings: RunSettings | None = None,
    ) -> None:
        self._agent = agent
        self.session_service = session_service or InMemorySessionService()
        self._artifact_service = artifact_service or InMemoryArtifactService()
        self._memory_service = memory_service or InMemoryMemoryService()
        self._settings = settings or RunSettings()
        budget = self._settings.budget
        self.observer = RunObserver(
            budget.prices if budget is not None else {},
            self._settings.seed,
        )
        mocks = self._settings.tool_mocks
        self._mocks = None if mocks is None else ToolMocks(mocks)
        self._budget_usage: BudgetUsage | None = None
        self._runners: dict[str, Runner] = {}

    async def run_case(
        self,
        eval_case: EvalCase,
        simulator: UserSimulator,
        session_id: str,
        *,
        app_name: str = DEFAULT_APP,
        reset: Callable[[], Any] | None = None,
    ) -> CaseRun:
        """Run a case to its end.

        Args:
          eval_case: the case.
          simulator: its user.
          session_id: id of its session, unless the case names one.
          app_name: the app, unless the case names one.
          reset: called first, to reset the data of the agent's tools.

        Raises:
          FailedTurnError: a turn ended with an error.
          CaseNotRunError: the session could not be created, or the simulated user failed.
          Exception: what the agent's code or its model raised.
        """
        given = eval_case.session_input or SessionInput(app_name="", user_id="")
        names = {
            "app_name": given.app_name or app_name,
            "user_id": given.user_id or DEFAULT_USER,
            "session_id": given.session_id or session_id,
        }
        if reset is not None:
            reset()
        runner = self._runner_of(names["app_name"])
        with blame_evaluation("The session of the case"):
            await self._open_session(names, given)
        run = CaseRun()
        events: list[Event] = []
        while True:
            with blame_evaluation("The simulated user"):
                message = await simulator.get_next_user_message(list(events))
            if message.status is not Status.SUCCESS or message.user_message is None:
                break
            await self._run_turn(runner, names, message.user_message, eval_case, run, events)
        session = await self.session_service.get_session(
            app_name=names["app_name"],
            user_id=names["user_id"],
            session_id=names["session_id"],
        )
        run.final_state = dict(session.state) if session is not None else {}
        return run

    async def close(self) -> None:
        """Close toolsets, models and plugins."""
        for runner in self._runners.values():
            await runner.close()
        self._runners.clear()

    async def _open_session(self, names: dict[str, str], given: SessionInput) -> None:
        session = await self.session_service.create_session(state=dict(given.state), **names)
        history = [event.model_copy(deep=True) for event in given.events]
        for event in history:
            role = event.content.role if event.content is not None else None
            event.author = event.author or ("user" if role == "user" else self._root_name())
            event.invocation_id = event.invocation_id or "history"
        await import_events(self.session_service, session, history)

    async def _run_turn(
        self,
        runner: Runner,
        names: dict[str, str],
        message: types.Content,
        eval_case: EvalCase,
        run: CaseRun,
        events: list[Event],
    ) -> None:
        number = len(run.invocations)
        turns = eval_case.conversation or []
        expected = turns[number] if number < len(turns) else None
        record = TurnRecord(number, mocks_of_turn(expected))
        token = current_turn.set(record)
        came: list[Event] = []
        try:
            stream = runner.run_async(
                user_id=names["user_id"], session_id=names["session_id"], new_message=message
            )
            async with Aclosing(stream) as answers:
                came = [event async for event in answers if not event.partial]
        finally:
            current_turn.reset(token)
            record.end_turn()
        _check_turn(came)
        invocation_id = came[0].invocation_id if came else _clock.new_id()
        asked = Event(author="user", content=message, invocation_id=invocation_id)
        events += [asked, *came]
        invocation = convert_events([asked, *came], {invocation_id: record.app_details()})[0]
        invocation.call_trace = record.calls
        invocation.duration = record.usage.seconds
        run.invocations.append(invocation)
        run.usage.append(record.usage)

    def _runner_of(self, app_name: str) -> Runner:
        if app_name not in self._runners:
            plugins: list[BasePlugin] = [self.observer]
            last: list[BasePlugin] = [self._mocks] if self._mocks is not None else []
            services: dict[str, Any] = {
                "app_name": app_name,
                "session_service": self.session_service,
                "artifact_service": self._artifact_service,
                "memory_service": self._memory_service,
            }
            if isinstance(self._agent, App):
                hooks = [*plugins, *self._agent.plugins, *last]
                app = self._agent.model_copy(update={"plugins": hooks})
                runner = Runner(app=app, **services)
            else:
                runner = Runner(agent=self._agent, plugins=[*plugins, *last], **services)
            runner.gate_node_calls(PluginNodeGate([*plugins, *last]))
            budget = self._settings.budget
            if budget is not None:
                self._budget_usage = self._budget_usage or BudgetUsage(budget)
                runner.work_for(self._budget_usage, lambda: None)
            self._runners[app_name] = runner
        return self._runners[app_name]

    def _root_name(self) -> str:
        root = self._agent.root_agent if isinstance(self._agent, App) else self._agent
        return str(root.name)


def _check_turn(events: list[Event]) -> None:
    """Raise FailedTurnError if a turn ended with an error event."""
    last = events[-1] if events else None
    if last is not None and last.error_code and (last.content is None or not last.content.parts):
        raise FailedTurnError(
            f"Agent {last.author!r} ended with the error {last.error_code}"
            + (f": {last.error_message}" if last.error_message else ".")
        )


def choose_agent(root: Any, agent_name: str | None) -> Any:
    """Return an agent of a tree, or the root.

    Args:
      root: the root agent.
      agent_name: the agent; None for the root.

    Raises:
      InputValidationError: the tree has no agent of this name.
    """
    if not agent_name:
        return root
    found = root.find_agent(agent_name)
    if found is None:
        raise InputValidationError(f"The agent {agent_name!r} is not in the tree of {root.name!r}.")
    return found

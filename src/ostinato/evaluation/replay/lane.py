"""Lanes of a replay: the recorded exchanges, and the same exchanges run by an agent again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._aborted_tool import as_code_error
from ..._aclosing import Aclosing
from ...agents.base_agent import BaseAgent
from ...agents.llm_agent import LlmAgent
from ...agents.loop_agent import LoopAgent
from ...agents.parallel_agent import ParallelAgent
from ...agents.sequential_agent import SequentialAgent
from ...apps.app import App
from ...artifacts.in_memory_artifact_service import InMemoryArtifactService
from ...context.budget import Price
from ...errors import InputValidationError
from ...events.event import Event
from ...events.node_call import NodeCallRecord
from ...execution.routing.agent_choice import agents_below
from ...execution.store_access import import_events
from ...memory.in_memory_memory_service import InMemoryMemoryService
from ...runners import Runner
from ...sessions.in_memory_session_service import InMemorySessionService
from ...tools.agent_tool import AgentTool
from ..run_observer import RunObserver, TurnRecord, current_turn
from ..turn_usage import TurnUsage
from .call_gate import CallGate, CallTable, MockAnswer, current_table
from .recording import (
    Call,
    Exchange,
    Step,
    iterate_seconds,
    list_answer_keys,
    list_steps,
    read_answer,
    read_output,
    readdress_answers,
)

_PLAIN_AGENTS = (LlmAgent, SequentialAgent, ParallelAgent, LoopAgent)


@dataclass(slots=True)
class LaneRun:
    """What an agent did in an exchange.

    Attributes:
      steps: its calls.
      answer: the text of its last final response.
      output: the last output of a workflow as JSON text; "" without one.
      usage: tokens, calls, cost, seconds.
      stopped: the call of effect at which the replay was stopped, or None.
      asked_otherwise: that a tool asks the user about a recorded call and did not then, or the
        other way round; "" if not.
      unanswered: whether an answer of the user had no call to go to.
      mocked, ran: how many calls the mock answered, and how many tools ran.
      error: why the run failed; "" if it did not.
    """

    steps: list[Step] = field(default_factory=list[Step])
    answer: str = ""
    output: str = ""
    usage: TurnUsage = field(default_factory=TurnUsage)
    stopped: Call | None = None
    asked_otherwise: str = ""
    unanswered: bool = False
    mocked: int = 0
    ran: int = 0
    error: str = ""


@dataclass(slots=True)
class LaneSettings:
    """How a lane runs.

    Attributes:
      prices: the prices of models, by name.
      read_only: patterns of the names of tools that only read.
      mock: answers calls of effect that were not recorded.
      seed: the seed of model requests.
      parallelism: how many exchanges run at once.
      allow_code: whether agents with code of their own may run.
    """

    prices: dict[str, Price] = field(default_factory=dict[str, Price])
    read_only: Sequence[str] = ()
    mock: MockAnswer | None = None
    seed: int | None = None
    parallelism: int = 8
    allow_code: bool = False


def read_recorded(exchange: Exchange, prices: dict[str, Price], models: dict[str, str]) -> LaneRun:
    """Return the lane of the recording.

    Args:
      exchange: the exchange.
      prices: the prices of models, by name.
      models: the models of agents by name, for events that do not name theirs.
    """
    usage = TurnUsage(seconds=sum(iterate_seconds(exchange)), unpriced=[])
    for event in exchange.events:
        used = event.usage_metadata
        usage.tool_calls += len(event.get_function_calls())
        usage.tool_calls += NodeCallRecord.of(event) is not None
        if used is None:
            continue
        usage.model_calls += 1
        given = (used.prompt_token_count or 0) + (used.tool_use_prompt_token_count or 0)
        made = (used.candidates_token_count or 0) + (used.thoughts_token_count or 0)
        usage.input_tokens += given
        usage.output_tokens += made
        usage.tokens += used.total_token_count or given + made
        own = models.get(event.author, "")
        name = event.model_version if event.model_version in prices else own
        if name not in prices:
            usage.cost = None
            usage.unpriced = list(dict.fromkeys([*usage.unpriced, name or event.author]))
        elif usage.cost is not None:
            usage.cost += prices[name].of(used)
    events = exchange.events
    return LaneRun(list_steps(events), read_answer(events), read_output(events), usage)


def list_models(root: BaseAgent) -> dict[str, str]:
    """Return the model names of a tree by agent.

    Args:
      root: the root agent.
    """
    return {
        agent.name: agent.named_model if isinstance(agent.named_model, str) else ""
        for agent in list_agents(root)
        if isinstance(agent, LlmAgent)
    }


def check_tree(root: BaseAgent) -> None:
    """Refuse agents whose code a replay cannot hold back.

    Args:
      root: the root agent.

    Raises:
      InputValidationError: an agent executes code, or has code of its own.
    """
    for agent in list_agents(root):
        if isinstance(agent, LlmAgent):
            if agent.code_executor is not None:
                raise InputValidationError(
                    f"Agent {agent.name!r} has a code executor, and the code that its model writes "
                    "may have effects that a replay cannot hold back. Allow it with --allow-code."
                )
        elif not isinstance(agent, _PLAIN_AGENTS):
            raise InputValidationError(
                f"Agent {agent.name!r} is a {type(agent).__name__}, whose own code may have "
                "effects that a replay cannot hold back. Allow it with --allow-code."
            )


def list_agents(root: BaseAgent) -> list[BaseAgent]:
    """Return the agents of a tree, those that are called as tools included.

    Args:
      root: the root agent.
    """
    found: dict[int, BaseAgent] = {}
    waiting = [root]
    while waiting:
        for agent in agents_below(waiting.pop()):
            if id(agent) in found:
                continue
            found[id(agent)] = agent
            tools = agent.tools if isinstance(agent, LlmAgent) else []
            waiting += [
                tool.agent
                for tool in tools
                if isinstance(tool, AgentTool) and isinstance(tool.agent, BaseAgent)
            ]
    return [*found.values()]


class LaneRunner:
    """Runs exchanges with an agent, each in a session and a store of its own.

    Args:
      agent: the root agent, or an App with its plugins.
      settings: prices, policy, seed.

    Raises:
      InputValidationError: an agent has code that a replay cannot hold back.
    """

    def __init__(self, agent: Any, settings: LaneSettings) -> None:
        root: BaseAgent = agent.root_agent if isinstance(agent, App) else agent
        if not settings.allow_code:
            check_tree(root)
        self._settings = settings
        observer = RunObserver(settings.prices, settings.seed)
        self._gate = gate = CallGate(settings.read_only, settings.mock, observer)
        given = list(agent.plugins) if isinstance(agent, App) else []
        plugins = [observer, *given, gate]
        self._app: App | None = None
        if isinstance(agent, App):
            self._app = agent.model_copy(update={"plugins": plugins})
        self._root, self._plugins = root, plugins
        self._last: Runner | None = None

    async def run_all(
        self,
        exchanges: Sequence[Exchange],
        on_run: Callable[[int, LaneRun], None] | None = None,
    ) -> list[LaneRun]:
        """Return what the agent does in each exchange.

        Args:
          exchanges: the exchanges.
          on_run: called with the number of an exchange and its run, as they come.
        """
        gate = asyncio.Semaphore(self._settings.parallelism)
        runs: list[LaneRun] = [LaneRun() for _ in exchanges]

        async def run_one(number: int) -> None:
            async with gate:
                runs[number] = await self.run(exchanges[number])
            if on_run is not None:
                on_run(number, runs[number])

        tasks = [asyncio.create_task(run_one(number)) for number in range(len(exchanges))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._last is not None:
                await self._last.close()
        return runs

    async def run(self, exchange: Exchange) -> LaneRun:
        """Return what the agent does in an exchange; a failure of the agent is part of it.

        Args:
          exchange: the exchange.
        """
        table, record = CallTable(exchange.events), TurnRecord(exchange.number)
        tokens = current_table.set(table), current_turn.set(record)
        run, came, seconds = LaneRun(), list[Event](), 0.0
        try:
            seconds = await self._run_messages(exchange, came, run)
        except BaseException as raised:  # boundary: the agent is the user's code
            error = as_code_error(raised, "The agent's code")
            run.error = f"{type(error).__name__}: {error}"
        finally:
            current_table.reset(tokens[0])
            current_turn.reset(tokens[1])
            record.end_turn()
        last = came[-1] if came else None
        if last is not None and last.error_code and not last.content:
            run.error = run.error or f"{last.error_code}: {last.error_message or ''}"
        run.steps, run.answer, run.output = list_steps(came), read_answer(came), read_output(came)
        run.usage = record.usage
        run.usage.seconds = seconds or record.usage.seconds
        run.asked_otherwise = table.asked_otherwise
        run.stopped, run.mocked, run.ran = table.stopped, len(table.mocked), len(table.ran)
        if run.stopped is not None:
            run.error = ""  # what the stop raised
        return run

    async def _run_messages(self, exchange: Exchange, came: list[Event], run: LaneRun) -> float:
        """Send the messages of an exchange; return the seconds that the answers took."""
        recorded = exchange.session
        names: dict[str, Any] = {"user_id": recorded.user_id, "session_id": recorded.session_id}
        service = InMemorySessionService()
        runner = self._make_runner(recorded.app_name, service)
        state = exchange.initial_state()
        session = await service.create_session(app_name=recorded.app_name, state=state, **names)
        await import_events(service, session, exchange.history)
        begins = len(session.events)
        keys = list_answer_keys(exchange.events)
        used: set[str] = set()
        began = asyncio.get_running_loop().time()
        for number, message in enumerate(exchange.messages):
            if number:
                session = await service.get_session(app_name=recorded.app_name, **names)
                assert session is not None
                between = exchange.list_between(number, session.events[begins:])
                await import_events(service, session, between)
            waiting: dict[str, list[str]] = {}
            for call_id, key in list_answer_keys(came).items():
                if call_id not in used:
                    waiting.setdefault(key, []).append(call_id)
            content = readdress_answers(_content_of(message), keys, waiting)
            if content is None:
                run.unanswered = True
                break
            used |= {
                part.function_response.id or ""
                for part in content.parts or ()
                if part.function_response is not None
            }
            delta = dict(message.actions.state_delta) or None
            stream = runner.run_async(new_message=content, state_delta=delta, **names)
            async with Aclosing(stream) as events:
                async for event in events:
                    if not event.partial:
                        came.append(event)  # noqa: PERF401 - kept if the run ends with an error
        return asyncio.get_running_loop().time() - began

    def _make_runner(self, app_name: str, service: InMemorySessionService) -> Runner:
        services: dict[str, Any] = {
            "app_name": app_name,
            "session_service": service,
            "artifact_service": InMemoryArtifactService(),
            "memory_service": InMemoryMemoryService(),
        }
        if self._app is not None:
            runner = Runner(app=self._app, **services)
        else:
            runner = Runner(agent=self._root, plugins=self._plugins, **services)
        runner.gate_node_calls(self._gate)
        self._last = runner  # closing one closes the models and toolsets that all share
        return runner


def _content_of(message: Event) -> Any:
    if message.content is None:
        raise InputValidationError(f"The event {message.id} has no content.")
    return message.content

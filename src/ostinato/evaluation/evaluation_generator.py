"""EvaluationGenerator: runs an eval set with the agent of a module, and converts sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from .. import _clock
from ..apps.app import App
from ..events.event import Event
from ..hosting.agent_modules import (
    find_reset_function,
    import_agent_module,
    load_module_agent,
)
from ..sessions.session import Session
from .app_details import AppDetails
from .case_runner import CaseRunner, choose_agent
from .eval_case import EvalCase, Invocation
from .eval_set import EvalSet
from .event_conversion import convert_events
from .json_file import read_json_record
from .simulation.user_simulator import BaseUserSimulatorConfig
from .simulation.user_simulator_provider import UserSimulatorProvider


class EvalCaseResponses(BaseModel):
    """What an agent did in several runs of a case.

    Attributes:
      eval_case: the case.
      responses: the invocations of each run.
    """

    model_config = ConfigDict(defer_build=True)

    eval_case: EvalCase
    responses: list[list[Invocation]]


class EvaluationGenerator:
    """Runs agents for an evaluation."""

    @staticmethod
    async def generate_responses(
        eval_set: EvalSet,
        agent_module_path: str,
        repeat_num: int = 3,
        agent_name: str | None = None,
        user_simulator_config: BaseUserSimulatorConfig | None = None,
    ) -> list[EvalCaseResponses]:
        """Run each case several times, and return what happened.

        Args:
          eval_set: the cases.
          agent_module_path: dotted name of the agent's module. Its function `reset_data` is called
            before each run, if it has one.
          repeat_num: how often each case runs.
          agent_name: a sub-agent to run in place of the root.
          user_simulator_config: settings of simulated users.

        Raises:
          Exception: what the agent's code or its model raised.
        """
        agent = await load_module_agent(agent_module_path)
        reset = find_reset_function(import_agent_module(agent_module_path))
        if agent_name:
            root = agent.root_agent if isinstance(agent, App) else agent
            agent = choose_agent(root, agent_name)
        simulators = UserSimulatorProvider(user_simulator_config)
        runner = CaseRunner(agent)
        found: list[EvalCaseResponses] = []
        try:
            for case in eval_set.eval_cases:
                runs = [
                    await runner.run_case(
                        case, simulators.provide(case), _clock.new_id(), reset=reset
                    )
                    for _ in range(repeat_num)
                ]
                responses = [run.invocations for run in runs]
                found.append(EvalCaseResponses(eval_case=case, responses=responses))
        finally:
            await runner.close()
        return found

    @staticmethod
    def generate_responses_from_session(
        session_path: str, eval_dataset: list[list[dict[str, Any]]]
    ) -> list[list[dict[str, Any]]]:
        """Return turns in the old form with what a stored session has for them.

        Args:
          session_path: file of the session.
          eval_dataset: lists of turns with `query`; each gets `actual_tool_use` and `response`.

        Raises:
          InputValidationError: the file does not hold a session.
        """
        session = read_json_record(Path(session_path), Session)
        return [[_add_actual(turn, session) for turn in turns] for turns in eval_dataset]

    @staticmethod
    def convert_events_to_eval_invocations(
        events: list[Event], app_details_per_invocation: dict[str, AppDetails] | None = None
    ) -> list[Invocation]:
        """Return one invocation for each invocation id of a session's events.

        Args:
          events: the events.
          app_details_per_invocation: what the agents were given.
        """
        return convert_events(events, app_details_per_invocation)


def _add_actual(turn: dict[str, Any], session: Session) -> dict[str, Any]:
    """Return a turn with the calls and the answer that the session has for its query."""
    invocations = convert_events(session.events)
    for invocation in invocations:
        parts = invocation.user_content.parts or []
        if parts and parts[0].text == turn["query"]:
            events = [
                one for one in session.events if one.invocation_id == invocation.invocation_id
            ]
            calls = [call for event in events for call in event.get_function_calls()]
            final = invocation.final_response
            texts = [part.text for part in (final.parts or []) if part.text] if final else []
            return {
                **turn,
                "actual_tool_use": [
                    {"tool_name": call.name, "tool_input": call.args} for call in calls
                ],
                "response": texts[0] if texts else None,
            }
    return {**turn, "actual_tool_use": [], "response": None}

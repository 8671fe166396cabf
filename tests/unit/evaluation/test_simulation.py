"""Simulated users: fixed messages, models, personas, and the metric of their quality."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ostinato.errors import NotFoundError
from ostinato.evaluation.agent_evaluator import evaluate_set
from ostinato.evaluation.conversation_scenarios import ConversationScenario
from ostinato.evaluation.eval_case import EvalCase
from ostinato.evaluation.eval_config import EvalConfig
from ostinato.evaluation.eval_metrics import EvalStatus
from ostinato.evaluation.prompt_template import fill_template
from ostinato.evaluation.simulation.llm_backed_user_simulator import (
    LlmBackedUserSimulator,
    LlmBackedUserSimulatorConfig,
)
from ostinato.evaluation.simulation.pre_built_personas import get_default_persona_registry
from ostinato.evaluation.simulation.user_simulator import (
    BaseUserSimulatorConfig,
    NextUserMessage,
    Status,
)
from ostinato.evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from ostinato.events.event import Event
from tests.support.optionals import parts_of, present

from .builders import agent, case, eval_set, text, turn

PLAN = ConversationScenario(starting_prompt="Hello", conversation_plan="Ask for the weather.")


def simulator(scenario: ConversationScenario = PLAN, **fields: Any) -> LlmBackedUserSimulator:
    config = BaseUserSimulatorConfig.model_validate({"model": "judge-1", **fields})
    return LlmBackedUserSimulator(config=config, conversation_scenario=scenario)


async def messages(user: Any, most: int = 5) -> list[str]:
    found: list[str] = []
    for _ in range(most):
        message: NextUserMessage = await user.get_next_user_message([])
        if message.status is not Status.SUCCESS:
            return [*found, message.status.value]
        found.append(present(parts_of(present(message.user_message))[0].text))
    return found


async def test_fixed_messages_come_in_order() -> None:
    user = UserSimulatorProvider().provide(case("a", turn("one"), turn("two")))
    assert await messages(user) == ["one", "two", "stop_signal_detected"]
    assert user.get_simulation_evaluator() is None


async def test_a_model_follows_the_plan_to_its_end(judge: Any) -> None:
    answers = iter(["And tomorrow?", "Thanks </FINISHED>"])
    judge.answer = lambda prompt: next(answers)
    assert await messages(simulator()) == ["Hello", "And tomorrow?", "stop_signal_detected"]
    assert "Ask for the weather." in judge.prompts[0]


async def test_the_limit_of_messages_holds(judge: Any) -> None:
    judge.answer = lambda prompt: "more"
    user = simulator(max_allowed_invocations=2)
    assert await messages(user) == ["Hello", "more", "turn_limit_reached"]


async def test_an_empty_answer_is_an_error(judge: Any) -> None:
    judge.answer = lambda prompt: " "
    user = simulator()
    await user.get_next_user_message([])
    with pytest.raises(RuntimeError, match="wrote no message"):
        await user.get_next_user_message([])


async def test_the_history_is_shown_with_or_without_calls(judge: Any) -> None:
    judge.answer = lambda prompt: "next"
    call = {"function_call": {"name": "look", "args": {"a": 1}}}
    events = [
        Event(author="user", content=text("user", "Hello")),
        Event.model_validate({"author": "bot", "content": {"role": "model", "parts": [call]}}),
        Event(author="bot", content=text("model", "Hi there")),
    ]
    for shown in (False, True):
        user = simulator(include_function_calls=shown)
        await user.get_next_user_message([])
        await user.get_next_user_message(events)
        assert "bot: Hi there" in judge.prompts[-1]
        assert ("called the tool 'look'" in judge.prompts[-1]) is shown


async def test_own_instructions_replace_the_prompt(judge: Any) -> None:
    judge.answer = lambda prompt: "next"
    own = "{{ conversation_plan }}|{{conversation_history}}|{{ stop_signal }}"
    user = simulator(custom_instructions=own)
    await messages(user, 2)
    assert judge.prompts == ["Ask for the weather.||</finished>"]


def test_own_instructions_need_all_placeholders() -> None:
    with pytest.raises(ValidationError, match="conversation_history"):
        LlmBackedUserSimulatorConfig(custom_instructions="{{ stop_signal }}")


async def test_a_persona_is_named_by_its_id(judge: Any) -> None:
    judge.answer = lambda prompt: "next"
    scenario = ConversationScenario.model_validate(
        {"startingPrompt": "Hello", "conversationPlan": "x", "userPersona": "NOVICE"}
    )
    await messages(simulator(scenario), 2)
    novice = get_default_persona_registry().get_persona("NOVICE")
    assert novice.description in judge.prompts[0]
    assert "`</finished>`" in judge.prompts[0] and "{{" not in judge.prompts[0]


def test_an_unknown_persona_names_the_nearest() -> None:
    with pytest.raises(NotFoundError, match="Did you mean 'EXPERT'"):
        get_default_persona_registry().get_persona("expertt")
    names = [one.id for one in get_default_persona_registry().get_registered_personas()]
    assert names == ["EXPERT", "NOVICE", "EVALUATOR"]


def test_a_message_comes_with_success_only() -> None:
    with pytest.raises(ValidationError, match="SUCCESS"):
        NextUserMessage(status=Status.SUCCESS)
    with pytest.raises(ValidationError, match="SUCCESS"):
        NextUserMessage(status=Status.TURN_LIMIT_REACHED, user_message=text("user", "x"))


@pytest.mark.parametrize(
    ("ends", "valid", "score"),
    [("true", "true", 1.0), ("false", "true", 0.5), ("true", "false", 0.5)],
)
async def test_the_quality_of_a_simulated_user(
    judge: Any, ends: str, valid: str, score: float
) -> None:
    def answer(prompt: str) -> str:
        if prompt.startswith("You play"):
            return "</finished>" if "And tomorrow?" in prompt else "And tomorrow?"
        new = prompt.partition("# New message of the user")[2]
        verdict = ends if "</finished>" in new else valid
        return f'{{"reasoning": "", "is_valid": {verdict}}}'

    judge.answer = answer
    options = {"judge_model": "judge-1", "num_samples": 1}
    config = EvalConfig.model_validate(
        {
            "criteria": {
                "per_turn_user_simulator_quality_v1": {
                    "threshold": 0.8,
                    "judge_model_options": options,
                }
            },
            "user_simulator_config": {"model": "judge-1"},
        }
    )
    one = EvalCase(eval_id="a", conversation_scenario=PLAN)
    (result,) = (await evaluate_set(agent(lambda _: "Sunny."), eval_set(one), config)).results
    (found,) = result.overall_eval_metric_results
    assert found.score == score
    assert (found.eval_status is EvalStatus.PASSED) is (score == 1.0)
    assert len(result.eval_metric_result_per_invocation) == 2


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ("{{ a }} and {{b}}", "1 and 2"),
        ("no braces {x}", "no braces {x}"),
        ("{{ a.real }}", "1"),
    ],
)
def test_a_template_is_filled(template: str, result: str) -> None:
    assert fill_template(template, {"a": 1, "b": 2}) == result


@pytest.mark.parametrize("template", ["{{ c }}", "{{ a.__class__ }}", "{{ a.nothing }}"])
def test_an_unknown_placeholder_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="template uses"):
        fill_template(template, {"a": 1})

"""The built-in personas EXPERT, NOVICE and EVALUATOR, and the behaviors they consist of."""

from __future__ import annotations

import enum
from functools import cache

from .user_simulator_personas import UserBehavior, UserPersona, UserPersonaRegistry


def _make_behavior(
    name: str, description: str, instructions: list[str], violations: list[str]
) -> UserBehavior:
    return UserBehavior(
        name=name,
        description=description,
        behavior_instructions=instructions,
        violation_rubrics=violations,
    )


class PreBuiltBehaviors(enum.Enum):
    """Behaviors that personas can share."""

    ADVANCE_DETAIL_ORIENTED = _make_behavior(
        "Advance with all details",
        "After a success the user makes the next request of the plan, with all details at once.",
        [
            "Make the next request of the plan when the agent has completed the current one.",
            "State everything that the plan says about the request.",
            "Skip requests that the agent has already completed.",
        ],
        [
            "The user makes a request before the current one is completed.",
            "The user leaves out details of the request that the plan gives.",
            "The user repeats a request that the agent has completed.",
        ],
    )
    ADVANCE_GOAL_ORIENTED = _make_behavior(
        "Advance by goals",
        "After a success the user names the next goal of the plan, without its details.",
        [
            "Make the next request of the plan when the agent has completed the current one.",
            "State the goal only; give details when the agent asks for them.",
            "Skip requests that the agent has already completed.",
        ],
        [
            "The user makes a request before the current one is completed.",
            "The user gives details of a request that the agent has not asked for.",
            "The user repeats a request that the agent has completed.",
        ],
    )
    ANSWER_RELEVANT_ONLY = _make_behavior(
        "Answer relevant questions",
        "The user answers questions that matter for the current request, and no others.",
        [
            "Answer with information of the plan only; say so if it has none.",
            "Decline questions that do not matter for the current request.",
        ],
        [
            "The user answers a question that does not matter for the current request.",
            "The user invents information that the plan does not have.",
        ],
    )
    ANSWER_ALL = _make_behavior(
        "Answer all questions",
        "The user answers every question of the agent.",
        [
            "Answer each question of the agent.",
            "Answer with information of the plan only; say so if it has none.",
        ],
        [
            "The user leaves a question of the agent unanswered.",
            "The user invents information that the plan does not have.",
        ],
    )
    CORRECT_AGENT = _make_behavior(
        "Correct the agent",
        "The user objects when the agent is wrong.",
        [
            "Point out a statement or an action of the agent that contradicts the plan.",
            "Ask the agent to repair it.",
        ],
        ["The agent makes a mistake that contradicts the plan, and the user accepts it."],
    )
    DO_NOT_CORRECT_AGENT = _make_behavior(
        "Do not correct the agent",
        "The user accepts what the agent says and does.",
        ["Continue with the plan, also after a mistake of the agent."],
        ["The user objects to a statement or an action of the agent."],
    )
    TROUBLESHOOT_ONCE = _make_behavior(
        "Retry once",
        "The user lets the agent try a failed request once more.",
        [
            "If a request fails for the first time, ask the agent to try again.",
            "If it fails again, do not ask a third time.",
        ],
        [
            "The user gives up after the first failure of a request.",
            "The user asks for the same request again after it has failed twice.",
        ],
    )
    END_LIMITED_TROUBLESHOOTING = _make_behavior(
        "End after success or a second failure",
        "The user ends the conversation when all is done, or when a request has failed twice.",
        [
            "Answer with `{{ stop_signal }}` when the agent has completed the whole plan.",
            "Answer with `{{ stop_signal }}` when a request has failed twice.",
            "Answer with `{{ stop_signal }}` when the agent hands over to a person.",
        ],
        [
            "The user ends the conversation although requests of the plan are open, and none "
            "has failed twice.",
            "The user continues although the plan is completed or a request has failed twice.",
        ],
    )
    END_NO_TROUBLESHOOTING = _make_behavior(
        "End after success or the first failure",
        "The user ends the conversation when all is done, or when a request has failed.",
        [
            "Answer with `{{ stop_signal }}` when the agent has completed the whole plan.",
            "Answer with `{{ stop_signal }}` when a request has failed.",
            "Answer with `{{ stop_signal }}` when the agent hands over to a person.",
        ],
        [
            "The user ends the conversation although requests of the plan are open, and none "
            "has failed.",
            "The user continues although the plan is completed or a request has failed.",
        ],
    )
    TONE_PROFESSIONAL = _make_behavior(
        "Professional tone",
        "The user writes precisely and politely.",
        ["Write complete, precise sentences.", "Use the terms of the field."],
        ["The user writes slang or incomplete sentences."],
    )
    TONE_CONVERSATIONAL = _make_behavior(
        "Conversational tone",
        "The user writes as people talk.",
        ["Write short, informal sentences.", "Avoid the terms of the field."],
        ["The user writes formally or like an expert."],
    )


_PERSONAS = (
    UserPersona(
        id="EXPERT",
        description="An expert who knows exactly what they want and says it in full.",
        behaviors=[
            PreBuiltBehaviors.ADVANCE_DETAIL_ORIENTED.value,
            PreBuiltBehaviors.ANSWER_RELEVANT_ONLY.value,
            PreBuiltBehaviors.CORRECT_AGENT.value,
            PreBuiltBehaviors.TROUBLESHOOT_ONCE.value,
            PreBuiltBehaviors.END_LIMITED_TROUBLESHOOTING.value,
            PreBuiltBehaviors.TONE_PROFESSIONAL.value,
        ],
    ),
    UserPersona(
        id="NOVICE",
        description="A beginner who knows their goal, and relies on the agent for the rest.",
        behaviors=[
            PreBuiltBehaviors.ADVANCE_GOAL_ORIENTED.value,
            PreBuiltBehaviors.ANSWER_ALL.value,
            PreBuiltBehaviors.DO_NOT_CORRECT_AGENT.value,
            PreBuiltBehaviors.END_NO_TROUBLESHOOTING.value,
            PreBuiltBehaviors.TONE_CONVERSATIONAL.value,
        ],
    ),
    UserPersona(
        id="EVALUATOR",
        description="A tester who checks whether the agent can do what it should.",
        behaviors=[
            PreBuiltBehaviors.ADVANCE_DETAIL_ORIENTED.value,
            PreBuiltBehaviors.ANSWER_RELEVANT_ONLY.value,
            PreBuiltBehaviors.DO_NOT_CORRECT_AGENT.value,
            PreBuiltBehaviors.END_NO_TROUBLESHOOTING.value,
            PreBuiltBehaviors.TONE_CONVERSATIONAL.value,
        ],
    ),
)


@cache
def get_default_persona_registry() -> UserPersonaRegistry:
    """Return the registry of the built-in personas."""
    registry = UserPersonaRegistry()
    for persona in _PERSONAS:
        registry.register_persona(persona.id, persona)
    return registry

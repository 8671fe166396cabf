"""Evaluates the changed agents with the default criteria of google-adk or of Ostinato.

    python -m tests.mutations.run_mutations google.adk > tests/mutations/verdicts.json

needs an environment with google-adk 2.3.0, rouge-score, pandas and tabulate.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from typing import Any

from tests.mutations.changed_agents import CASES, HARMLESS, KINDS, UNCHANGED, Behaviour, change

_APP = "changed"


def evaluate_all(package: str) -> dict[str, list[bool]]:
    """Return for each kind of change which of the ten were caught.

    Args:
      package: `google.adk` or `ostinato`.
    """
    return {
        kind: [
            asyncio.run(_is_caught(package, case.behaviour, change(case, kind))) for case in CASES
        ]
        for kind in (*KINDS, HARMLESS, UNCHANGED)
    }


async def _is_caught(package: str, right: Behaviour, changed: Behaviour) -> bool:
    """Return whether the default criteria fail a changed agent on the case of the right one."""
    evaluation = f"{package}.evaluation"
    base = import_module(f"{evaluation}.base_eval_service")
    sets = import_module(f"{evaluation}.in_memory_eval_sets_manager").InMemoryEvalSetsManager()
    cases = import_module(f"{evaluation}.eval_case")
    configs = import_module(f"{evaluation}.eval_config")
    sets.create_eval_set(_APP, "set")
    sets.add_eval_case(_APP, "set", cases.EvalCase.model_validate(_case_json(right)))
    service = import_module(f"{evaluation}.local_eval_service").LocalEvalService(
        root_agent=make_agent(package, changed), eval_sets_manager=sets
    )
    request = base.InferenceRequest(
        app_name=_APP, eval_set_id="set", inference_config=base.InferenceConfig(parallelism=1)
    )
    inferences = [one async for one in service.perform_inference(request)]
    metrics = configs.get_eval_metrics_from_config(configs.get_evaluation_criteria_or_default(None))
    evaluate = base.EvaluateRequest(
        inference_results=inferences, evaluate_config=base.EvaluateConfig(eval_metrics=metrics)
    )
    results = [one async for one in service.evaluate(evaluate)]
    return [one.final_eval_status.name for one in results] != ["PASSED"]


def _case_json(right: Behaviour) -> dict[str, Any]:
    return {
        "eval_id": "case",
        "conversation": [
            {
                "user_content": {"role": "user", "parts": [{"text": right.message}]},
                "final_response": {"role": "model", "parts": [{"text": right.answer}]},
                "intermediate_data": {
                    "tool_uses": [{"name": name, "args": args} for name, args in right.calls]
                },
            }
        ],
    }


def make_agent(package: str, behaviour: Behaviour) -> Any:
    """Return an agent that behaves so.

    Args:
      package: `google.adk` or `ostinato`.
      behaviour: its calls, one after the other, and its answer.
    """
    agents = import_module(f"{package}.agents")
    base = import_module(f"{package}.models.base_llm").BaseLlm
    response = import_module(f"{package}.models.llm_response").LlmResponse
    types = import_module("google.genai.types" if package == "google.adk" else "ostinato.types")

    class Scripted(base):  # type: ignore[misc]
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            done = sum(
                bool(part.function_response)
                for content in llm_request.contents
                for part in content.parts or ()
            )
            if done < len(behaviour.calls):
                name, args = behaviour.calls[done]
                part = types.Part(function_call=types.FunctionCall(name=name, args=args))
            else:
                part = types.Part(text=behaviour.answer)
            yield response(content=types.Content(role="model", parts=[part]))

    return agents.LlmAgent(name="helper", model=Scripted(model="scripted"), tools=_make_tools())


def _make_tools() -> list[Any]:
    def find_order(order: str) -> dict[str, Any]:
        """Find an order."""
        return {"order": order}

    def refund(order: str, amount: float) -> dict[str, Any]:
        """Pay an order back."""
        return {"status": "declined"}

    def find_rule(topic: str, flight: int) -> dict[str, Any]:
        """Find a rule."""
        return {"allowed": False}

    def find_user() -> dict[str, Any]:
        """Find the user."""
        return {"user": "u-17"}

    def cancel(plan: str, at: str) -> dict[str, Any]:
        """Cancel a plan."""
        return {"ends": at}

    def get_weather(city: str, unit: str) -> dict[str, Any]:
        """Return the weather."""
        return {"degrees": 24}

    def delete_user(user: str) -> dict[str, Any]:
        """Delete a user."""
        return {"status": "refused"}

    def remember(key: str, value: str) -> dict[str, Any]:
        """Keep a value."""
        return {"kept": True}

    def send(to: str, file: str) -> dict[str, Any]:
        """Send a file."""
        return {"pages": 12}

    return [
        find_order,
        refund,
        find_rule,
        find_user,
        cancel,
        get_weather,
        delete_user,
        remember,
        send,
    ]


if __name__ == "__main__":
    print(json.dumps(evaluate_all(sys.argv[1]), indent=1))

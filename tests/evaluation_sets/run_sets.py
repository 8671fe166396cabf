"""Runs the eval sets with google-adk or with Ostinato, and records the verdicts.

    python -m tests.evaluation_sets.run_sets google.adk > tests/evaluation_sets/verdicts.json

needs an environment with `google-adk[eval]==2.3.0`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.evaluation_sets.agents import make_agents

SETS = Path(__file__).parent / "sets"
CONFIGS = SETS / "configs.json"
OLD_TEST = ".test.json"
_APP = "desk"


def list_sets() -> list[Path]:
    """Return the files of the sets."""
    files = [path for path in SETS.glob("*.json") if path != CONFIGS]
    return sorted(files)


def run_set(package: str, file: Path) -> dict[str, Any]:
    """Return the verdicts of a set: by case, the status, and status and score of each metric.

    Args:
      package: `google.adk` or `ostinato`.
      file: the set.
    """
    if file.name.endswith(OLD_TEST):
        return asyncio.run(_run_test_file(package, file))
    return asyncio.run(_run_eval_set(package, file))


def _load_config(package: str, file: Path) -> Any:
    configs = json.loads(CONFIGS.read_text(encoding="utf-8"))
    given = configs.get(file.name.split(".")[0], {})
    found = import_module(f"{package}.evaluation.eval_config")
    if not given:
        return found.get_evaluation_criteria_or_default(None)
    return found.EvalConfig.model_validate_json(json.dumps(given))


async def _run_eval_set(package: str, file: Path) -> dict[str, Any]:
    evaluation = f"{package}.evaluation"
    local_sets = import_module(f"{evaluation}.local_eval_sets_manager")
    base = import_module(f"{evaluation}.base_eval_service")
    sets = import_module(f"{evaluation}.in_memory_eval_sets_manager").InMemoryEvalSetsManager()
    config = _load_config(package, file)
    eval_set = local_sets.load_eval_set_from_file(str(file), file.name)
    sets.create_eval_set(_APP, eval_set.eval_set_id)
    for case in eval_set.eval_cases:
        sets.add_eval_case(_APP, eval_set.eval_set_id, case)
    provider = import_module(f"{evaluation}.simulation.user_simulator_provider")
    service = import_module(f"{evaluation}.local_eval_service").LocalEvalService(
        root_agent=make_agents(package)["desk"],
        eval_sets_manager=sets,
        metric_evaluator_registry=_make_registry(package, config),
        user_simulator_provider=provider.UserSimulatorProvider(config.user_simulator_config),
    )
    request = base.InferenceRequest(
        app_name=_APP,
        eval_set_id=eval_set.eval_set_id,
        inference_config=base.InferenceConfig(parallelism=1),
    )
    inferences = [one async for one in service.perform_inference(request)]
    metrics = import_module(f"{evaluation}.eval_config").get_eval_metrics_from_config(config)
    evaluate = base.EvaluateRequest(
        inference_results=inferences, evaluate_config=base.EvaluateConfig(eval_metrics=metrics)
    )
    try:
        results = [one async for one in service.evaluate(evaluate)]
    except Exception as error:  # google-adk stops the whole evaluation for some cases
        return {"error": type(error).__name__}
    return {one.eval_id: _describe(one) for one in sorted(results, key=lambda one: one.eval_id)}


def _make_registry(package: str, config: Any) -> Any:
    found = import_module(f"{package}.evaluation.metric_evaluator_registry")
    registry = found.DEFAULT_METRIC_EVALUATOR_REGISTRY
    custom = import_module(f"{package}.evaluation.custom_metric_evaluator")
    kind = getattr(custom, "_CustomMetricEvaluator", None) or custom.CustomMetricEvaluator
    describe = import_module(f"{package}.cli.cli_eval").get_default_metric_info
    for name in config.custom_metrics or ():
        registry.register_evaluator(describe(name), kind)
    return registry


def _describe(result: Any) -> dict[str, Any]:
    return {
        "status": result.final_eval_status.name,
        "metrics": {
            one.metric_name: [
                one.eval_status.name,
                None if one.score is None else round(one.score, 6),
            ]
            for one in result.overall_eval_metric_results
        },
    }


async def _run_test_file(package: str, file: Path) -> dict[str, Any]:
    """Run a file as a test does: AgentEvaluator raises AssertionError, or nothing."""
    evaluator = import_module(f"{package}.evaluation.agent_evaluator")
    module = _agent_module(package)
    try:
        await evaluator.AgentEvaluator.evaluate(
            module, str(file), num_runs=1, print_detailed_results=False
        )
    except AssertionError:
        return {"verdict": "FAILED"}
    return {"verdict": "PASSED"}


def _agent_module(package: str) -> str:
    """Register a module whose agent AgentEvaluator finds, and return its name."""
    name = f"evaluation_sets_{package.replace('.', '_')}"
    module = type(sys)(name)
    module.agent = type(sys)(f"{name}.agent")  # type: ignore[attr-defined]
    module.agent.root_agent = make_agents(package)["desk"]
    sys.modules[name] = module
    return name


def main() -> None:
    """Print the verdicts of all sets as JSON."""
    logging.disable(logging.CRITICAL)
    package = sys.argv[1]
    verdicts = {file.name: run_set(package, file) for file in list_sets()}
    print(json.dumps(verdicts, indent=2, ensure_ascii=False, sort_keys=True))


if __name__ == "__main__":
    main()

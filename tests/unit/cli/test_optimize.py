"""`ostinato optimize`: GEPA over eval cases. GEPA itself is stood in for by a small loop."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ostinato.cli.main import main
from ostinato.evaluation.prompt_optimization import PROMPT
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.models.registry import LLMRegistry
from ostinato.testing.scripted_model import responses

AGENT = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel


def answer(request):
    return "yes" if "politely" in str(request.config.system_instruction) else "no"


root_agent = Agent(name="echo", model=FunctionModel(answer), instruction={instruction})
"""
CASE = {
    "eval_id": "one",
    "conversation": [
        {
            "user_content": {"role": "user", "parts": [{"text": "hello"}]},
            "final_response": {"role": "model", "parts": [{"text": "yes"}]},
        }
    ],
}
SAMPLER = {
    "eval_config": {"criteria": {"response_match_score": 0.8}},
    "app_name": "",
    "train_eval_set": "s",
}


ANSWERS: dict[str, Any] = {"writer": "Answer politely."}


class Writer(BaseLlm):
    """Writes instructions."""

    model: str = "instruction-writer-1"

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["instruction-writer-.*"]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        assert "hello" in str(llm_request.contents)
        if ANSWERS["writer"] == "wait":
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)
        for one in responses(ANSWERS["writer"], stream=False):
            yield one


def optimize(
    seed_candidate: dict[str, str], trainset: Any, valset: Any, adapter: Any, **options: Any
) -> Any:
    """Do one round of what GEPA does."""
    assert options["max_metric_calls"] == 7
    seen = adapter.evaluate(trainset, seed_candidate, capture_traces=True)
    data = adapter.make_reflective_dataset(seed_candidate, seen, [PROMPT])
    better = {PROMPT: options["reflection_lm"](json.dumps(data[PROMPT]))}
    scores = [
        sum(adapter.evaluate(valset, one).scores) / len(valset) for one in (seed_candidate, better)
    ]
    return SimpleNamespace(
        best_idx=scores.index(max(scores)), best_candidate=better, val_aggregate_scores=scores
    )


@pytest.fixture
def gepa(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("gepa")
    module.optimize = optimize  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gepa", module)
    LLMRegistry.register(Writer)


def write(folder: Path, instruction: str = "'Answer.'", **sampler: Any) -> list[str]:
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT.format(instruction=instruction))
    (folder / "s.evalset.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": [CASE]}))
    given = {**SAMPLER, "app_name": folder.name, **sampler}
    (folder / "sampler.json").write_text(json.dumps(given))
    limits = {"optimizer_model": "instruction-writer-1", "max_metric_calls": 7}
    (folder / "optimizer.json").write_text(json.dumps(limits))
    return [
        "optimize",
        str(folder),
        "--sampler_config_file_path",
        str(folder / "sampler.json"),
        "--optimizer_config_file_path",
        str(folder / "optimizer.json"),
    ]


@pytest.mark.usefixtures("gepa")
def test_the_best_instruction_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(write(tmp_path / "optimized_a")) == 0
    out = capsys.readouterr().out
    assert "Answer politely." in out
    assert "passed: 100%; before: 0%" in out


@pytest.mark.usefixtures("gepa")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_eval_set": "none"}, "no eval set 'none'"),
        ({"train_eval_case_ids": ["x"]}, "has no case 'x'"),
        ({"validation_eval_case_ids": ["y"]}, "has no case 'y'"),
        ({"train_set": "s"}, "train_set"),
        ({"instruction": "lambda context: 'x'"}, "cannot be optimized"),
    ],
)
def test_bad_files_end_with_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    message: str,
) -> None:
    assert main(write(tmp_path / "optimized_b", **changes)) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("gepa")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ConnectionError("down"), "wrote no instruction: ConnectionError: down"),
        (LlmResponse(error_code="SAFETY", error_message="blocked"), "SAFETY: blocked"),
        (" ", "its answer is empty"),
    ],
)
def test_a_model_that_writes_nothing_ends_with_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    answer: Any,
    message: str,
) -> None:
    monkeypatch.setitem(ANSWERS, "writer", answer)
    assert main(write(tmp_path / "optimized_d")) == 2
    error = capsys.readouterr().err
    assert "The model 'instruction-writer-1'" in error and message in error


@pytest.mark.usefixtures("gepa")
def test_cases_that_cannot_be_evaluated_end_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mocks = {"source": "function", "function": "json.loads"}
    config = {"criteria": {"response_match_score": 0.8}, "tool_mocks": mocks}
    words = write(tmp_path / "optimized_e", eval_config=config)
    agent = tmp_path / "optimized_e" / "agent.py"
    called = 'Agent(name="echo", model=FunctionModel(lambda r: call("look")), tools=[look], '
    look = "from ostinato.testing import call\n\n\ndef look():\n    pass\n\n\n"
    agent.write_text(
        agent.read_text()
        .replace("def answer", f"{look}def answer")
        .replace('Agent(name="echo", model=FunctionModel(answer), ', called)
    )
    assert main(words) == 2
    assert "No case could be evaluated: The mock of a tool failed" in capsys.readouterr().err


@pytest.mark.usefixtures("gepa")
def test_an_interrupt_ends_the_thread_of_gepa(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ANSWERS, "writer", "wait")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(write(tmp_path / "optimized_f")) == 130
    finally:
        signal.signal(signal.SIGINT, before)


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gepa", None)
    assert main(write(tmp_path / "optimized_c")) == 2
    assert "ostinato[optimize]" in capsys.readouterr().err

"""AgentEvaluator: files and folders, runs, failures of all cases, and the old form."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ostinato.errors import InputValidationError
from ostinato.evaluation.agent_evaluator import AgentEvaluator
from ostinato.evaluation.eval_config import EvalConfig
from ostinato.evaluation.evaluation_generator import EvaluationGenerator
from ostinato.evaluation.local_eval_sets_manager import format_eval_set, load_eval_set_from_file
from ostinato.models.request_text import instruction_text
from ostinato.sessions import Session
from tests.support.optionals import parts_of, present

from .builders import agent, case, eval_set, said, text, turn

RESPONSE = EvalConfig(criteria={"response_match_score": 1.0})


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module `evaluated_shop` whose agent answers with the message."""
    made: Any = ModuleType("evaluated_shop")
    module: Any = ModuleType("evaluated_shop.agent")
    made.agent = module
    module.root_agent = agent(said)
    monkeypatch.setitem(sys.modules, "evaluated_shop", made)
    monkeypatch.setitem(sys.modules, "evaluated_shop.agent", module)
    return made


async def test_a_passing_set_raises_nothing(module: Any) -> None:
    asked: list[str] = []
    module.agent.root_agent = agent(lambda req: asked.append(said(req)) or said(req))
    one = eval_set(case("a", turn("hello", "hello")))
    for name in ("evaluated_shop", "evaluated_shop.agent"):
        await AgentEvaluator.evaluate_eval_set(name, one, eval_config=RESPONSE)
    assert asked == ["hello"] * 4  # two runs each


async def test_all_failures_are_listed(module: Any, capsys: Any) -> None:
    cases = eval_set(
        case("a", turn("hello", "goodbye")), case("b", turn("x", "x")), case("c", turn("y", "z"))
    )
    with pytest.raises(AssertionError) as caught:
        await AgentEvaluator.evaluate_eval_set("evaluated_shop", cases, eval_config=RESPONSE)
    message = str(caught.value)
    assert "2 failures" in message
    assert "a: response_match_score: expected at least 1, got 0" in message
    assert "c: response_match_score" in message and "b:" not in message
    printed = capsys.readouterr().out
    assert "expected answer: goodbye" in printed and "answer: hello" in printed


async def test_the_mean_of_the_runs_counts() -> None:
    answers = iter(["right", "wrong"] * 2)
    one = eval_set(case("a", turn("q", "right")))
    half = EvalConfig(criteria={"response_match_score": 0.5})
    root = agent(lambda _: next(answers))
    await AgentEvaluator.evaluate_eval_set(root, one, eval_config=half, num_runs=2)
    with pytest.raises(AssertionError, match=r"expected at least 0\.6, got 0\.5"):
        await AgentEvaluator.evaluate_eval_set(root, one, criteria={"response_match_score": 0.6})


async def test_an_agent_that_cannot_run_fails_the_test() -> None:
    def broken(_: Any) -> str:
        raise RuntimeError("no model here")

    with pytest.raises(AssertionError, match="the agent failed: RuntimeError: no model here"):
        await AgentEvaluator.evaluate_eval_set(
            agent(broken), eval_set(case("a", turn())), eval_config=RESPONSE
        )


async def test_a_metric_that_cannot_be_evaluated_fails_the_test() -> None:
    config = EvalConfig(criteria={"response_mach_score": 1.0})
    with pytest.raises(AssertionError, match="could not be evaluated: NotFoundError"):
        await AgentEvaluator.evaluate_eval_set(
            agent(said), eval_set(case("a", turn())), eval_config=config
        )


async def test_all_test_files_of_a_folder_count(tmp_path: Path, module: Any) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "one.test.json").write_text(format_eval_set(eval_set(case("x", turn("q", "z")))))
    (inner / "two.test.json").write_text(json.dumps([{"query": "q", "reference": "other"}]))
    (inner / "test_config.json").write_text('{"criteria": {"response_match_score": 0.9}}')
    (inner / "else.json").write_text("not read")
    with pytest.raises(AssertionError) as caught:
        await AgentEvaluator.evaluate("evaluated_shop", str(tmp_path), num_runs=1)
    message = str(caught.value)
    assert "x: response_match_score: expected at least 0.8" in message
    assert "two.test.json: response_match_score: expected at least 0.9" in message


async def test_an_initial_session_goes_with_the_old_form_only(tmp_path: Path) -> None:
    old, new = tmp_path / "old.test.json", tmp_path / "new.test.json"
    session = tmp_path / "session.json"
    session.write_text('{"state": {"who": "Ann"}}')
    old.write_text(json.dumps([{"query": "q", "reference": "For Ann", "expected_tool_use": []}]))
    new.write_text(format_eval_set(eval_set(case("x", turn("q", "z")))))
    root = agent(lambda req: instruction_text(req.config).splitlines()[0], instruction="For {who}")
    (tmp_path / "test_config.json").write_text('{"criteria": {"response_match_score": 1}}')
    await AgentEvaluator.evaluate(root, str(old), initial_session_file=str(session))
    with pytest.raises(InputValidationError, match="session_input of its cases"):
        await AgentEvaluator.evaluate(root, str(new), initial_session_file=str(session))


async def test_a_sub_agent_can_be_evaluated() -> None:
    child = agent(lambda _: "child").clone(update={"name": "child"})
    root = agent(lambda _: "root", sub_agents=[child])
    one = eval_set(case("a", turn("q", "child")))
    await AgentEvaluator.evaluate_eval_set(root, one, eval_config=RESPONSE, agent_name="child")
    with pytest.raises(InputValidationError, match="'nobody' is not in the tree"):
        await AgentEvaluator.evaluate_eval_set(root, one, eval_config=RESPONSE, agent_name="nobody")


async def test_an_agent_may_be_made_by_a_function(module: Any) -> None:
    made: list[Any] = []

    async def get_agent_async() -> Any:
        made.append(agent(said))
        return made[-1], None

    del module.agent.root_agent
    module.agent.get_agent_async = get_agent_async
    one = eval_set(case("a", turn("hello", "hello")))
    await AgentEvaluator.evaluate_eval_set("evaluated_shop", one, eval_config=RESPONSE)
    assert len(made) == 1


@pytest.mark.parametrize("name", ["json", "evaluated_shop"])
async def test_a_module_without_an_agent_is_refused(module: Any, name: str) -> None:
    del module.agent.root_agent
    with pytest.raises(InputValidationError, match=r"no member 'agent'|has no agent"):
        await AgentEvaluator.evaluate_eval_set(
            name, eval_set(case("a", turn())), eval_config=RESPONSE
        )


async def test_wrong_calls_are_refused(tmp_path: Path) -> None:
    one = eval_set(case("a", turn()))
    with pytest.raises(InputValidationError, match="needs an eval_config"):
        await AgentEvaluator.evaluate_eval_set(agent(said), one)
    with pytest.raises(InputValidationError, match="num_runs must be 1 or more"):
        await AgentEvaluator.evaluate_eval_set(agent(said), one, eval_config=RESPONSE, num_runs=0)
    with pytest.raises(InputValidationError, match=r"has no \.test\.json files"):
        await AgentEvaluator.evaluate(agent(said), str(tmp_path))
    with pytest.raises(InputValidationError, match="There is no file"):
        await AgentEvaluator.evaluate(agent(said), str(tmp_path / "gone.test.json"))


def test_old_data_is_migrated(tmp_path: Path) -> None:
    old, new = tmp_path / "old.test.json", tmp_path / "new.test.json"
    old.write_text(json.dumps([{"query": "q", "reference": "r"}]))
    AgentEvaluator.migrate_eval_data_to_new_schema(str(old), str(new))
    read = load_eval_set_from_file(str(new), "x")
    assert present(read.eval_cases[0].conversation)[0].final_response == text("model", "r")


async def test_responses_are_generated_with_a_reset(module: Any) -> None:
    resets: list[int] = []
    module.agent.reset_data = lambda: resets.append(1)
    (found,) = await EvaluationGenerator.generate_responses(
        eval_set(case("a", turn("one"), turn("two"))), "evaluated_shop", repeat_num=2
    )
    assert len(resets) == 2
    texts = [
        [parts_of(present(one.final_response))[0].text for one in run] for run in found.responses
    ]
    assert texts == [["one", "two"], ["one", "two"]]


def test_a_stored_session_answers_old_turns(tmp_path: Path) -> None:
    events = [
        {"author": "user", "invocationId": "1", "content": {"parts": [{"text": "q"}]}},
        {
            "author": "bot",
            "invocationId": "1",
            "content": {"parts": [{"functionCall": {"name": "t", "args": {"a": 1}}}]},
        },
        {"author": "bot", "invocationId": "1", "content": {"parts": [{"text": "r"}]}},
    ]
    session = Session.model_validate({"id": "s", "app_name": "a", "user_id": "u", "events": events})
    file = tmp_path / "session.json"
    file.write_text(session.model_dump_json(by_alias=True, exclude_none=True))
    found = EvaluationGenerator.generate_responses_from_session(
        str(file), [[{"query": "q"}, {"query": "other"}]]
    )
    assert found == [
        [
            {
                "query": "q",
                "actual_tool_use": [{"tool_name": "t", "tool_input": {"a": 1}}],
                "response": "r",
            },
            {"query": "other", "actual_tool_use": [], "response": None},
        ]
    ]

"""`ostinato eval` and `ostinato eval_set`: sets, configs, reports, gates and exit codes."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from ostinato.cli import evaluate
from ostinato.cli.cli_error import CliError
from ostinato.cli.cli_eval import (
    get_default_metric_info,
    get_eval_sets_manager,
    get_root_agent,
    pretty_print_eval_result,
    try_get_reset_func,
)
from ostinato.cli.eval_sets import parse_and_get_evals_to_run
from ostinato.cli.main import main
from ostinato.evaluation.local_eval_sets_manager import load_eval_set_from_file
from tests.support.optionals import present

AGENT = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel

KEPT = []


def reset_data():
    KEPT.clear()


def answer(request):
    said = request.contents[-1].parts[-1].text
    if said == "break":
        raise RuntimeError("no model")
    return said


root_agent = Agent(name="echo", model=FunctionModel(answer))
"""


def case(eval_id: str, message: str, answer: str) -> dict[str, Any]:
    return {
        "eval_id": eval_id,
        "conversation": [
            {
                "user_content": {"role": "user", "parts": [{"text": message}]},
                "final_response": {"role": "model", "parts": [{"text": answer}]},
            }
        ],
    }


def write_set(file: Path, *cases: dict[str, Any]) -> str:
    name = file.name.split(".")[0]
    file.write_text(json.dumps({"eval_set_id": name, "eval_cases": list(cases)}))
    return str(file)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Each test has a package of its own: an imported one stays in the process.
    folder = tmp_path / f"shop_{abs(hash(str(tmp_path)))}"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import agent\n")
    (folder / "agent.py").write_text(AGENT)
    write_set(folder / "good.evalset.json", case("a", "hi", "hi"), case("b", "ho", "ho"))
    return folder


def test_all_sets_of_the_folder_run(shop: Path, capsys: Any) -> None:
    assert main(["eval", str(shop)]) == 0
    shown = capsys.readouterr().out
    assert "2 of 2 cases passed" in shown and "✓ a" in shown
    (file,) = (shop / ".adk" / "eval_history").iterdir()
    assert file.name.startswith(f"{shop.name}_good_")


def test_a_failed_case_shows_its_turns(shop: Path, capsys: Any) -> None:
    file = write_set(shop / "bad.evalset.json", case("a", "hi", "hi"), case("b", "x", "other"))
    assert main(["eval", str(shop), file]) == 1
    shown = capsys.readouterr().out
    assert "expected answer: other" in shown and "failed is 1" in shown
    assert "turn 1: hi" not in shown
    assert main(["eval", str(shop), "bad:a", "--print_detailed_results"]) == 0
    assert "turn 1: hi" in capsys.readouterr().out
    assert main(["eval", str(shop), f"{file}:a"]) == 0


def test_the_gates_decide_the_exit_code(shop: Path, capsys: Any) -> None:
    write_set(shop / "bad.evalset.json", case("a", "hi", "hi"), case("b", "x", "other"))
    assert main(["eval", str(shop), "bad", "--fail-on", "pass_rate<50%"]) == 0
    assert main(["eval", str(shop), "bad", "--fail-on", "pass_rate<0.6"]) == 1
    assert "pass_rate is 0.5" in capsys.readouterr().out


METRICS = """
def fail(*given):
    raise ConnectionError("no judge")


def end(*given):
    raise SystemExit(0)
"""


@pytest.mark.parametrize("name", ["fail", "end"])
@pytest.mark.parametrize("gates", ["failed>0,errors>0", "pass_rate<90%,flaky>0", "cost>5"])
def test_a_metric_without_a_verdict_fails_the_command(
    shop: Path, tmp_path: Path, capsys: Any, name: str, gates: str
) -> None:
    (shop / "metrics.py").write_text(METRICS)
    metric = {"code_config": {"name": f"{shop.name}.metrics.{name}"}}
    config = {"criteria": {"own": 1, "response_match_score": 1}, "custom_metrics": {"own": metric}}
    (shop / "test_config.json").write_text(json.dumps(config))
    words = ["--fail-on", gates, "--junit", str(tmp_path / "junit.xml")]
    assert main(["eval", str(shop), "good", *words]) == 2
    captured = capsys.readouterr()
    shown = captured.out
    assert "0 of 2 cases passed, 2 could not be evaluated" in shown and "? a" in shown
    assert "error: no case could be evaluated: own: " in captured.err
    assert 'tests="2" failures="0" errors="2"' in (tmp_path / "junit.xml").read_text()


def test_a_config_is_found_beside_the_file(shop: Path) -> None:
    file = write_set(shop / "bad.evalset.json", case("b", "some words", "some quite other words"))
    assert main(["eval", str(shop), file]) == 1
    (shop / "test_config.json").write_text('{"criteria": {"response_match_score": 0.5}}')
    assert main(["eval", str(shop), file]) == 0
    strict = shop / "strict.json"
    strict.write_text('{"criteria": {"response_match_score": 1}}')
    assert main(["eval", str(shop), file, "--config_file_path", str(strict)]) == 1


def test_reports_are_written(shop: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("junit", "markdown", "html")}
    options = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    assert main(["eval", str(shop), *options]) == 0
    assert "<testsuite " in files["junit"].read_text()
    assert files["markdown"].read_text().startswith("# Evaluation")
    assert files["html"].read_text().startswith("<!doctype html>")


def test_runs_are_repeated(shop: Path, capsys: Any) -> None:
    assert main(["eval", str(shop), "good:a", "--num-runs", "3"]) == 0
    shown = capsys.readouterr().out
    assert "[3/3]" in shown
    assert "a: 3 of 3 passed (95 % interval 44% to 100%), pass@3 1.00, pass^3 1.00" in shown


def test_a_baseline_is_compared(shop: Path, capsys: Any) -> None:
    assert main(["eval", str(shop)]) == 0
    (before,) = (shop / ".adk" / "eval_history").iterdir()
    write_set(shop / "good.evalset.json", case("a", "hi", "hi"), case("b", "ho", "changed"))
    options = ["--baseline", str(before), "--fail-on", "worse>0"]
    assert main(["eval", str(shop), "good", *options]) == 1
    assert "1 worse" in capsys.readouterr().out


def test_a_case_of_the_baseline_that_did_not_run_breaks_the_gate_gone(
    shop: Path, capsys: Any
) -> None:
    assert main(["eval", str(shop), "good"]) == 0
    (before,) = (shop / ".adk" / "eval_history").iterdir()
    write_set(shop / "good.evalset.json", case("a", "hi", "hi"))
    options = ["eval", str(shop), "good", "--baseline", str(before), "--fail-on"]
    assert main([*options, "worse>0"]) == 0
    assert "not run, but in the baseline: good: b" in capsys.readouterr().out
    assert main([*options, "worse>0,gone>0"]) == 1
    assert "gone is 1 (gone>0 fails)" in capsys.readouterr().out


def test_a_set_for_another_app_is_pointed_out(shop: Path, capsys: Any) -> None:
    other = case("a", "x", "x") | {"session_input": {"app_name": "other", "user_id": "u"}}
    file = write_set(shop / "x.evalset.json", other, case("b", "y", "y"))
    assert main(["eval", str(shop), file]) == 0
    assert "1 of 2 cases name another app" in capsys.readouterr().out


def test_a_case_whose_agent_fails_is_a_failed_case(shop: Path, tmp_path: Path, capsys: Any) -> None:
    file = write_set(shop / "x.evalset.json", case("b", "break", "x"))
    junit = tmp_path / "junit.xml"
    assert main(["eval", str(shop), file, "--junit", str(junit)]) == 1
    captured = capsys.readouterr()
    assert "✗ b  RuntimeError: no model" in captured.out and not captured.err
    assert "0 of 1 cases passed\n" in captured.out
    assert "failed is 1" in captured.out and "errors is" not in captured.out
    assert 'failures="1" errors="0"' in junit.read_text()
    assert main(["eval", str(shop), file, "--fail-on", "errors>0"]) == 0


def test_a_simulated_user_that_fails_leaves_the_case_not_evaluated(shop: Path, capsys: Any) -> None:
    scenario = {"starting_prompt": "hi", "conversation_plan": "Say hi."}
    file = write_set(shop / "x.evalset.json", {"eval_id": "a", "conversation_scenario": scenario})
    config = {"criteria": {"tool_call_count_v1": 9}, "user_simulator_config": {"model": "gone"}}
    (shop / "test_config.json").write_text(json.dumps(config))
    assert main(["eval", str(shop), file]) == 2
    captured = capsys.readouterr()
    assert "? a" in captured.out and "1 could not be evaluated" in captured.out
    assert "error: no case could be evaluated: The simulated user" in captured.err


def test_results_that_cannot_be_stored_are_shown(shop: Path, capsys: Any) -> None:
    (shop / ".adk").write_text("in the way")
    junit = shop / "junit.xml"
    assert main(["eval", shop.name, "good", "--junit", str(junit)]) == 2
    shown = capsys.readouterr()
    assert "2 of 2 cases passed" in shown.out and 'tests="2"' in junit.read_text()
    place = f"{shop.name}/.adk"
    assert f"error: The results of 'good' cannot be stored in {place}: Not a dir" in shown.err
    assert str(shop.parent) not in shown.err


@pytest.mark.parametrize(
    ("eval_set_id", "reason"), [("x" * 300, "File name too long"), ("a\0b", "embedded null")]
)
def test_results_without_a_possible_file_name(
    shop: Path, capsys: Any, eval_set_id: str, reason: str
) -> None:
    file = shop / "long.evalset.json"
    file.write_text(json.dumps({"eval_set_id": eval_set_id, "eval_cases": [case("a", "x", "x")]}))
    assert main(["eval", shop.name, str(file)]) == 2
    error = capsys.readouterr().err
    assert reason in error and str(shop.parent) not in error


WRONG = [
    (["good", "{file}"], "name either files or ids"),
    (["nothing"], "no eval set 'nothing'"),
    (["good:zzz"], "has no case 'zzz'"),
    (["{file}:zzz"], "has no case 'zzz'"),
    (["{empty}"], "have no cases"),
    (["{twice}"], "t.evalset.json, line 1, eval_cases: eval_cases[0] and eval_cases[1] have both"),
    (["t"], "have both the eval_id 'a'"),
    (["good", "--config_file_path", "gone.json"], "no config file"),
    (["good", "--fail-on", "x>1"], "no gate 'x'"),
    (["good", "--num-runs", "0"], "--num-runs has to be 1 or more"),
    (["good", "--baseline", "gone.json"], "gone.json cannot be read"),
    (["good", "--fail-on", "worse>0"], "name one with --baseline"),
    (["good", "--fail-on", "failed>0,better<1"], "The gate better<1 compares with an earlier"),
    (["good", "--fail-on", "worse>0", "--baseline", "{other}"], "has none of the cases"),
    (["good", "--max-tokens", "0"], "--max-tokens has to be 1 or more, not 0"),
    (["good", "--max-tokens", "-1"], "--max-tokens has to be 1 or more, not -1"),
    (["good", "--max-cost", "-1"], "--max-cost has to be a number above 0, not -1"),
    (["good", "--max-cost", "nan"], "--max-cost has to be a number above 0, not nan"),
    (["good", "--max-cost", "inf"], "--max-cost has to be a number above 0, not inf"),
    (["good", "--to", "x"], "belong to `eval add"),
    (["good", "--enable_features", "NOPE"], "no feature 'NOPE'"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_usage_is_refused(shop: Path, capsys: Any, words: list[str], message: str) -> None:
    other = shop / "other.evalset_result.json"
    other.write_text('{"eval_set_result_id": "r", "eval_set_id": "other", "eval_case_results": []}')
    names = {
        "other": str(other),
        "file": write_set(shop / "f.evalset.json", case("a", "x", "x")),
        "empty": write_set(shop / "empty.evalset.json"),
        "twice": write_set(shop / "t.evalset.json", case("a", "x", "x"), case("a", "x", "x")),
    }
    assert main(["eval", str(shop), *(word.format(**names) for word in words)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('{"criteria": {"response_mach_score": 1}}', "Did you mean 'response_match_score'"),
        ('{"criteria": {"response_match_score": 2}}', "must be from 0 to 1"),
        ('{"criteria": {}}', "no criteria"),
        ("{", "line 1: not valid JSON"),
        ('{"criteria": {"response_match_score": false}}', "a threshold is a number, not False"),
        (
            '{"criteria": {"response_match_score": {"threshold": true}}}',
            "a threshold is a number, not True",
        ),
        ('{"criteria": {"token_usage_v1": NaN}}', "a threshold is a number, not nan"),
        (
            '{"criteria": {"response_match_score": 1},\n "criteria": {"response_match_score": 0}}',
            "c.json, lines 1 and 2: an object holds the key 'criteria' twice",
        ),
        (
            '{"criteria": {"response_match_score": 1, "response_match_score": 0}}',
            "an object holds the key 'response_match_score' twice",
        ),
        (
            '{"criteria": {"own": 1}, "custom_metrics": {"own": {"code_config": {"name": "a.b"}}}}',
            "custom metric cannot be loaded",
        ),
    ],
)
def test_a_wrong_config_is_refused(shop: Path, capsys: Any, config: str, message: str) -> None:
    file = shop / "c.json"
    file.write_text(config)
    assert main(["eval", str(shop), "good", "--config_file_path", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_an_interrupt_keeps_the_results(
    shop: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = evaluate.run_evaluation

    async def interrupted(service: Any, plan: Any, on_result: Any, found: Any) -> Any:
        def stop(result: Any) -> None:
            on_result(result)
            signal.raise_signal(signal.SIGINT)

        return await run(service, plan, stop, found)

    monkeypatch.setattr(evaluate, "run_evaluation", interrupted)
    # A program that was started in the background ignores the signal, and so do its tests.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["eval", str(shop), "good", "--parallelism", "1"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    shown = capsys.readouterr().out
    assert "1 of 2 runs did not end." in shown and "(interrupted)" in shown
    (file,) = (shop / ".adk" / "eval_history").iterdir()
    assert len(json.loads(file.read_text())["eval_case_results"]) == 1


STOPPED_AGENT = """
import signal

from ostinato.agents import Agent
from ostinato.testing import FunctionModel


def answer(request):
    said = request.contents[-1].parts[-1].text
    if said == "block":
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    return said


root_agent = Agent(name="echo", model=FunctionModel(answer))
"""


def test_cases_that_ended_before_one_that_blocks_are_kept(shop: Path, capsys: Any) -> None:
    (shop / "agent.py").write_text(STOPPED_AGENT)
    cases = [case("a", "hi", "hi"), case("b", "ho", "ho"), case("c", "block", "-")]
    file = write_set(shop / "blocked.evalset.json", *cases)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["eval", str(shop), file, "--parallelism", "1"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert "1 of 3 runs did not end." in capsys.readouterr().out
    (stored,) = (shop / ".adk" / "eval_history").iterdir()
    results = json.loads(stored.read_text())["eval_case_results"]
    assert [one["eval_id"] for one in results] == ["a", "b"]


def test_a_session_becomes_a_case(shop: Path, capsys: Any) -> None:
    assert main(["run", str(shop), "hello", "--session", "s1"]) == 0
    assert main(["run", str(shop), "again", "--session", "s1"]) == 0
    file = shop / "from.evalset.json"
    assert main(["eval", "add", "s1", "--to", str(file)]) == 0
    assert "with 2 turns" in capsys.readouterr().out
    assert main(["eval", str(shop), "from"]) == 0
    (first,) = load_eval_set_from_file(str(file), "x").eval_cases
    second = (first.conversation or [])[1].invocation_id
    words = ["eval", "add", "s1", "--to", str(file), "--invocation", second]
    assert main(words) == 2
    assert "already; give another --id" in capsys.readouterr().err
    assert main([*words, "--id", "only_second"]) == 0
    case_read = load_eval_set_from_file(str(file), "x").eval_cases[1]
    assert case_read.session_input is not None and len(case_read.session_input.events) == 2
    assert main(["eval", str(shop), "from:only_second"]) == 0
    assert main(["eval", "add", "s1"]) == 2


ASKING_AGENT = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool


def big(amount: int) -> str:
    return "moved"


def answer(request):
    part = request.contents[-1].parts[-1]
    if part.function_response:
        return f"done {part.function_response.response}"
    return call("big", amount=5) if part.text.startswith("big") else part.text


tool = FunctionTool(big, require_confirmation=True)
root_agent = Agent(name="echo", model=FunctionModel(answer), tools=[tool])
"""


def test_a_turn_with_an_approval_becomes_a_turn_up_to_the_question(shop: Path, capsys: Any) -> None:
    (shop / "agent.py").write_text(ASKING_AGENT)
    run = ["run", str(shop), "--session", "s1"]
    assert main([*run, "hello"]) == main([*run, "big one"]) == 0
    (call_id,) = set(re.findall(r"--approve (\S+)", capsys.readouterr().out))
    assert main([*run, "--approve", call_id]) == main([*run, "bye"]) == 0
    assert "moved" in capsys.readouterr().out
    file = shop / "from.evalset.json"
    assert main(["eval", "add", "s1", "--to", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "with 3 turns" in shown
    assert "turn 2 ('big one') ends before the answer to big;" in shown
    (found,) = load_eval_set_from_file(str(file), "x").eval_cases
    turns = found.conversation or []
    assert [(one.user_content.parts or [])[0].text for one in turns] == ["hello", "big one", "bye"]
    assert main(["eval", str(shop), "from"]) == 0


def test_eval_sets_are_created_and_filled(shop: Path, tmp_path: Path, capsys: Any) -> None:
    assert main(["eval_set", "create", str(shop), "new"]) == 0
    assert main(["eval_set", "create", str(shop), "new"]) == 2
    scenarios, session = tmp_path / "scenarios.json", tmp_path / "session.json"
    scenario = {"starting_prompt": "hi", "conversation_plan": "plan"}
    scenarios.write_text(json.dumps({"scenarios": [scenario, scenario]}))
    session.write_text('{"app_name": "shop", "user_id": "ann"}')
    words = ["eval_set", "add_eval_case", str(shop), "new", "--scenarios_file", str(scenarios)]
    assert main([*words, "--session_input_file", str(session)]) == 0
    shown = capsys.readouterr()
    assert "already" in shown.out and "already exists" in shown.err
    (added,) = load_eval_set_from_file(str(shop / "new.evalset.json"), "x").eval_cases
    assert re.fullmatch("[0-9a-f]{8}", added.eval_id)
    assert added.session_input is not None and added.session_input.user_id == "ann"
    assert main([*words, "--session_input_file", "gone.json"]) == 2


def test_sets_and_cases_are_parsed(tmp_path: Path) -> None:
    odd = tmp_path / "a:b.json"
    odd.write_text("{}")
    for text in ("one:", "one: ,"):
        with pytest.raises(CliError, match="names no case behind the colon") as refused:
            parse_and_get_evals_to_run([text])
        assert refused.value.code == 2
    found = parse_and_get_evals_to_run(["one:a, b", "two", "one:c", str(odd)])
    assert found == {"one": ["a", "b", "c"], "two": [], str(odd): []}


def test_the_functions_of_google_adk_work(shop: Path, capsys: Any) -> None:
    assert get_root_agent(str(shop)).name == "echo"
    assert try_get_reset_func(str(shop))() is None
    sets = get_eval_sets_manager(None, str(shop.parent))
    assert sets.list_eval_sets(shop.name) == ["good"]
    info = get_default_metric_info("own", "Mine.")
    assert (info.metric_name, present(info.metric_value_info.interval).max_value) == ("own", 1.0)
    assert main(["eval", str(shop), "good:a"]) == 0
    (file,) = (shop / ".adk" / "eval_history").iterdir()
    result = json.loads(file.read_text())["eval_case_results"][0]
    capsys.readouterr()
    pretty_print_eval_result(evaluate.EvalCaseResult.model_validate(result))
    assert "response_match_score: PASSED, 1" in capsys.readouterr().out


def test_an_agent_that_cannot_be_imported_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "evaluated_broken"
    folder.mkdir()
    (folder / "agent.py").write_text("1 / 0")
    write_set(folder / "s.evalset.json", case("a", "hi", "hi"))
    assert main(["eval", str(folder)]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err

"""`ostinato conformance`: record and test."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.cli.main import main

pytest.importorskip("yaml")

AGENT = """
from tests.support.recorded_store import make_agent, serve
from ostinato.tools import ToolContext


def answer(request):
    {change}
    return serve(request)


def find_order(order: str, tool_context: ToolContext) -> dict:
    tool_context.state["seen"] = order
    return {{"order": order, "amount": {amount}}}


root_agent = make_agent(answer, instruction="{instruction}")
root_agent.tools = [find_order, *root_agent.tools[1:]]
"""
SPEC = """
description: finds an order
agent: {agent}
initial_state: {{known: 1}}
user_messages:
  - text: find A1
  - text: bye
    state_delta: {{more: 2}}
"""


def write(top: Path, agent: str, **changes: str) -> list[str]:
    fields = {"change": "pass", "amount": "10", "instruction": "Serve.", **changes}
    folder, case = top / agent, top / "cases" / "orders" / "finds"
    for one in (folder, case):
        one.mkdir(parents=True, exist_ok=True)
    (folder / "agent.py").write_text(AGENT.format(**fields))
    (case / "spec.yaml").write_text(SPEC.format(agent=agent))
    return [str(top / "cases"), "--agents", str(top)]


def move_recording(top: Path, agent: str, **changes: str) -> list[str]:
    """Let another agent play the recording: a module is loaded once per process."""
    return write(top, agent, **changes)


def test_a_recorded_case_passes_without_its_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = write(tmp_path, "conform_a")
    assert main(["conformance", "test", *words]) == 1  # nothing is recorded yet
    assert main(["conformance", "record", *words]) == 0
    recorded = (tmp_path / "cases/orders/finds/generated-recordings.yaml").read_text()
    assert "user_message_index: 1" in recorded and "tool_call:" in recorded
    assert main(["conformance", "test", *words]) == 0
    other = move_recording(tmp_path, "conform_b", change="raise RuntimeError('asked')", amount="99")
    assert main(["conformance", "test", *other]) == 0  # the recorded response counts
    assert "1 of 1 passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"instruction": "Serve better."}, "asks its model another thing"),
    ],
)
def test_another_request_fails(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, str],
    message: str,
) -> None:
    assert main(["conformance", "record", *write(tmp_path, "conform_c")]) == 0
    words = move_recording(tmp_path, "conform_d", **changes)
    assert main(["conformance", "test", *words]) == 1
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("description: x", "agent"),
        ("description: x\nagent: none", "There is no agent 'none'"),
        ("description: x\nagent: ../cases", "There is no agent"),
        ("a: [", "spec.yaml"),
        ("description: x\nagent: conform_e\nunknown: 1", "unknown"),
        ("description: x\nagent: conform_e\nuser_messages: [{}]", "neither text nor content"),
        (
            "description: x\nagent: conform_e\nuser_messages:\n- content: {parts: "
            "[{function_response: {name: f, response: {}}}]}",
            "answers 'f', which was not called",
        ),
    ],
)
def test_bad_cases_end_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: str, message: str
) -> None:
    words = write(tmp_path, "conform_e")
    (tmp_path / "cases/orders/finds/spec.yaml").write_text(spec)
    assert main(["conformance", "record", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "spec.yaml cannot be read: Is a directory"),
        pytest.param(
            "description: " + "[" * 5_000,
            "spec.yaml is nested too deeply",
            marks=pytest.mark.long,
        ),
        ("description: " + "9" * 6000, "spec.yaml: Exceeds the limit"),
    ],
)
def test_a_case_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, message: str
) -> None:
    words = write(tmp_path, "conform_unreadable")
    spec = tmp_path / "cases" / "orders" / "finds" / "spec.yaml"
    spec.unlink()
    spec.mkdir() if text is None else spec.write_text(text)
    assert main(["conformance", "record", *words]) == 2
    assert message in capsys.readouterr().err


FLOW = """
from ostinato.workflow import START, Workflow


def receipt(node_input):
    return "{result}"


root_agent = Workflow(name="flow", edges=[(START, receipt)])
"""


def test_a_changed_output_of_a_workflow_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = write(tmp_path, "conform_flow")
    (tmp_path / "conform_flow" / "agent.py").write_text(FLOW.format(result="Paid."))
    assert main(["conformance", "record", *words]) == 0
    assert main(["conformance", "test", *words]) == 0
    move_recording(tmp_path, "conform_other_flow")
    (tmp_path / "conform_other_flow" / "agent.py").write_text(FLOW.format(result="Not paid."))
    assert main(["conformance", "test", *words]) == 1
    assert "Not paid." in capsys.readouterr().out


ASKING = """
from tests.support.recorded_store import results
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool


def pay(order: str) -> str:
    return f"paid {order}"


def answer(request):
    done = [one.response.get("result", "no") for one in results(request)]
    return ", ".join(sorted(done)) if done else [call("pay", order="A"), call("pay", order="B")]


tools = [FunctionTool(pay, require_confirmation=True)]
root_agent = Agent(name="clerk", model=FunctionModel(answer), tools=tools)
"""
ANSWER = "{function_response: {name: adk_request_confirmation, response: {confirmed: %s}}}"


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (("true", "false"), 0, "no, paid A"),
        (("false", "true"), 0, "no, paid B"),
        (("true",) * 3, 2, "'adk_request_confirmation' 3 times, which was called 2 times"),
    ],
)
def test_two_approvals_go_to_their_calls(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    given: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    words = write(tmp_path, "conform_two")
    (tmp_path / "conform_two" / "agent.py").write_text(ASKING)
    parts = ", ".join(ANSWER % one for one in given)
    spec = "description: x\nagent: conform_two\nuser_messages:\n- text: go\n"
    case = tmp_path / "cases/orders/finds"
    (case / "spec.yaml").write_text(f"{spec}- content: {{parts: [{parts}]}}\n")
    assert main(["conformance", "record", *words]) == code
    if code:
        assert message in capsys.readouterr().err
        return
    assert message in (case / "generated-session.yaml").read_text()
    assert main(["conformance", "test", *words]) == 0

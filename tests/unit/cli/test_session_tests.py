"""`ostinato test`: recorded sessions as tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ostinato.cli.main import main

AGENT = """
from tests.support.recorded_store import make_agent, serve


def answer(request):
    {change}
    return serve(request)


root_agent = make_agent(answer{fields})
"""


def event(author: str, *parts: dict[str, Any], role: str = "model", **fields: Any) -> Any:
    return {"author": author, "content": {"role": role, "parts": list(parts)}, **fields}


FIND = {"id": "fc-1", "name": "find_order", "args": {"order": "A1"}}
SESSION: dict[str, Any] = {
    "events": [
        event("user", {"text": "find A1"}, role="user"),
        event(
            "clerk", {"functionCall": {"id": "fc-1", "name": "find_order", "args": {"order": "A1"}}}
        ),
        event(
            "clerk",
            {
                "functionResponse": {
                    "id": "fc-1",
                    "name": "find_order",
                    "response": {"order": "A1", "amount": 10},
                }
            },
            role="user",
        ),
        event("clerk", {"text": "Recorded."}, usageMetadata={"totalTokenCount": 3}),
        event("user", {"text": "bye"}, role="user"),
        event("clerk", {"text": "Until then."}),
    ]
}


def write(folder: Path, session: Any = SESSION, name: str = "a.json", **agent: str) -> Path:
    (folder / "tests").mkdir(parents=True)
    text = AGENT.format(change=agent.get("change", "pass"), fields=agent.get("fields", ""))
    (folder / "agent.py").write_text(text)
    file = folder / "tests" / name
    file.write_text(json.dumps(session))
    return file


def test_the_models_answers_come_from_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "tested_same", change="raise RuntimeError('asked')")
    assert main(["test", str(tmp_path)]) == 0
    assert "1 of 1 passed" in capsys.readouterr().out


def test_another_result_of_a_tool_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = json.loads(json.dumps(SESSION).replace('"amount": 10', '"amount": 11'))
    write(tmp_path / "tested_other", session)
    assert main(["test", str(tmp_path)]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["-", '"amount":', "11,"] in lines
    assert ["+", '"amount":', "10,"] in lines


def test_more_and_fewer_requests_than_recorded_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer = {"events": SESSION["events"][:3]}
    write(tmp_path / "tested_fewer", fewer)
    assert main(["test", str(tmp_path)]) == 1
    assert "asks its model more often than was recorded" in capsys.readouterr().out


def test_a_file_that_has_to_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "tested_xfail", name="a_xfail.json")
    assert main(["test", str(tmp_path)]) == 1
    assert "expected to fail, and passes" in capsys.readouterr().out


def test_confirmations_go_to_the_call_of_this_run(tmp_path: Path) -> None:
    file = write(tmp_path / "tested_confirm", fields=", confirm=True")
    session = {"events": [event("user", {"text": "refund A1"}, role="user")]}
    file.write_text(json.dumps(session))
    assert main(["test", str(tmp_path), "--rebuild"]) == 0
    rebuilt = json.loads(file.read_text())["events"]
    asked = [
        part["functionCall"]
        for one in rebuilt
        for part in one["content"]["parts"]
        if part.get("functionCall", {}).get("name") == "adk_request_confirmation"
    ]
    answer = {
        "functionResponse": {
            "id": asked[0]["id"],
            "name": asked[0]["name"],
            "response": {"confirmed": True},
        }
    }
    session["events"] = [*rebuilt, event("user", answer, role="user")]
    file.write_text(json.dumps(session))
    assert main(["test", str(tmp_path), "--rebuild"]) == 0
    assert "refunded" in file.read_text()
    assert main(["test", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "a.json"),
        ("[]", "does not hold a session"),
        ('{"events": []}', "has to be a message of the user"),
        ('{"events": [{"author": 3}]}', "an event is not valid"),
        ('{"events": [], "mocks": {"random.random": [1]}}', "`mocks` patches functions"),
    ],
)
def test_bad_files_end_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    write(tmp_path / "tested_bad").write_text(content)
    assert main(["test", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_tests_ends_with_2(tmp_path: Path) -> None:
    assert main(["test", str(tmp_path)]) == 2
    assert main(["test", str(tmp_path / "none")]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "a.json cannot be read: it is a directory."),
        ("[" * 50_000, "a.json is nested too deeply"),
        ('{"events": ' + "9" * 6000 + "}", "a.json holds a number with too many digits"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, message: str
) -> None:
    file = write(tmp_path / "unreadable")
    file.unlink()
    file.mkdir() if text is None else file.write_text(text)
    assert main(["test", str(tmp_path / "unreadable")]) == 2
    assert message in capsys.readouterr().err


WORKFLOW = """
from ostinato import Event
from ostinato.tools import FunctionTool
from ostinato.workflow import START, Workflow


def amount(node_input):
    return {{"amount": 3}}


def pay(amount: int) -> dict:
    return {{"paid": amount}}


def receipt(node_input):
    return {result}


root_agent = Workflow(
    name="flow", edges=[(START, amount, FunctionTool(pay, require_confirmation=True), receipt)]
)
"""
MESSAGE = "Event(content={'role': 'model', 'parts': [{'text': 'Paid.'}]}, output='ok')"


def write_workflow(folder: Path, result: str, recorded: Any) -> Path:
    """Write a workflow with its session: a message, then the approval of the question."""
    file = write(folder, recorded)
    (folder / "agent.py").write_text(WORKFLOW.format(result=result))
    return file


def record_workflow(folder: Path, result: str, approve: bool = True) -> Any:
    file = write_workflow(folder, result, {"events": [event("user", {"text": "go"}, role="user")]})
    assert main(["test", str(folder), "--rebuild"]) == 0
    session = json.loads(file.read_text())
    asked = next(
        part["functionCall"]
        for one in session["events"]
        for part in (one.get("content") or {}).get("parts") or ()
        if "functionCall" in part
    )
    answer = {"id": asked["id"], "name": asked["name"], "response": {"result": approve}}
    session["events"].append(event("user", {"functionResponse": answer}, role="user"))
    if not approve:
        session["events"].append(event("flow", errorCode="ToolNotRunError"))
    file.write_text(json.dumps(session))
    assert main(["test", str(folder), "--rebuild"]) == 0
    return json.loads(file.read_text())


@pytest.mark.parametrize("result", ["'Paid.'", MESSAGE, "None", "0"])
def test_a_workflow_that_asks_passes_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], result: str
) -> None:
    record_workflow(tmp_path / "tested_flow", result)
    assert main(["test", str(tmp_path)]) == 0, capsys.readouterr()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("'Paid.'", "'Not paid.'"),
        ("'Paid.'", "None"),
        ("'Paid.'", "''"),
        ("None", "0"),
        (MESSAGE, MESSAGE.replace("'ok'", "'bad'")),
    ],
)
def test_a_changed_output_of_the_last_node_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str
) -> None:
    session = record_workflow(tmp_path / "before" / "tested_old", before)
    write_workflow(tmp_path / "after" / "tested_new", after, session)
    assert main(["test", str(tmp_path / "after")]) == 1
    assert "output" in capsys.readouterr().out


def test_a_rejection_that_failed_the_workflow_passes_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = record_workflow(tmp_path / "tested_no", "'Paid.'", approve=False)
    assert "a person rejected the call" in session["events"][-1]["errorMessage"]
    assert main(["test", str(tmp_path)]) == 0, capsys.readouterr()


def test_a_turn_that_no_longer_fails_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = record_workflow(tmp_path / "before" / "tested_fails", "1 / 0", approve=False)
    folder = tmp_path / "after" / "tested_works"
    write_workflow(folder, "'Paid.'", session)
    (folder / "agent.py").write_text(
        (folder / "agent.py").read_text().replace(", require_confirmation=True", "")
    )
    assert main(["test", str(tmp_path / "after")]) == 1
    assert "did not make a call" in capsys.readouterr().out


def test_a_failure_that_was_not_recorded_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = record_workflow(tmp_path / "before" / "tested_fine", "'Paid.'")
    write_workflow(tmp_path / "after" / "tested_worse", "1 / 0", session)
    assert main(["test", str(tmp_path / "after")]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out


FAILING = """
from ostinato.agents import Agent
from ostinato.models.llm_response import LlmResponse
from ostinato.testing import FunctionModel, call
from tests.support.recorded_store import said


def decline():
    raise ValueError("declined")


def answer(request):
    words = said(request)
    if words == "down":
        raise RuntimeError("no model")
    if words == "blocked":
        return LlmResponse(error_code="SAFETY", error_message="blocked")
    return call("decline") if words == "pay" else "Hello."


root_agent = Agent(name="clerk", model=FunctionModel(answer), tools=[decline])
"""


def failed(code: str) -> Any:
    return {"author": "clerk", "errorCode": code}


def test_turns_that_failed_fail_again_with_the_same_error(tmp_path: Path) -> None:
    words = ("down", "pay", "blocked", "hi")
    says = [event("user", {"text": one}, role="user") for one in words]
    asked = [says[0], failed("RuntimeError"), says[1], failed("ValueError"), *says[2:]]
    file = write(tmp_path / "tested_failing", {"events": asked})
    (file.parent.parent / "agent.py").write_text(FAILING)
    assert main(["test", str(tmp_path), "--rebuild"]) == 0
    events = json.loads(file.read_text())["events"]
    codes = [one["errorCode"] for one in events if one.get("errorCode")]
    assert codes == ["RuntimeError", "ValueError", "SAFETY"]
    assert events[-1]["content"]["parts"] == [{"text": "Hello."}]
    assert main(["test", str(tmp_path)]) == 0


def test_an_agent_that_fails_leaves_its_file_and_the_others_are_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = {"events": [event("user", {"text": "down"}, role="user")]}
    file = write(tmp_path / "tested_down", session)
    (file.parent.parent / "agent.py").write_text(FAILING)
    other = file.parent / "b.json"
    other.write_text(json.dumps({"events": [event("user", {"text": "hi"}, role="user")]}))
    assert main(["test", str(tmp_path), "--rebuild"]) == 1
    shown = capsys.readouterr().out
    assert "a.json is unchanged, because its agent failed\n    RuntimeError: no model\n" in shown
    assert json.loads(file.read_text()) == session and "Hello." in other.read_text()


def test_a_request_that_was_not_recorded_is_a_plain_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "tested_more", {"events": SESSION["events"][:3]})
    assert main(["test", str(tmp_path)]) == 1
    assert "    Agent 'clerk' asks its model more often than" in capsys.readouterr().out


CALLED = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call
from ostinato.tools import AgentTool
from tests.support.recorded_store import results


def inner(request):
    {inner}


def outer(request):
    return "done" if results(request) else call("helper", request="x")


helper = Agent(name="helper", model=FunctionModel(inner), output_key="found")
root_agent = Agent(name="clerk", model=FunctionModel(outer), tools=[AgentTool(helper)])
"""


def test_an_agent_that_is_called_as_a_tool_gets_its_recorded_result(tmp_path: Path) -> None:
    session = {"events": [event("user", {"text": "go"}, role="user")]}
    file = write(tmp_path / "old" / "tested_caller", session)
    (file.parent.parent / "agent.py").write_text(CALLED.format(inner="return 'found it'"))
    assert main(["test", str(tmp_path / "old"), "--rebuild"]) == 0
    assert '"found": "found it"' in file.read_text()
    assert main(["test", str(tmp_path / "old")]) == 0
    again = write(tmp_path / "new" / "tested_called", json.loads(file.read_text()))
    (again.parent.parent / "agent.py").write_text(CALLED.format(inner="raise RuntimeError"))
    assert main(["test", str(tmp_path / "new")]) == 0


def test_the_state_is_that_of_the_beginning_and_of_the_messages(tmp_path: Path) -> None:
    session = {
        "state": {"tier": "gold", "later": 1},
        "events": [
            event("user", {"text": "hi"}, role="user", actions={"stateDelta": {"later": 1}})
        ],
    }
    file = write(tmp_path / "tested_state", session, fields=", instruction='{tier} {later}'")
    assert main(["test", str(tmp_path), "--rebuild"]) == 0
    assert main(["test", str(tmp_path)]) == 0
    assert json.loads(file.read_text())["state"] == session["state"]

"""Calls that wait, where nobody is at a terminal: what is said, and how the options answer them."""

from __future__ import annotations

import json
import re

import pytest

from ostinato.cli.prompt import json_problem
from tests.unit.cli.conftest import Done, MakeAgent, Ostinato

PAY = """
from ostinato.agents import Agent
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool

def pay(amount: int, to: str, tool_context) -> dict:
    tool_context.state["paid"] = amount
    return {"result": f"paid {amount} to {to}"}

def ask_boss(what: str) -> dict:
    return {"status": "pending"}

def ask_size(tool_context) -> dict:
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Which size?", payload={"size": 0})
        return {"status": "asked"}
    return {"size": tool_context.tool_confirmation.payload}

def answer(request):
    parts = [part for content in request.contents for part in content.parts]
    last = parts[-1]
    if last.function_response is not None:
        return f"Result: {last.function_response.response}"
    if "boss" in last.text:
        return call("ask_boss", what="a day off")
    if "size" in last.text:
        return call("ask_size")
    if "both" in last.text:
        return [call("pay", amount=1, to="Ann"), call("pay", amount=2, to="Bob")]
    return call("pay", amount=50, to="Ann")

root_agent = Agent(name="clerk", model=FunctionModel(answer), tools=[
    FunctionTool(pay, require_confirmation=True), LongRunningFunctionTool(ask_boss), ask_size])
"""


def _ways(done: Done) -> list[list[str]]:
    """The commands that the output says answer what waits, without the program's name."""
    return [line.split()[1:] for line in done.out.splitlines() if re.search(" --(app|rej)", line)]


def test_an_approval_waits_and_is_given_by_the_command_shown(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(PAY)
    done = ostinato("run", "desk", "Pay")
    assert done.code == 0
    assert '● pay(amount=50, to="Ann")\n    └ waits for approval' in done.out
    assert "◆ pay waits for your approval:" in done.out
    approve, reject = _ways(done)
    assert "--approve" in approve
    assert "--reject" in reject
    done = ostinato(*approve)
    assert done.code == 0, done.err
    assert '  ● pay(amount=50, to="Ann")\n    └ paid 50 to Ann' in done.out
    assert "waits for" not in done.out
    again = ostinato(*approve)
    assert again.code == 3
    assert "was already answered, at " in again.err
    assert ": approved. This answer had no effect." in again.err


def test_a_call_that_waits_nowhere_says_what_was_searched(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(PAY)
    ostinato("run", "desk", "Pay")
    done = ostinato("approvals", "desk", "--approve", "nope")
    assert done.code != 0
    assert "No call 'nope' waits for an answer in any session of desk; these do: " in done.err
    done = ostinato("approvals", "desk", "--user", "bob", "--approve", "nope")
    assert "waits for an answer in any session of desk of the user 'bob'; none does." in done.err


def test_a_rejection_does_not_run_the_tool(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(PAY)
    _, reject = _ways(ostinato("run", "desk", "Pay"))
    done = ostinato(*reject)
    assert done.code == 0
    assert "This tool call is rejected." in done.out
    assert "paid" not in done.out


def test_the_request_of_an_agent_that_is_gone_is_rejected(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(PAY)
    approve, reject = _ways(ostinato("run", "desk", "Pay"))
    make_agent(PAY.replace('name="clerk"', 'name="successor"'))
    refused = ostinato(*approve)
    assert refused.code != 0
    assert "Agent 'clerk'" in refused.err and "can be rejected" in refused.err
    done = ostinato(*reject)
    assert done.code == 0, done.err
    assert "This tool call is rejected." in done.out
    assert "waits for" not in ostinato("approvals", "desk").out


def test_approved_with_other_arguments(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(PAY)
    approve, _ = _ways(ostinato("run", "desk", "Pay"))
    assert ostinato(*approve, "--args", "nonsense").code == 2
    done = ostinato(*approve, "--args", '{"amount": 7, "to": "Bob"}')
    assert "paid 7 to Bob" in done.out
    shown = ostinato("sessions", "show", approve[3])
    assert 'approved with {"amount": 7, "to": "Bob"}' in shown.out


def test_two_calls_of_one_event_are_answered_together(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(PAY)
    ways = _ways(ostinato("run", "desk", "Pay both"))
    first, second = ways[0][-1], ways[2][-1]
    assert first != second
    done = ostinato(*ways[0][:4], "--approve", first, "--reject", second)
    assert "pay: paid 1 to Ann" in done.out
    assert "pay: error: This tool call is rejected." in done.out


def test_a_beginning_that_fits_two_calls_is_refused(
    make_agent: MakeAgent, ostinato: Ostinato
) -> None:
    make_agent(PAY)
    ostinato("run", "desk", "Pay both")
    done = ostinato("run", "desk", "--approve", "adk-")
    assert done.code == 2
    assert "too short to name a call" in done.err


@pytest.mark.parametrize("wanted", ["", "a", "adk-", "adk-1234567"])
def test_too_little_of_an_id_answers_nothing(
    make_agent: MakeAgent, ostinato: Ostinato, wanted: str
) -> None:
    """A variable of a shell that is not set must not pay."""
    make_agent(PAY)
    approve, _ = _ways(ostinato("run", "desk", "Pay"))
    for command in (["run", "desk"], ["approvals", "desk"]):
        done = ostinato(*command, "--approve", wanted)
        assert done.code != 0 and "paid" not in done.out
    assert "waits for" in ostinato("approvals", "desk").out
    assert "paid 50 to Ann" in ostinato(*approve).out


def test_the_tools_own_call_is_not_the_question(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(PAY)
    approve, _ = _ways(ostinato("run", "desk", "Pay"))
    events = json.loads(ostinato("sessions", "export", approve[3]).out)["events"]
    parts = [part for event in events for part in event["content"]["parts"]]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    assert [call["name"] for call in calls] == ["pay", "adk_request_confirmation"]
    done = ostinato("approvals", "desk", "--approve", calls[0]["id"])
    assert done.code == 1 and "No call" in done.err
    assert "waits for" in ostinato("approvals", "desk").out


def test_a_long_running_call_is_answered(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(PAY)
    done = ostinato("run", "desk", "Ask the boss")
    assert '● ask_boss(what="a day off")  (answered later)' in done.out
    found = re.search(r"--answer (\S+) '", done.out)
    assert found is not None, done.out
    assert "none does" not in ostinato("run", "desk", "--approve", "zz").out
    done = ostinato("run", "desk", "--answer", found[1], '{"status": "granted"}')
    assert done.code == 0, done.err
    assert "Result: {'status': 'granted'}" in done.out
    assert "waits for" not in done.out


def test_an_answer_that_is_no_json_is_a_text(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(PAY)
    found = re.search(r"--answer (\S+) '", ostinato("run", "desk", "Ask the boss").out)
    assert found is not None
    done = ostinato("run", "desk", "--answer", found[1], "Yes, take it")
    assert "Result: {'result': 'Yes, take it'}" in done.out


def test_an_answer_with_a_key_twice_is_refused(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(PAY)
    found = re.search(r"--answer (\S+) '", ostinato("run", "desk", "Ask the boss").out)
    assert found is not None
    done = ostinato("run", "desk", "--answer", found[1], '{"days": 1, "days": 9}')
    assert (done.code, "an object has a key twice" in done.err) == (2, True)


def test_an_edited_call_with_a_key_twice_is_not_taken() -> None:
    assert json_problem('{"amount": 1, "amount": 9}') == "not JSON yet: an object has a key twice"


def test_a_payload_goes_back_as_it_was_proposed(make_agent: MakeAgent, ostinato: Ostinato) -> None:
    make_agent(PAY)
    approve, _ = _ways(ostinato("run", "desk", "Which size"))
    assert '{"size": 0}' in ostinato(*approve).out

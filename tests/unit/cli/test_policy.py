"""`ostinato policy`, and `--policy` of the commands that run agents."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ostinato.cli.escape import label
from tests.support.policies import AGENT, RULES
from tests.unit.cli.conftest import MakeAgent, Ostinato


def test_check(ostinato: Ostinato, home: Path) -> None:
    (home / "policy.yaml").write_text(RULES)
    done = ostinato("policy", "check", "policy.yaml")
    assert (done.code, done.out) == (0, "policy.yaml: 1 rule, 2 of 2 tests passed\n")
    (home / "policy.yaml").write_text(RULES.replace("expect: allow", "expect: ask"))
    done = ostinato("policy", "check", "policy.yaml")
    assert done.code == 1
    assert "line 5: expected ask, but the default says allow" in done.out
    assert "1 of 2 tests passed" in done.out


def test_names_and_paths_are_quoted_by_one_rule(ostinato: Ostinato, home: Path) -> None:
    (home / "my desk").mkdir()
    for file in ("policy.yaml", "my desk/2.yaml"):
        (home / file).write_text(RULES)
    done = ostinato("policy", "check", f"../{home.name}/policy.yaml", "my desk/2.yaml")
    first, second = done.out.splitlines()
    assert first.startswith(f"../{home.name}/policy.yaml: 1 rule")
    assert second.startswith('"my desk/2.yaml": 1 rule')
    assert [label(one) for one in ("441529d5", "b6588778", "r1", "a b", "-x", "")] == [
        *("441529d5", "b6588778", "r1"),
        *('"a b"', '"-x"', '""'),
    ]


def test_check_names_the_fault(ostinato: Ostinato, home: Path) -> None:
    (home / "policy.yaml").write_text("rules:\n  - {id: a, verdict: perhaps}\n")
    done = ostinato("policy", "check", "policy.yaml")
    assert done.code == 1
    assert "policy.yaml, line 2, rules[0].verdict:" in done.err
    assert ostinato("policy", "check", "gone.yaml").code == 1
    os.mkfifo(home / "pipe")
    assert "it is not a regular file" in ostinato("policy", "check", "pipe").err


TREE = (
    AGENT.rpartition("root_agent")[0]
    + '''
from pydantic import BaseModel
from ostinato.tools import AgentTool
from ostinato.tools.base_toolset import BaseToolset

class Place(BaseModel):
    city: str
    tags: list[str] = []

def ship(place: Place, parts: list[Place], note: str = "", **more: str) -> str:
    """Ship."""
    return "shipped"

class Remote(BaseToolset):
    async def get_tools(self, readonly_context=None):
        raise RuntimeError("this would connect")
    async def close(self): ...

inner = Agent(name="shipper", model=FunctionModel(answer), tools=[ship])
far = Agent(name="far", model=FunctionModel(answer), tools=[Remote()])
root_agent = Agent(name="clerk", model=FunctionModel(answer), tools=[pay, AgentTool(inner)],
                   sub_agents=[far])
'''
)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("tool: pay, agent: clerk, args: {/amount: 5}", ""),
        ("agent: clerk, tool: [ship*, '!pay']", ""),
        ("tool: transfer_to_agent", ""),
        ("agent: shipper, args: {/place/city: Rome, /parts/*/tags/0: x}", ""),
        ("agent: shipper, args: {/note/x: Rome}", ""),
        ("agent: clerk, tool: pya", "rule 'a' fits no tool; there are: pay, shipper"),
        ("agent: clerck", "rule 'a' fits no agent; there are: clerk, far, shipper"),
        (
            "agent: clerk, tool: pay, args: {/amuont: {gt: 5}}",
            "rule 'a': '/amuont' is no argument of tool 'pay'; there are: amount",
        ),
        ("agent: clerk, tool: pay, args: {/amount/x: 5}", "'/amount/x' is no argument"),
        ("agent: shipper, args: {/place/town: Rome}", "'/place/town' is no argument"),
        ("agent: shipper, args: {/parts/city: Rome}", "'/parts/city' is no argument"),
        ("tool: pya", "not checked: a"),
        ("tool: pay, args: {/amuont: 5}", "not checked: a"),
    ],
)
def test_rules_are_compared_with_an_agents_tools(
    ostinato: Ostinato, home: Path, make_agent: MakeAgent, rule: str, told: str
) -> None:
    make_agent(TREE)
    (home / "policy.yaml").write_text(f"rules:\n  - {{id: a, verdict: deny, {rule}}}\n")
    done = ostinato("policy", "check", "policy.yaml", "--agent", "desk")
    assert told in done.out
    assert ("FAILED clerk: " in done.out, done.code) == (
        (True, 1) if told and "not checked" not in told else (False, 0)
    ), done.out
    assert "The tools of Remote of agent 'far' are unknown" in done.out
    assert (
        ostinato("policy", "check", "policy.yaml").out
        == "policy.yaml: 1 rule, 0 of 0 tests passed\n"
    )


def test_a_run_obeys_and_its_sessions_can_be_tried(
    ostinato: Ostinato, home: Path, make_agent: MakeAgent
) -> None:
    make_agent(AGENT)
    (home / "policy.yaml").write_text(RULES)
    assert "paid 500" in ostinato("run", "desk", "Go").out
    done = ostinato("run", "desk", "Go", "--policy", "policy.yaml")
    assert "paid 500" not in done.out and "Too much." in done.out
    done = ostinato("policy", "dry-run", "policy.yaml", "--since", "1h")
    assert done.code == 0
    assert "would have stopped 2 of 2 calls in 2 sessions since 1h ago." in done.out
    assert "2  denied, by rule big" in done.out
    assert "source" not in done.out and "Fitted no call" not in done.out
    (home / "more.yaml").write_text(
        RULES.partition("tests:")[0]
        + "  - {id: own, verdict: ask, tool: pay, source: function}\n"
        + "  - {id: pya, verdict: ask, tool: pya}\n"
    )
    more = ostinato("policy", "dry-run", "more.yaml")
    assert "does not tell the source of 1 call; rules with `source` take them" in more.out
    assert more.out.endswith("Fitted no call: pya\n")
    done = ostinato("policy", "dry-run", "policy.yaml", "--json", "--app", "desk")
    assert [one["tool"] for one in json.loads(done.out)["stopped"]] == ["pay", "pay"]


def test_a_waiting_call_shows_the_rules_message_and_an_edit_its_arguments(
    ostinato: Ostinato, home: Path, make_agent: MakeAgent
) -> None:
    make_agent(AGENT)
    (home / "policy.yaml").write_text(RULES.partition("tests:")[0].replace("deny", "ask"))
    done = ostinato("run", "desk", "Go", "--policy", "policy.yaml")
    assert "◆ pay waits for your approval:\n    says  " in done.out
    assert "Too much." in done.out
    call_id = done.out.partition("--approve ")[2].split()[0]
    command = ("run", "desk", "--policy", "policy.yaml", "--approve", call_id)
    refused = ostinato(*command, "--args", '{"amuont": 20}')
    assert refused.code == 1 and "amuont is no parameter" in refused.err
    done = ostinato(*command, "--args", '{"amount": 20}')
    assert "● pay(amount=20)\n    └ paid 20" in done.out


def test_wrong_usage(ostinato: Ostinato, home: Path, make_agent: MakeAgent) -> None:
    (home / "policy.yaml").write_text(RULES)
    done = ostinato("policy", "dry-run", "policy.yaml", "--since", "soon")
    assert done.code == 2 and "'soon' is no duration" in done.err
    assert "There are no sessions" in ostinato("policy", "dry-run", "policy.yaml").err
    make_agent(AGENT)
    done = ostinato("run", "desk", "Go", "--policy", "gone.yaml")
    assert done.code != 0 and "there is no such file" in done.err
    done = ostinato("worker", "desk", "--once", "--policy", "gone.yaml")
    assert done.code != 0 and "there is no such file" in done.err

"""`allowed-tools` of active skills stops what it does not allow, by the policy gate."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.apps import App
from ostinato.code_executors import UnsafeLocalCodeExecutor
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.skills import Skill
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.policy import Policy, Rule, ToolRequest
from ostinato.tools.policy.policy import join_decisions
from ostinato.tools.skill_toolset import SkillLifecycleConfig, SkillLifecycleMode, SkillToolset
from ostinato.tools.skills.allowed_tools import build_policies, split_entries
from tests.support.skill_agents import answers, make_skill, talk

LOAD = call("load_skill", skill_name="pdf")
EACH = [call("pay", amount=1), call("look")]


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def look() -> str:
    """Look."""
    return "seen"


async def test_other_tools_are_denied_while_the_skill_is_active() -> None:
    toolset = SkillToolset(
        [make_skill("pdf", allowed="look", adk_additional_tools=["stamp"])],
        additional_tools=[stamp],
    )
    conversation, model = talk(
        toolset,
        call("pay", amount=1),
        LOAD,
        [call("pay", amount=2), call("look"), call("stamp"), LOAD],
        "One.",
        call("pay", amount=3),
        "Two.",
        tools=[pay, look],
    )
    await conversation.say("Go")
    paid, _, denied, seen, stamped, loaded = answers(conversation)
    assert paid == {"result": "paid 1"}
    assert denied == {
        "error": "The policy denies this call of 'pay' (rule 'allowed-tools'): the active skills "
        "(pdf) allow only: look."
    }
    assert seen == {"result": "seen"} and stamped == {"result": "stamped"}
    assert loaded["skill_name"] == "pdf"
    notes = [
        note
        for event in conversation.events
        for note in (event.custom_metadata or {}).get("policy", {}).values()
    ]
    assert [note["verdict"] for note in notes] == ["deny"]
    await conversation.say("Again")
    assert "denies" in answers(conversation)[0]["error"]
    assert [request.tool_names for request in model.requests][-1][:2] == ["pay", "look"]


def stamp() -> str:
    """Stamp."""
    return "stamped"


async def test_the_restriction_ends_with_the_skill() -> None:
    lifecycle = SkillLifecycleConfig(default_mode=SkillLifecycleMode.EPHEMERAL)
    toolset = SkillToolset([make_skill("pdf", allowed="")], lifecycle_config=lifecycle)
    conversation, _ = talk(
        toolset, LOAD, call("pay", amount=1), "One.", call("pay", amount=2), "Two.", tools=[pay]
    )
    await conversation.say("Go")
    assert "allow only: no further tool" in answers(conversation)[1]["error"]
    await conversation.say("Again")
    assert answers(conversation) == [{"result": "paid 2"}]


@pytest.mark.parametrize("others", [[], [make_skill("mail")], [make_skill("mail", allowed="pay")]])
async def test_the_restriction_stays_when_the_skill_is_gone(others: list[Skill]) -> None:
    store = InMemorySessionService()
    for skills in ([make_skill("pdf", allowed="look")], others):
        model = ScriptedModel([LOAD, "One."] if skills is not others else [EACH, "Two."])
        agent = Agent(name="clerk", model=model, tools=[SkillToolset(skills), pay, look])
        runner = Runner(app=App(name="app", root_agent=agent), session_service=store)
        conversation = Conversation(runner, session_id="s")
        await conversation.say("Go")
    paid, seen = answers(conversation)
    assert "the active skills (pdf) allow only: look." in paid["error"]
    assert seen == {"result": "seen"}


async def test_the_skills_of_another_toolset_are_not_gone() -> None:
    mine = SkillToolset([make_skill("pdf", allowed="look")])
    other = SkillToolset([make_skill("mail")], tool_name_prefix="other")
    tools = [other, pay, look]
    mail = call("other_load_skill", skill_name="mail")
    conversation, _ = talk(mine, mail, LOAD, EACH, "One.", tools=tools)
    await conversation.say("Go")
    paid, seen = answers(conversation)[-2:]
    assert "the active skills (pdf) allow only: look." in paid["error"]
    assert seen == {"result": "seen"}


async def test_two_skills_allow_what_either_names() -> None:
    toolset = SkillToolset(
        [make_skill("pdf", allowed="look"), make_skill("bank", allowed="pay"), make_skill("free")]
    )
    loads = [LOAD, *[call("load_skill", skill_name=name) for name in ("bank", "free")]]
    conversation, _ = talk(
        toolset, loads, [call("pay", amount=1), call("look"), call("stamp")], "Done.",
        tools=[pay, look, stamp],
    )  # fmt: skip
    await conversation.say("Go")
    assert answers(conversation)[3:5] == [{"result": "paid 1"}, {"result": "seen"}]
    assert (
        "the active skills (pdf, bank) allow only: look, pay" in answers(conversation)[5]["error"]
    )


async def test_a_person_can_be_asked_about_other_tools() -> None:
    toolset = SkillToolset([make_skill("pdf", allowed="look")], other_tools="ask")
    conversation, _ = talk(toolset, LOAD, call("pay", amount=1), "Done.", tools=[pay])
    await conversation.say("Go")
    (asked,) = conversation.pending()
    assert asked.name == "adk_request_confirmation" and "pay" in str(asked.args)
    await conversation.answer(asked, {"confirmed": True})
    assert {"result": "paid 1"} in answers(conversation)


async def test_the_policy_of_the_app_still_holds_and_the_check_can_be_left_out() -> None:
    policy = Policy(rules=(Rule(id="no-look", verdict="deny", tool=("look",)),))
    for other, expected in (("deny", "denies"), ("allow", "paid 1")):
        toolset = SkillToolset([make_skill("pdf", allowed="look")], other_tools=other)  # type: ignore[arg-type]
        model = ScriptedModel([LOAD, [call("look"), call("pay", amount=1)], "Done."])
        agent = Agent(name="clerk", model=model, tools=[pay, look, toolset])
        conversation = Conversation(App(name="app", root_agent=agent, policy=policy))
        await conversation.say("Go")
        _, looked, paid = answers(conversation)
        assert "no-look" in looked["error"] and expected in str(paid)


async def test_a_task_is_a_tool_too() -> None:
    toolset = SkillToolset([make_skill("pdf", allowed="look")])
    helper = Agent(name="helper", model=ScriptedModel([]), mode="task")
    model = ScriptedModel([LOAD, call("helper", request="x"), "Done."])
    agent = Agent(name="clerk", model=model, tools=[toolset], sub_agents=[helper])
    conversation = Conversation(agent)
    await conversation.say("Go")
    assert "allow only: look" in answers(conversation, "helper")[0]["error"]


async def test_scripts_have_a_source_that_a_policy_can_name() -> None:
    rule = Rule(id="no-wipe", verdict="deny", source=("skill:pdf/scripts/wipe.sh",))
    scripts = {"wipe.sh": "echo wiped\n", "ok.sh": "echo ok\n"}
    toolset = SkillToolset(
        [make_skill("pdf", scripts=scripts)], code_executor=UnsafeLocalCodeExecutor()
    )
    paths = ("wipe.sh", "scripts/wipe.sh", "./scripts//wipe.sh", "scripts\\wipe.sh", "ok.sh")
    runs = [call("run_skill_script", skill_name="pdf", file_path=path) for path in paths]
    agent = Agent(name="clerk", model=ScriptedModel([runs, "Done."]), tools=[toolset])
    conversation = Conversation(App(name="app", root_agent=agent, policy=Policy(rules=(rule,))))
    await conversation.say("Go")
    *denied, ok = answers(conversation)
    assert all("no-wipe" in answer["error"] for answer in denied) and ok["stdout"] == "ok\n"
    origins = [
        origin
        for event in conversation.events
        for origin in (event.custom_metadata or {}).get("ostinato:tools", {}).values()
    ]
    assert origins[-1] == {
        "kind": "skill", "source": "pdf", "operation": "scripts/ok.sh", "policy": "at_most_once",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("Read Bash(git add:*) mcp__x__y", ["Read", "Bash(git add:*)", "mcp__x__y"]),
        ("Read, Grep,Bash", ["Read", "Grep", "Bash"]),
        ("", []),
        ("Read Bash(", ["Read"]),
        ("Bash(git Bash Read", []),
        ("Bash(echo (Bash)) x)y", ["Bash(echo (Bash))", "x)y"]),
    ],
)
def test_entries_are_split(text: str, entries: list[str]) -> None:
    assert split_entries(text) == entries


def verdict(text: str, tool: str, **args: Any) -> str:
    entries = {entry: ["s"] for entry in split_entries(text)}
    policies = build_policies(entries, ["load_skill"], "deny", "no")
    if "file_path" in args:
        args = {"skill_name": "s", **args}
    return join_decisions([one.decide(ToolRequest(tool, args)) for one in policies]).verdict


@pytest.mark.parametrize(
    ("text", "tool", "args", "expected"),
    [
        ("Read", "ReadFile", {}, "allow"),
        ("Read", "Execute", {"command": "ls"}, "deny"),
        ("Read", "load_skill", {}, "allow"),
        ("Bash", "Execute", {"command": "rm -rf /"}, "allow"),
        ("Bash(*)", "execute_bash", {"command": "ls; ls"}, "allow"),
        ("Bash", "run_skill_script", {"file_path": "x.py"}, "allow"),
        ("run_skill_script", "Execute", {"command": "ls"}, "deny"),
        ("Bash(git:*)", "Execute", {"command": "git status"}, "allow"),
        ("Bash(git:*)", "Execute", {"command": "git"}, "allow"),
        ("Bash(git:*)", "Execute", {"command": "gitx"}, "deny"),
        ("Bash(git:*)", "Execute", {"command": "git status; rm x"}, "deny"),
        ("Bash(git:*)", "Execute", {"command": "git log $(rm x)"}, "deny"),
        ("Bash(git:*)", "Execute", {"command": "git log > ~/.bashrc"}, "deny"),
        ("Bash(git:*)", "Execute", {"command": ["git"]}, "deny"),
        ("Bash(git:*)", "Execute", {}, "deny"),
        ("Bash(git:*)", "ReadFile", {}, "deny"),
        ("Bash(git:*) Read", "ReadFile", {}, "allow"),
        ("Bash(git:*) Bash(npm test)", "Execute", {"command": "npm test"}, "allow"),
        ("Bash(git:*) Bash(npm test)", "Execute", {"command": "npm test x"}, "deny"),
        ("Bash(git:*) Bash", "Execute", {"command": "ls"}, "allow"),
        ("Bash(git:*)", "run_skill_script", {"file_path": "x.py"}, "deny"),
        ("Bash(python3:*)", "run_skill_script", {"file_path": "x.py"}, "allow"),
        ("Bash(python3:*)", "run_skill_script", {"file_path": "x.sh"}, "deny"),
        ("Bash(./scripts/x.sh:*)", "run_skill_script", {"file_path": "scripts/x.sh"}, "allow"),
        ("Bash(python)", "run_skill_script", {"file_path": "x.py"}, "deny"),
        ("Bash(a.sh)", "run_skill_script", {"file_path": "a.sh"}, "allow"),
        ("Bash(a.sh)", "run_skill_script", {"file_path": "a.sh", "args": []}, "allow"),
        ("Bash(a.sh)", "run_skill_script", {"file_path": "a.sh", "args": ["-x"]}, "deny"),
        ("Bash(a.sh)", "run_skill_script", {"file_path": "a.sh", "args": {"x": 1}}, "deny"),
        ("Bash(a.sh)", "run_skill_script", {"file_path": "a.sh", "args": "-x"}, "deny"),
        ("Bash(a.sh)", "run_skill_script", {"file_path": "a.sh", "positional_args": [1]}, "deny"),
        (
            "Bash(a.sh)",
            "run_skill_script",
            {"file_path": "a.sh", "short_options": {"x": 1}},
            "deny",
        ),
        ("Bash(a.sh:*)", "run_skill_script", {"file_path": "a.sh", "args": ["-x"]}, "allow"),
        ("Bash(a.sh:*)", "run_skill_script", {"skill_name": "t", "file_path": "a.sh"}, "deny"),
        ("Bash(python:*)", "run_skill_script", {"skill_name": "t", "file_path": "x.py"}, "deny"),
        ("WebFetch(domain:a.test)", "load_web_page", {"url": "http://a.test"}, "deny"),
        ("mcp__docs__*", "mcp__docs__find", {}, "allow"),
        ("!x", "x", {}, "deny"),
        ("Bash()", "Execute", {"command": "ls"}, "deny"),
        ("Bash(:)", "Execute", {"command": "ls"}, "deny"),
        ("x)y Bash(echo (Bash))", "Execute", {"command": "ls"}, "deny"),
        ("[", "x", {}, "deny"),
    ],
)
def test_what_entries_allow(text: str, tool: str, args: Any, expected: str) -> None:
    assert verdict(text, tool, **args) == expected

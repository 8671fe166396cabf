"""`ostinato diff`: requests of agents, eval cases and replays at two commits."""

from __future__ import annotations

import json
import subprocess
from asyncio import to_thread
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.cli.main import main
from ostinato.evaluation.replay.behaviour import (
    BehaviourReport,
    compare_rendered,
    format_behaviour,
)
from ostinato.evaluation.replay.rendering import render_agents
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import FunctionModel
from ostinato.tools.agent_tool import AgentTool
from tests.support.recorded_store import make_agent, record

AGENT = """
from tests.support.recorded_store import make_agent, said, serve
from ostinato.agents import Agent
from ostinato.apps import App
from ostinato.testing import FunctionModel
from ostinato.tools.agent_tool import AgentTool


def answer(request):
    {change}
    return serve(request)


helper = Agent(name="helper", model=FunctionModel(answer), description="helps")
root = make_agent(answer, instruction="{instruction}", sub_agents=[helper])
app = App(name="shop", root_agent=root)
"""
CASE = {
    "eval_set_id": "s",
    "eval_cases": [
        {
            "eval_id": "greets",
            "conversation": [
                {
                    "user_content": {"role": "user", "parts": [{"text": "hello"}]},
                    "final_response": {"role": "model", "parts": [{"text": "You said hello."}]},
                }
            ],
        }
    ],
}


class Repository:
    """A repository with the folder `shop`."""

    def __init__(self, top: Path) -> None:
        self.top, self.agent = top, top / "shop_diffed"
        self.agent.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        (self.agent / "s.evalset.json").write_text(json.dumps(CASE))

    def git(self, *words: str) -> str:
        command = ["git", "-C", str(self.top), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def write(self, change: str = "pass", instruction: str = "Serve well.") -> None:
        (self.agent / "agent.py").write_text(AGENT.format(change=change, instruction=instruction))

    def commit(self) -> None:
        self.git("add", ".")
        self.git("commit", "-qm", "change")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.write()
    made.commit()
    return made


@pytest.mark.long
async def test_a_changed_commit_is_rendered_evaluated_and_replayed(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "sessions.db"
    service = SqliteSessionService(str(store))
    await record(service, make_agent(), [["hello"], ["find A1"]])
    await service.close()
    repository.write("if said(request) == 'hello': return 'No.'", "Serve better.")
    repository.commit()
    report = tmp_path / "diff.md"
    words = ["diff", "HEAD~1..HEAD", str(repository.agent), "--replay", "--db", str(store)]
    words += ["--markdown", str(report), "--fail-on", "words>0,calls>0,eval_worse>0"]
    assert await to_thread(main, words) == 1
    out = capsys.readouterr().out
    assert "shop_diffed: worse is 1" in out
    assert "shop_diffed: words is 1 of 2: words>0 fails" in out
    text = report.read_text()
    assert "| `clerk` | instructions |  |" in text
    assert "-Serve well." in text and "+Serve better." in text
    assert "Unchanged: `helper`." in text
    assert "worse" in text
    assert "2 invocations replayed, 1 same, 1 same calls, other words, noise in 0" in text
    assert len(repository.git("worktree", "list").splitlines()) == 1


@pytest.mark.long
@pytest.mark.long
def test_a_range_may_go_back_and_names_the_error_of_a_case(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.top / "notes.txt").write_text("1")
    repository.commit()
    repository.write("raise RuntimeError('no model')")
    repository.commit()
    assert main(["diff", "HEAD~1..HEAD", str(repository.agent)]) == 1
    assert "greets: FAILED\n  RuntimeError: no model\n" in capsys.readouterr().out
    assert main(["diff", "HEAD..HEAD~1", str(repository.agent)]) == 0
    assert "1 of 1 cases passed, 1 better" in capsys.readouterr().out
    assert main(["diff", "HEAD~2..HEAD~1", str(repository.agent)]) == 0
    assert "and no file changed" in capsys.readouterr().out
    assert main(["diff", "nothing..HEAD", str(repository.agent)]) == 2
    assert "'nothing' names no commit of" in capsys.readouterr().err


def test_the_files_as_they_are_now_are_the_head_of_an_open_range(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", "main..", str(repository.agent)]) == 0
    assert "The request of every agent is the same, and no file changed." in capsys.readouterr().out
    repository.write(instruction="Serve now.")
    assert main(["diff", "main..", str(repository.agent), "--no-eval"]) == 0
    assert "+Serve now." in capsys.readouterr().out


@pytest.mark.long
def test_an_eval_set_that_is_gone_could_not_run(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.agent / "s.evalset.json").unlink()
    words = ["diff", "main..", str(repository.agent)]
    assert main(words) == 2
    shown = capsys.readouterr()
    assert "Eval sets that are gone, and did not run: `s.evalset.json`." in shown.out
    assert "shop_diffed/s.evalset.json. Restore them" in shown.err
    assert main([*words, "--no-eval"]) == 0


@pytest.mark.long
def test_a_case_that_is_gone_or_has_another_id_could_not_run(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    (case,) = CASE["eval_cases"]
    cases = [{**case, "eval_id": "renamed"}, {**case, "eval_id": "new"}]
    (repository.agent / "s.evalset.json").write_text(json.dumps({**CASE, "eval_cases": cases}))
    words = ["diff", "main..", str(repository.agent)]
    assert main(words) == 2
    shown = capsys.readouterr()
    assert "- `s: greets`" in shown.out
    assert "Cases of main are gone" in shown.err
    assert "shop_diffed: s: greets" in shown.err
    assert main([*words, "--no-eval"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["main"], "is not BASE..HEAD"),
        (["main...HEAD"], "is not BASE..HEAD"),
        (["..HEAD"], "is not BASE..HEAD"),
        (["none..HEAD"], "names no commit"),
        (["--upload..HEAD"], "names no commit"),
        (["main..HEAD", "--fail-on", "calls>0"], "needs --replay"),
        (["main..HEAD", "--fail-on", "eval_wurst>0"], "There is no gate 'wurst'"),
    ],
)
def test_bad_options_end_with_2(
    repository: Repository,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    assert main(["diff", *words[1:], "--", words[0], str(repository.agent)]) == 2
    assert message in capsys.readouterr().err


async def test_requests_are_rendered_without_a_model() -> None:
    def never(request: Any) -> Any:
        raise AssertionError("the model was asked")

    def sign(callback_context: Any, llm_request: Any) -> None:
        llm_request.append_instructions(["Signed."])

    agent = make_agent(never, instruction="For {user:name}.", before_model_callback=sign)
    found = (await render_agents(agent))["clerk"]
    assert "For {user:name}." in found["instructions"]
    assert "Signed." in found["instructions"]
    assert [tool["name"] for tool in found["tools"]] == ["find_order", "refund"]
    assert found["model"] == FunctionModel(never).model


async def test_agents_that_are_called_as_tools_are_rendered() -> None:
    inner = make_agent(instruction="Look inside.")
    outer = Agent(name="outer", model=inner.model, tools=[AgentTool(inner)])
    found = await render_agents(outer)
    assert set(found) == {"outer", "clerk"}
    assert "Look inside." in found["clerk"]["instructions"]


async def test_an_agent_that_cannot_be_rendered_says_why() -> None:
    def fail(context: Any) -> str:
        raise ValueError("no instruction today")

    found = await render_agents(make_agent(instruction=fail))
    assert "no instruction today" in found["clerk"]["error"]


def test_changed_tools_are_named() -> None:
    old = {"a": {"tools": [{"name": "x", "d": 1}, {"name": "y"}]}, "gone": {}}
    new = {"a": {"tools": [{"name": "x", "d": 2}, {"name": "z"}]}, "b": {}}
    changes, unchanged = compare_rendered(old, new)
    assert [(one.name, one.kind, one.aspects, one.tools) for one in changes] == [
        ("a", "changed", ["tools"], ["+ z", "- y", "~ x"]),
        ("b", "new", [], []),
        ("gone", "removed", [], []),
    ]
    assert unchanged == []


def test_a_fence_in_an_instruction_does_not_end_the_diff() -> None:
    old, new = {"a": {"instructions": "one"}}, {"a": {"instructions": "````\n</details>"}}
    report = BehaviourReport("shop", *compare_rendered(old, new))
    text = format_behaviour("main..HEAD", [report])
    assert "`````diff" in text and text.count("\n`````\n") == 1


def test_names_in_a_diff_are_no_markup() -> None:
    name = "<b>@admin\u202e|x"
    old, new = {name: {"tools": [{"name": name}]}}, {name: {"tools": []}}
    text = format_behaviour("main..HEAD", [BehaviourReport(name, *compare_rendered(old, new))])
    assert "### `<b>@admin\\u202e|x`" in text
    assert "| `<b>@admin\\u202e\\|x` | tools | `- <b>@admin\\u202e\\|x` |" in text
    assert "<summary><code>&lt;b&gt;@admin\\u202e|x</code>: request" in text

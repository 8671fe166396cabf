"""run_skill_script: when it is there, how scripts run, and that a crash repeats none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.artifacts import InMemoryArtifactService
from ostinato.code_executors import BaseCodeExecutor, UnsafeLocalCodeExecutor
from ostinato.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from ostinato.environment import BaseEnvironment, ExecutionResult
from ostinato.skills.shebang import read_command
from ostinato.testing import FunctionModel, call, crash_everywhere
from ostinato.tools.skill_toolset import SkillToolset
from ostinato.tools.skills.script_tool import build_arguments
from tests.support.skill_agents import answers, make_skill, talk
from tests.unit.durable.crash import Life, Scenario, World, calls_named, flagged

SCRIPTS = {
    "show.py": "import sys\nfrom helper import WORD\n"
    "print(WORD, sys.argv, open('references/guide.md').read())\n",
    "helper.py": "WORD = 'helped'\n",
    "fail.sh": "echo out; echo bad >&2; exit 3\n",
    "warn.sh": "echo out; echo careful >&2\n",
    "make.py": "open('made.txt', 'w').write('made')\n",
    "slow.sh": "sleep 60\n",
    "sub/tool": "#!/usr/bin/env -S python3 -u\nimport os\n"
    "print(os.environ['OSTINATO_IDEMPOTENCY_KEY'])",
    "odd.rb": "puts 1",
    "lost": "#!/no/such/program\n",
    "loud.py": "print('x' * 50_000)",
}  # fmt: skip


def run(path: str, **args: Any) -> Any:
    return call("run_skill_script", skill_name="pdf", file_path=path, **args)


async def ask(*calls: Any, executor: Any = None, **settings: Any) -> list[Any]:
    """Return the answers to calls of an agent with scripts."""
    toolset = SkillToolset(
        [make_skill("pdf", scripts=SCRIPTS)],
        code_executor=executor or UnsafeLocalCodeExecutor(),
        **settings,
    )
    conversation, _ = talk(toolset, list(calls), "Done.")
    await conversation.say("Go")
    return answers(conversation)


async def test_scripts_run_with_the_files_of_their_skill() -> None:
    shown, failed, warned, keyed, lost = await ask(
        run(
            "scripts/show.py",
            args={"a": 1},
            short_options={"n": 2},
            positional_args=["p q", "python"],
        ),
        run("fail.sh"),
        run("./scripts/warn.sh"),
        run("scripts/sub/tool"),
        run("lost"),
    )
    words = "['scripts/show.py', '--a', '1', '-n', '2', '--', 'p q', 'python']"
    assert shown["stdout"] == f"helped {words} G\n" and shown["status"] == "success"
    assert (shown["skill_name"], shown["file_path"]) == ("pdf", "scripts/show.py")
    assert {**failed, "exit_code": 3} == failed and failed["status"] == "error"
    assert (failed["stdout"], failed["stderr"]) == ("out\n", "bad\n")
    assert (warned["status"], warned["stderr"]) == ("warning", "careful\n")
    assert keyed["stdout"].count("/") == 4, "the key of the call"
    assert lost["status"] == "error" and "could not be started: /no/such/program" in lost["stderr"]


async def test_files_that_scripts_make_become_artifacts() -> None:
    toolset = SkillToolset(
        [make_skill("pdf", scripts=SCRIPTS)],
        code_executor=UnsafeLocalCodeExecutor(),
        save_output_artifacts=True,
    )
    conversation, _ = talk(toolset, run("make.py"), "Done.")
    await conversation.say("Go")
    assert answers(conversation)[0]["output_files"] == ["made.txt"]
    service = conversation.runner.artifact_service
    assert isinstance(service, InMemoryArtifactService)
    place = {"app_name": conversation.runner.app_name, "user_id": "user", "session_id": "session"}
    saved = await service.load_artifact(**place, filename="made.txt")
    assert saved is not None and saved.inline_data is not None
    assert saved.inline_data.data == b"made"


async def test_time_and_output_are_bounded() -> None:
    (slow,) = await ask(run("slow.sh"), script_timeout=0.1)
    assert slow["status"] == "error" and "stopped after 0.1 seconds" in slow["stderr"]
    (loud,) = await ask(run("loud.py"))
    assert loud["stdout"].endswith("(cut off; 50,001 bytes in all)")
    assert len(loud["stdout"]) < 17_000


async def test_wrong_calls_have_codes() -> None:
    missing, again, odd, text, both = await ask(
        run("none.py"),
        run("../show.py"),
        run("odd.rb"),
        run("show.py", args="x"),
        run("show.py", args=["x"], positional_args=["y"]),
    )
    assert missing["error_code"] == "SCRIPT_NOT_FOUND"
    assert "scripts/show.py" in missing["available"]
    assert again["error_code"] == "SCRIPT_NOT_FOUND_FATAL"
    assert odd["error_code"] == "UNSUPPORTED_SCRIPT_TYPE"
    assert text == {
        "error": "'args' must be a JSON object (dict) or a list of strings, got str.",
        "error_code": "INVALID_ARGUMENTS",
    }
    assert both["error_code"] == "INVALID_ARGUMENTS"


async def test_an_argument_with_a_nul_is_an_error() -> None:
    def insert_nul(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["args"] = ["a\0b"]

    skills = [make_skill("pdf", scripts=SCRIPTS)]
    toolset = SkillToolset(skills, code_executor=UnsafeLocalCodeExecutor())
    conversation, _ = talk(toolset, run("show.py"), "Done.", before_tool_callback=insert_nul)
    await conversation.say("Go")
    assert answers(conversation) == [
        {
            "error": "An argument holds a NUL, which no script can get.",
            "error_code": "INVALID_ARGUMENTS",
        }
    ]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, []),
        ({"args": ["a", 1]}, ["a", "1"]),
        ({"args": {"flag": True, "l": [1]}}, ["--flag", "True", "--l", "[1]"]),
        ({"short_options": {"n": 5}, "positional_args": ["p"]}, ["-n", "5", "--", "p"]),
    ],
)
def test_arguments_are_written_as_in_google_adk(args: Any, words: list[str]) -> None:
    assert build_arguments(args) == words


@pytest.mark.parametrize(
    ("path", "source", "command"),
    [
        ("a.py", "", ("python",)),
        ("a.sh", "#!/bin/dash -e\n", ("/bin/dash", "-e")),
        ("a", "#!/usr/bin/python3.12\n", ("python",)),
        ("a", "#! /usr/bin/env node", ("node",)),
        ("a", '#!"', None),
        ("a", "#!/usr/bin/env", None),
    ],
)
def test_what_runs_a_script(path: str, source: str, command: Any) -> None:
    assert read_command(path, source) == command


class Odd(BaseCodeExecutor):
    """An executor that knows nothing of scripts."""

    stdout: str = ""
    stderr: str = ""

    def execute_code(
        self, invocation_context: Any, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        if self.stdout == "raise":
            raise RuntimeError("no machine")
        return CodeExecutionResult(stdout=self.stdout, stderr=self.stderr)


@pytest.mark.parametrize(
    ("stdout", "stderr", "status"),
    [("o", "", "success"), ("o", "e", "warning"), ("", "e", "error"), ("", "", "success")],
)
async def test_an_executor_with_results_of_its_own(stdout: str, stderr: str, status: str) -> None:
    (answer,) = await ask(run("show.py"), executor=Odd(stdout=stdout, stderr=stderr))
    assert (answer["stdout"], answer["stderr"], answer["status"]) == (stdout, stderr, status)


async def test_an_executor_that_raises_is_told_to_the_model() -> None:
    (answer,) = await ask(run("show.py"), executor=Odd(stdout="raise"))
    assert answer["error_code"] == "EXECUTION_ERROR"
    assert answer["error"] == "Failed to execute script 'show.py': RuntimeError: no machine"


async def test_the_tool_needs_scripts_and_an_executor() -> None:
    with_scripts, without = make_skill("pdf", scripts=SCRIPTS), make_skill("mail")
    executor = UnsafeLocalCodeExecutor()
    for skill, own, of_agent, expected in (
        (with_scripts, executor, None, True),
        (with_scripts, None, executor, True),
        (with_scripts, None, None, False),
        (without, executor, executor, False),
    ):
        toolset = SkillToolset([skill], code_executor=own)
        conversation, model = talk(toolset, run("warn.sh"), "Done.", code_executor=of_agent)
        await conversation.say("Go")
        request = model.requests[0]
        assert ("run_skill_script" in request.tool_names) is expected
        assert ("run_skill_script" in request.instruction) is expected
        if expected:
            assert answers(conversation)[0]["stdout"] == "out\n"


class Counting(BaseCodeExecutor):
    """Counts runs as effects of the world; a run ends only if the process lives."""

    world: Any
    hangs: bool = False

    def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
        raise NotImplementedError

    async def execute_code_async(
        self, invocation_context: Any, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        self.world.effects["script"] += 1
        key = code_execution_input.code.partition('"key": "')[2].partition('"')[0]
        self.world.names[key] = "script"
        await asyncio.sleep(0)
        return CodeExecutionResult(stdout="ran")


class CountingEnvironment(BaseEnvironment):
    """As Counting, for an environment."""

    working_dir = Path("/work")  # pyright: ignore[reportAssignmentType]

    def __init__(self, world: World) -> None:
        self.world = world

    async def execute(self, command: str, **settings: Any) -> ExecutionResult:
        if "KEY=" not in command:
            return ExecutionResult()  # it makes room for the files
        self.world.effects["script"] += 1
        self.world.names[command.partition("KEY=")[2].partition(" ")[0]] = "script"
        return ExecutionResult(stdout="ran")

    async def read_file(self, path: Path) -> bytes:
        raise FileNotFoundError(path)

    async def write_file(self, path: Path, content: str | bytes) -> None:
        await asyncio.sleep(0)


def take_step(request: Any) -> Any:
    """Return the next turn by what the request has answers to already."""
    turns = (call("load_skill", skill_name="pdf"), run("show.py"), "Done.")
    parts = [part for content in request.contents for part in content.parts]
    return turns[sum(part.function_response is not None for part in parts)]


def clerk(place: str, **settings: Any) -> Any:
    def make(world: World) -> LlmAgent:
        places: dict[str, Any] = {
            "code_executor": Counting(world=world),
            "environment": CountingEnvironment(world),
        }
        toolset = SkillToolset(
            [make_skill("pdf", scripts=SCRIPTS)], **{place: places[place]}, **settings
        )
        return LlmAgent(
            name="clerk",
            model=FunctionModel(take_step),
            tools=[toolset],
        )

    return make


@pytest.mark.parametrize("place", ["code_executor", "environment"])
@pytest.mark.parametrize(("in_doubt", "runs"), [("at_most_once", 1), ("rerun", 2)])
async def test_a_crash_in_a_script_resumes_once(
    tmp_path: Path, place: str, in_doubt: Any, runs: int
) -> None:
    scenario = Scenario(clerk(place, script_in_doubt=in_doubt), "Go")
    life = Life(scenario, tmp_path / "s.db", resumable=False)
    assert not await life.process(at=5)  # message, load, loaded, script, and dead before its result
    assert life.world.effects == {"script": 1}
    assert await life.process()
    assert life.world.effects == {"script": runs}
    assert len(life.world.names) == 1, "the key stays the same"
    log = await life.log()
    assert len(calls_named(log, "load_skill")) == 1
    (asked,) = calls_named(log, "run_skill_script")
    assert flagged(log) == {asked.id}
    (answer,) = [
        response.response or {}
        for event in log
        for response in event.get_function_responses()
        if response.name == "run_skill_script"
    ]
    assert ("unknown" in str(answer.get("error"))) is (runs == 1)
    assert (answer.get("stdout") == "ran") is (runs == 2)
    assert await life.process() and life.world.effects == {"script": runs}


@pytest.mark.long
@pytest.mark.parametrize("kills", [True, False])
def test_a_script_runs_at_most_once_wherever_the_process_dies(kills: bool) -> None:
    toolset = SkillToolset(
        [make_skill("pdf", scripts=SCRIPTS, allowed="Bash")],
        code_executor=UnsafeLocalCodeExecutor(),
    )
    agent = LlmAgent(name="clerk", model="none", tools=[toolset])
    turns = [
        {"call": "load_skill", "args": {"skill_name": "pdf"}},
        {"call": "run_skill_script", "args": {"skill_name": "pdf", "file_path": "show.py"}},
        "Done.",
    ]
    report = crash_everywhere(agent, {"steps": ["Go."], "model": turns}, kills=kills)
    report.assert_once()
    assert report.to_json()["ok"] and "run_skill_script" in report.tools

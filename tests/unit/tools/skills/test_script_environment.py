"""Scripts in an environment: where they run, with which files, and what is refused."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from ostinato.code_executors import UnsafeLocalCodeExecutor
from ostinato.environment import BaseEnvironment, ExecutionResult, LocalEnvironment
from ostinato.errors import AgentConfigError
from ostinato.testing import call
from ostinato.tools.environment import EnvironmentToolset
from ostinato.tools.skill_toolset import SkillToolset
from tests.support.skill_agents import answers, make_skill, talk

SCRIPTS = {
    "show.py": "import os, sys\nfrom helper import WORD\n"
    "guide = os.path.join(os.path.dirname(sys.argv[0]), '../references/guide.md')\n"
    "print(WORD, sys.argv[1:], open(guide).read(), os.listdir('.'))\n",
    "helper.py": "WORD = 'helped'\n",
    "fail.sh": "echo out; echo bad >&2; exit 3\n",
    "key.sh": "echo $OSTINATO_IDEMPOTENCY_KEY\n",
    "slow.sh": "sleep 60\n",
    "lost": "#!/no/such/program\n",
    "loud.py": "print('x' * 50_000)",
}


def run(path: str, **args: Any) -> Any:
    return call("run_skill_script", skill_name="pdf", file_path=path, **args)


class Noting(LocalEnvironment):
    """Notes what it is asked for."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.notes: list[str] = []

    async def initialize(self) -> None:
        self.notes.append("initialize")
        await super().initialize()

    async def close(self) -> None:
        self.notes.append("close")
        await super().close()

    async def write_file(self, path: str | Path, content: str | bytes) -> None:
        self.notes.append(f"write {Path(path).as_posix()}")
        await super().write_file(path, content)


async def ask(environment: BaseEnvironment, *calls: Any, **settings: Any) -> list[Any]:
    toolset = SkillToolset(
        [make_skill("pdf", scripts=SCRIPTS)], environment=environment, **settings
    )
    conversation, model = talk(toolset, list(calls), "Done.")
    await conversation.say("Go")
    assert "run_skill_script" in model.requests[0].tool_names
    await toolset.close()
    return answers(conversation)


async def test_scripts_run_in_the_working_directory_with_the_files_of_their_skill(
    tmp_path: Path,
) -> None:
    environment = LocalEnvironment(working_dir=tmp_path)
    shown, failed, keyed, lost, missing = await ask(
        environment,
        run("show.py", args={"a": "p q; ls"}),
        run("./scripts/fail.sh"),
        run("key.sh"),
        run("lost"),
        run("none.py"),
    )
    assert shown["stdout"] == "helped ['--a', 'p q; ls'] G ['skills']\n"
    assert (shown["status"], shown["exit_code"], shown["timed_out"]) == ("success", 0, False)
    assert (failed["stdout"], failed["stderr"]) == ("out\n", "bad\n")
    assert (failed["status"], failed["exit_code"]) == ("error", 3)
    assert keyed["stdout"].count("/") == 4, "the key of the call"
    assert (lost["status"], lost["exit_code"]) == ("error", 127)
    assert missing["error_code"] == "SCRIPT_NOT_FOUND"
    assert (tmp_path / "skills/pdf/assets/logo.png").is_file()


async def test_files_are_written_once_and_again_if_they_are_gone() -> None:
    environment = Noting()
    toolset = SkillToolset([make_skill("pdf", scripts=SCRIPTS)], environment=environment)
    conversation, model = talk(
        toolset, [run("key.sh"), run("fail.sh")], "Done.", run("key.sh"), "Done."
    )
    await conversation.say("Go")
    assert environment.notes.count("initialize") == 1
    assert environment.notes.count("write skills/pdf/scripts/key.sh") == 1
    assert "skills/NAME" in model.requests[0].instruction
    folder = toolset.skills_folder
    assert folder is not None
    assert folder == environment.working_dir / "skills"
    (folder / "pdf/scripts/key.sh").write_text("echo changed")
    await conversation.say("Again")
    assert [one["stdout"].count("/") for one in answers(conversation, "run_skill_script")][-1] == 4
    assert environment.notes.count("write skills/pdf/scripts/key.sh") == 2
    await toolset.close()
    await toolset.close()
    assert environment.notes.count("close") == 1


async def test_an_environment_that_no_script_used_is_left_alone() -> None:
    environment = Noting()
    toolset = SkillToolset([make_skill("pdf", scripts=SCRIPTS)], environment=environment)
    conversation, _ = talk(toolset, call("load_skill", skill_name="pdf"), "Done.")
    await conversation.say("Go")
    await toolset.close()
    assert environment.notes == []


@pytest.mark.long
async def test_a_folder_of_its_own(tmp_path: Path) -> None:
    environment = LocalEnvironment(working_dir=tmp_path / "work")
    folder = tmp_path / "my skills"
    (shown,) = await ask(environment, run("show.py"), skills_folder=str(folder))
    assert shown["stdout"] == "helped [] G []\n"
    assert SkillToolset(environment=environment, skills_folder=folder).skills_folder == folder
    assert SkillToolset().skills_folder is None


@pytest.mark.long
async def test_time_and_output_are_bounded() -> None:
    (slow,) = await ask(LocalEnvironment(), run("slow.sh"), script_timeout=0.2)
    assert slow["status"] == "error" and slow["timed_out"] is True
    assert "stopped after 0.2 seconds" in slow["stderr"]
    (loud,) = await ask(LocalEnvironment(), run("loud.py"))
    assert loud["stdout"].endswith("(cut off; 50,001 bytes in all)")
    assert len(loud["stdout"]) < 17_000


async def test_it_works_beside_the_tools_of_the_same_environment(tmp_path: Path) -> None:
    environment = LocalEnvironment(working_dir=tmp_path)
    skills = SkillToolset([make_skill("pdf", scripts=SCRIPTS)], environment=environment)
    conversation, _ = talk(
        skills,
        run("key.sh"),
        call("Execute", command="ls skills/pdf/scripts"),
        "Done.",
        tools=[EnvironmentToolset(environment=environment)],
    )
    await conversation.say("Go")
    assert "show.py" in answers(conversation, "Execute")[0]["stdout"]


class Broken(BaseEnvironment):
    """An environment whose machine is gone."""

    working_dir = Path("/work")  # pyright: ignore[reportAssignmentType]

    async def execute(self, command: str, **settings: Any) -> ExecutionResult:
        raise ConnectionError("no machine")

    async def read_file(self, path: Path) -> bytes:
        raise FileNotFoundError(path)

    async def write_file(self, path: Path, content: str | bytes) -> None:
        await asyncio.sleep(0)


async def test_an_environment_that_raises_is_told_to_the_model() -> None:
    (answer,) = await ask(Broken(), run("key.sh"))
    assert answer["error_code"] == "EXECUTION_ERROR"
    assert answer["error"] == "Failed to execute script 'key.sh': ConnectionError: no machine"


async def test_a_path_that_leads_out_of_the_skill_is_not_written(tmp_path: Path) -> None:
    skill = make_skill("pdf", scripts={"a.sh": "echo a"})
    skill.resources.files["../../evil"] = "x"
    toolset = SkillToolset([skill], environment=LocalEnvironment(working_dir=tmp_path / "w"))
    conversation, _ = talk(toolset, run("a.sh"), "Done.")
    await conversation.say("Go")
    assert answers(conversation)[0]["error_code"] == "EXECUTION_ERROR"
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"code_executor": UnsafeLocalCodeExecutor()}, "both code_executor and environment"),
        ({"save_output_artifacts": True}, "save_output_artifacts"),
        ({"skills_folder": "skills"}, "absolute"),
        ({"environment": None, "skills_folder": "/skills"}, "without an environment"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(AgentConfigError, match=problem):
        SkillToolset([], **{"environment": LocalEnvironment(), **settings})


async def test_programs_load_and_unload_skills_without_the_model() -> None:
    toolset = SkillToolset([make_skill("pdf")])
    seen: list[Any] = []

    async def look(tool_context: Any) -> str:
        """Look."""
        seen.extend([await toolset.load_skill(tool_context, "pdf") for _ in range(2)])
        seen.append(toolset.list_active_skills(tool_context))
        with pytest.raises(ValueError, match="'none' not found"):
            await toolset.load_skill(tool_context, "none")
        seen.extend(toolset.unload_skill(tool_context, "pdf") for _ in range(2))
        return "seen"

    conversation, _ = talk(toolset, call("look"), "Done.", tools=[look])
    await conversation.say("Go")
    assert seen == [True, False, ["pdf"], True, False]


@pytest.mark.parametrize("link", ["os.symlink", pytest.param("os.link", marks=pytest.mark.long)])
async def test_files_of_a_skill_are_not_written_through_links(tmp_path: Path, link: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    plant = (
        f"import os; os.makedirs('skills/pdf/scripts', exist_ok=True); "
        f"{link}({str(precious)!r}, 'skills/pdf/scripts/key.sh')"
    )
    toolset = SkillToolset(
        [make_skill("pdf", scripts=SCRIPTS), make_skill("evil", scripts={"a.py": plant})],
        environment=LocalEnvironment(),
    )
    evil = call("run_skill_script", skill_name="evil", file_path="a.py")
    conversation, _ = talk(toolset, [evil], [run("key.sh")], "Done.")
    await conversation.say("Go")
    assert answers(conversation)[-1]["status"] == "success"
    assert precious.read_text() == "kept"


async def test_a_folder_of_a_skill_that_is_a_link_is_refused(tmp_path: Path) -> None:
    plant = f"import os; os.symlink({str(tmp_path)!r}, 'skills/pdf')"
    toolset = SkillToolset(
        [make_skill("pdf", scripts=SCRIPTS), make_skill("evil", scripts={"a.py": plant})],
        environment=LocalEnvironment(),
    )
    evil = call("run_skill_script", skill_name="evil", file_path="a.py")
    conversation, _ = talk(toolset, [evil], [run("key.sh")], "Done.")
    await conversation.say("Go")
    assert "is a link in the environment" in str(answers(conversation)[-1])
    assert not os.listdir(tmp_path)

"""EnvironmentToolset: what its tools answer, as google-adk's do, and when it opens and closes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.environment import BaseEnvironment, ExecutionResult, LocalEnvironment
from ostinato.errors import AgentConfigError
from ostinato.models import LlmRequest
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.base_tool import BaseTool
from ostinato.tools.environment import EnvironmentToolset
from tests.unit.tools.contexts import make_context


class Recorder(BaseEnvironment):
    """Notes what is asked of it, and answers commands with `given`."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.given = ExecutionResult()

    @property
    def working_dir(self) -> Path:
        return Path("/work")

    async def initialize(self) -> None:
        self.asked.append("initialize")

    async def close(self) -> None:
        self.asked.append("close")

    async def execute(
        self,
        command: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the port has it
    ) -> ExecutionResult:
        self.asked.append((command, timeout))
        return self.given

    async def read_file(self, path: Path) -> bytes:
        await asyncio.sleep(0)
        return b""

    async def write_file(self, path: Path, content: str | bytes) -> None:
        raise OSError("the disk is full")


@pytest.fixture(name="place")
async def fixture_place(tmp_path: Path) -> AsyncIterator[LocalEnvironment]:
    place = LocalEnvironment(working_dir=tmp_path)
    await place.initialize()
    yield place
    await place.close()


async def tools_of(place: BaseEnvironment, **settings: Any) -> dict[str, BaseTool]:
    toolset = EnvironmentToolset(environment=place, **settings)
    return {tool.name: tool for tool in await toolset.get_tools()}


async def ask(tool: BaseTool, **args: Any) -> Any:
    return await tool.run_async(args=args, tool_context=make_context())


async def test_the_environment_opens_at_first_use_and_closes_with_the_toolset() -> None:
    place = Recorder()
    toolset = EnvironmentToolset(environment=place)
    await toolset.close()
    assert place.asked == []
    await toolset.get_tools()
    await toolset.get_tools()
    await toolset.close()
    await toolset.close()
    assert place.asked == ["initialize", "close"]
    request = LlmRequest(model="m")
    await toolset.process_llm_request(tool_context=make_context(), llm_request=request)
    assert place.asked == ["initialize", "close", "initialize"]
    told = str(request.config.system_instruction)
    assert told.startswith("Your environment is at /work/\n") and "`ReadFile`" in told


async def test_names_filter_and_prefix() -> None:
    names = ["Execute", "ReadFile", "EditFile", "WriteFile"]
    assert list(await tools_of(Recorder())) == names
    assert list(await tools_of(Recorder(), tool_filter=["ReadFile"])) == ["ReadFile"]
    toolset = EnvironmentToolset(environment=Recorder(), tool_name_prefix="box")
    assert [t.name for t in await toolset.get_tools_with_prefix()] == [f"box_{n}" for n in names]
    with pytest.raises(AgentConfigError, match="max_output_chars"):
        EnvironmentToolset(environment=Recorder(), max_output_chars=0)


GIVEN = [
    (ExecutionResult(), {"status": "ok"}),
    (ExecutionResult(stdout="o", stderr="e"), {"status": "ok", "stdout": "o", "stderr": "e"}),
    (ExecutionResult(exit_code=2), {"status": "error", "exit_code": 2}),
    (
        ExecutionResult(exit_code=-9, stdout="p", timed_out=True),
        {
            "status": "error",
            "stdout": "p",
            "exit_code": -9,
            "error": "Command timed out after 30s.",
        },
    ),
    (
        ExecutionResult(stdout="123456"),
        {"status": "ok", "stdout": "12345\n... (truncated, 6 total chars)"},
    ),
]


@pytest.mark.parametrize(("given", "answer"), GIVEN)
async def test_execute(given: ExecutionResult, answer: dict[str, Any]) -> None:
    place = Recorder()
    place.given = given
    tools = await tools_of(place, max_output_chars=5)
    assert await ask(tools["Execute"], command="make") == answer
    assert place.asked[-1] == ("make", 30)


async def test_arguments_that_are_missing_or_of_another_type_are_told() -> None:
    tools = await tools_of(Recorder())
    assert await ask(tools["Execute"]) == {"status": "error", "error": "`command` is required."}
    for name in ("ReadFile", "EditFile", "WriteFile"):
        assert (await ask(tools[name], path=""))["error"] == "`path` is required."
    assert (await ask(tools["Execute"], command=5))["status"] == "error"
    assert "start_line" in (await ask(tools["ReadFile"], path="a", start_line="x"))["error"]
    assert "content" in (await ask(tools["WriteFile"], path="a"))["error"]


LINES = [
    ({}, "     1\ta\n     2\tb\n     3\tc"),
    ({"start_line": 2}, "     2\tb\n     3\tc"),
    ({"start_line": 0, "end_line": 2}, "     1\ta\n     2\tb\n"),
    ({"start_line": 3, "end_line": 1}, "     3\tc"),
    ({"start_line": -4, "end_line": 99}, "     1\ta\n     2\tb\n     3\tc"),
]


@pytest.mark.parametrize(("bounds", "content"), LINES)
async def test_lines_of_a_file(
    place: LocalEnvironment, bounds: dict[str, int], content: str
) -> None:
    await place.write_file("f", "a\nb\nc")
    read = (await tools_of(place))["ReadFile"]
    assert await ask(read, path="f", **bounds) == {"status": "ok", "content": content}


async def test_what_cannot_be_read_is_told(place: LocalEnvironment) -> None:
    await place.write_file("f", "a\n")
    await place.write_file("folder/f", "long text")
    tools = await tools_of(place, max_output_chars=4)
    read = tools["ReadFile"]
    assert (await ask(read, path="x"))["error"] == "File not found: x"
    assert "directory" in (await ask(read, path="folder"))["error"]
    beyond = await ask(read, path="f", start_line=2)
    assert beyond["error"] == "`start_line` 2 exceeds file length (1 lines)."
    assert beyond["total_lines"] == 1
    assert (await ask(read, path="folder/f"))["content"].endswith("(truncated, 16 total chars)")


async def test_lines_end_where_python_ends_them(place: LocalEnvironment) -> None:
    text = "a\r\nb\rc\n\n\x0bd\x0c\x1c\x1d\x1ee\x85\u2028f\u2029\r\n\rg"
    await place.write_file("f", text)
    read = (await tools_of(place))["ReadFile"]
    lines = enumerate(text.splitlines(keepends=True), 1)
    shown = "".join(f"{number:6d}\t{line}" for number, line in lines)
    assert (await ask(read, path="f"))["content"] == shown
    await place.write_file("f", "")
    assert (await ask(read, path="f"))["total_lines"] == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
async def test_pipes_and_large_files_are_told_to_the_model(
    place: LocalEnvironment, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 2**40)
    tools = await tools_of(place)
    for name, fault in (("pipe", "not a regular file"), ("sparse", "more than 16,777,216 bytes")):
        assert fault in (await ask(tools["ReadFile"], path=name, start_line=1))["error"]
        edit = await ask(tools["EditFile"], path=name, old_string="a", new_string="b")
        assert fault in edit["error"]
    answer = await ask(tools["WriteFile"], path="pipe", content="x")
    assert "not a regular file" in answer["error"]


EDITS = [
    ("a", "q", "q b b\r\nc\n", "Edited f"),
    ("b\nc", "x\ny", "a b x\r\ny\n", "Edited f"),
    ("b", "x", None, "appears 2 times"),
    ("z", "x", None, "not found in file"),
    ("", "x", None, "cannot be empty"),
]


@pytest.mark.parametrize(("old", "new", "after", "told"), EDITS)
async def test_edit(
    place: LocalEnvironment, old: str, new: str, after: str | None, told: str
) -> None:
    before = b"a b b\r\nc\n"
    await place.write_file("f", before)
    edit = (await tools_of(place))["EditFile"]
    answer = await ask(edit, path="f", old_string=old, new_string=new)
    assert told in (answer["message"] if after else answer["error"])
    assert await place.read_file("f") == (after.encode() if after else before)


async def test_edits_at_the_same_time_are_all_kept(place: LocalEnvironment) -> None:
    await place.write_file("f", "a b c")
    edit = (await tools_of(place))["EditFile"]
    await asyncio.gather(
        *(ask(edit, path="f", old_string=one, new_string=one * 2) for one in "abc")
    )
    assert await place.read_file("f") == b"aa bb cc"


async def test_a_file_that_is_no_text_is_not_edited(place: LocalEnvironment) -> None:
    await place.write_file("f", b"\xffab")
    edit = (await tools_of(place))["EditFile"]
    assert "UTF-8" in (await ask(edit, path="f", old_string="a", new_string="q"))["error"]
    assert await place.read_file("f") == b"\xffab"


async def test_a_failure_of_the_environment_is_told() -> None:
    tools = await tools_of(Recorder())
    answer = await ask(tools["WriteFile"], path="f", content="x")
    assert answer == {"status": "error", "error": "the disk is full"}


async def test_an_agent_works_in_an_environment(place: LocalEnvironment) -> None:
    model = ScriptedModel(
        [
            call("WriteFile", path="hi.sh", content="echo hello"),
            call("Execute", command="sh hi.sh"),
            "ok",
        ]
    )
    agent = Agent(name="a", model=model, tools=[EnvironmentToolset(environment=place)])
    await Conversation(agent).say("go")
    told = model.requests[-1].contents[-1].parts
    assert told and told[0].function_response
    assert told[0].function_response.response == {"status": "ok", "stdout": "hello\n"}
    assert "Your environment is at" in str(model.requests[0].config.system_instruction)

"""What a developer sees first: examples, the line that fails, and titles by a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ostinato.hosting.setup_error import SetupError
from ostinato.server.example_prompts import read_examples
from ostinato.server.source_place import read_source
from tests.unit.server.conftest import Serve
from tests.unit.server.parity.steps import say

AGENT = '''"""An agent.

Try:
- What is new?
- `Add 1 and 2
  and 3`
"""
from ostinato.agents import Agent
from ostinato.apps import App
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse


class Echo(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        text = llm_request.contents[-1].parts[-1].text
        answer = "**A trip to Rome.**" if "Name the conversation" in text else "Fine."
        yield LlmResponse(content={"role": "model", "parts": [{"text": answer}]})


root_agent = Agent(name="echo", model=Echo(model="echo"))
'''


def write_app(folder: Path, name: str, text: str) -> Path:
    """Write an agent's folder."""
    place = folder / "agents" / name
    place.mkdir(parents=True)
    (place / "agent.py").write_text(text)
    return place.parent


async def test_examples_come_from_the_app_or_else_from_the_docstring(
    serve: Serve, tmp_path: Path
) -> None:
    write_app(tmp_path, "good", AGENT)
    given = AGENT + "app = App(name='one', root_agent=root_agent, examples=['Hello', ' '])\n"
    folder = write_app(tmp_path, "one", given)
    write_app(tmp_path, "two", AGENT.partition('"""\n')[2])
    async with serve(agents=folder) as served:
        apps = (await served.ask("GET", "/list-apps?detailed=true")).json()["apps"]
    assert {one["name"]: one.get("examples") for one in apps} == {
        "good": ["What is new?", "Add 1 and 2 and 3"],
        "one": ["Hello"],
        "two": None,
    }


@pytest.mark.parametrize(
    ("doc", "wanted"),
    [
        ("", []),
        ("Says - hello.\n- no list", []),
        ("A.\n\nExamples:\n\n* one\n* two\n\nMore:\n- three", ["one", "two"]),
        ("Example prompts:\n- one", ["one"]),
    ],
)
def test_examples_of_a_docstring(doc: str, wanted: list[str]) -> None:
    assert read_examples(doc) == wanted


@pytest.mark.parametrize(
    ("text", "line"),
    [("x = 1\nroot_agent = (\n", 2), ("\n" * 9 + "raise ValueError('no')\n", 10)],
)
async def test_a_developer_sees_the_line_that_fails(
    serve: Serve, tmp_path: Path, text: str, line: int
) -> None:
    folder = write_app(tmp_path, "broken", text)
    async with serve(agents=folder, reload=True, developer=True) as served:
        [one] = (await served.ask("GET", "/list-apps?detailed=true")).json()["apps"]
    place = one["source"]
    assert (place["file"], place["line"]) == ("broken/agent.py", line)
    assert place["lines"][line - place["first"]] == text.splitlines()[line - 1]
    assert str(tmp_path) not in json.dumps(one)


async def test_a_developer_sees_the_line_of_a_yaml_file_that_fails(
    serve: Serve, tmp_path: Path
) -> None:
    folder = tmp_path / "agents"
    (folder / "orders").mkdir(parents=True)
    text = "name: orders\ntoolz: []\ninstruction: Help.\n"
    (folder / "orders" / "root_agent.yaml").write_text(text)
    async with serve(agents=folder, reload=True, developer=True) as served:
        [one] = (await served.ask("GET", "/list-apps?detailed=true")).json()["apps"]
    assert one["source"] == {
        "file": "orders/root_agent.yaml",
        "line": 2,
        "first": 1,
        "lines": ["name: orders", "toolz: []", "instruction: Help."],
    }


async def test_examples_of_a_yaml_agent_come_from_its_package(serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    (folder / "described").mkdir(parents=True)
    (folder / "described" / "root_agent.yaml").write_text("name: one\ninstruction: Help.\n")
    (folder / "described" / "__init__.py").write_text('"""One.\n\nTry:\n- Hello\n"""\n')
    async with serve(agents=folder, stand_in=True) as served:
        [one] = (await served.ask("GET", "/list-apps?detailed=true")).json()["apps"]
    assert one["examples"] == ["Hello"]


@pytest.mark.parametrize("developer", [True, False])
async def test_only_a_developer_is_told_which_folder_is_empty(
    serve: Serve, tmp_path: Path, developer: bool
) -> None:
    (tmp_path / "agents").mkdir()
    async with serve(agents=tmp_path / "agents", developer=developer) as served:
        found = (await served.ask("GET", "/list-apps?detailed=true")).json()
    told = {"folder": str((tmp_path / "agents").resolve())} if developer else {}
    assert found == {"apps": [], **told}


async def test_nobody_else_sees_the_code(serve: Serve, tmp_path: Path) -> None:
    folder = write_app(tmp_path, "broken", "secret = 1 / 0\n")
    async with serve(agents=folder) as served:
        [one] = (await served.ask("GET", "/list-apps?detailed=true")).json()["apps"]
    assert "source" not in one and "secret" not in json.dumps(one)


def test_code_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text("secret")
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "link.py").symlink_to(other)
    for file in (other, folder / "link.py", folder / "gone.py"):
        assert read_source(folder, SetupError("no", file=str(file), line=1)) is None


async def test_the_model_names_a_session_on_request(serve: Serve, tmp_path: Path) -> None:
    folder = write_app(tmp_path, "good", AGENT)
    base = "/apps/good/users/ann/sessions"
    async with serve(agents=folder) as served:
        await served.ask("POST", base, {"sessionId": "s1"})
        empty = await served.ask("POST", f"{base}/s1/title")
        assert (empty.status_code, empty.json()["error"]["type"]) == (409, "EmptySession")
        await served.ask("POST", "/run", {**say("I want to see Rome"), "appName": "good"})
        answer = await served.ask("POST", f"{base}/s1/title")
        assert answer.json() == {"title": "A trip to Rome"}
        page = (await served.ask("GET", "/apps/good/sessions?search=trip")).json()
        assert [one["title"] for one in page["sessions"]] == ["A trip to Rome"]
        assert (await served.ask("POST", f"{base}/zzz/title")).status_code == 404

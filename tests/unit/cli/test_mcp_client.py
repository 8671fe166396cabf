"""`ostinato mcp list` and `ostinato mcp call`, and `ostinato mcp FOLDER` beside them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from ostinato.cli.cli_error import CliError
from ostinato.cli.main import main
from ostinato.cli.mcp_client import _load_optional
from ostinato.cli.parser import parse_arguments
from tests.support.mcp import RAW_SERVER

SERVER = ["--", sys.executable, "-I", "-S", str(RAW_SERVER)]

ASKING = """
from typing import Annotated, Any
from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from pydantic import BaseModel

class Size(BaseModel):
    size: int

def ask():
    return Elicit("Which size?", Size)

app = MCPServer("shop")

@app.tool()
async def order(size: Annotated[Size, Resolve(ask)]) -> str:
    return "ordered"

app.run()
"""

DOTTED = """
from mcp.server.mcpserver import MCPServer

app = MCPServer("sums")

@app.tool(name="sums.add")
async def add() -> str:
    'Adds.'

app.run()
"""


def test_list_prints_tools_with_their_policy(capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "list", *SERVER]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "raw, protocol 2025-06-18"
    assert lines[1] == "tool      echo (once): does echo"
    assert "tool      read (may repeat): does read" in lines


def test_call_prints_the_result(capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "call", "echo", "a=1", "b=two", *SERVER]) == 0
    assert json.loads(capsys.readouterr().out)["args"] == {"a": 1, "b": "two"}
    assert main(["mcp", "call", "echo", '{"a": [1]}', *SERVER]) == 0
    assert json.loads(capsys.readouterr().out)["args"] == {"a": [1]}


def test_arguments_may_stand_behind_options(capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "call", "echo", "a=1", "--timeout", "60", "b=two", "c=-3", *SERVER]) == 0
    assert json.loads(capsys.readouterr().out)["args"] == {"a": 1, "b": "two", "c": -3}
    for words in (["call", "echo", "--wrong", "a=1"], ["list", "a=1"]):
        with pytest.raises(SystemExit) as left:
            main(["mcp", *words, *SERVER])
        assert left.value.code == 2 and "unrecognized arguments" in capsys.readouterr().err


def test_list_prints_the_names_that_agents_know(capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "list", "--", sys.executable, "-c", DOTTED]) == 0
    assert "tool      sums.add, to agents sums_add (once): Adds." in capsys.readouterr().out


def test_failed_call_and_unknown_server_are_errors(capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "call", "fail", *SERVER]) == 1
    assert "no such account" in capsys.readouterr().err
    assert main(["mcp", "list", "--", "no-such-program"]) == 1
    assert "cannot be reached" in capsys.readouterr().err


def test_call_says_that_it_may_have_taken_effect(capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "call", "pay", *SERVER, "die=before"]) == 1
    error = capsys.readouterr().err
    assert error.count("may have taken effect") == 1 and "Traceback" not in error


@pytest.mark.long
def test_call_that_asks_the_user_says_so(capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "call", "order", "--", sys.executable, "-c", ASKING]) == 1
    assert "asks the user a question before it runs order" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [[], ["--url", "http://a", *SERVER], ["--url", "ftp://a"], ["--header", "x", *SERVER]]
)
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "list", *words]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_server_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / ".mcp.json"
    server = {"command": SERVER[1], "args": SERVER[2:]}
    other = {"url": "https://a.example", "headers": {"x": "${TOKEN}"}}  # which is not read here
    file.write_text(json.dumps({"mcpServers": {"raw": server, "other": other}}))
    assert main(["mcp", "list", "--file", str(file), "--server", "raw"]) == 0
    assert "tool      pay (once)" in capsys.readouterr().out
    assert main(["mcp", "list", "--file", str(file), "--server", "other"]) == 2
    assert "server 'other'" in capsys.readouterr().err
    assert main(["mcp", "list", "--file", str(file), "--server", "none"]) == 2


def test_a_folder_still_offers_its_agents():
    args = parse_arguments(["mcp", "./list"])
    assert (args.command, args.path) == ("mcp", "./list")
    assert parse_arguments(["mcp"]).path == "."


class Refusing:
    """A connection whose lists end with an error."""

    def __init__(self, code: int) -> None:
        self.lists, self.code = self, code

    async def load(self, kind: str, run: object) -> None:
        raise MCPError(self.code, "no")


async def test_lists_that_a_server_does_not_know_are_empty():
    unknown: Any = Refusing(-32_601)
    broken: Any = Refusing(-32_603)
    assert await _load_optional(unknown, "prompts", None) == ()
    with pytest.raises(CliError, match="list of prompts cannot be read: no"):
        await _load_optional(broken, "prompts", None)

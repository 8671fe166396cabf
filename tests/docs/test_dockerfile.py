"""The Dockerfile, read and not built: what it copies is there, and it runs what is documented."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

from ostinato.cli.parser import parse_arguments
from ostinato.server.app import ENDPOINTS

ROOT = Path(__file__).resolve().parents[2]
LINES = ROOT.joinpath("Dockerfile").read_text().replace("\\\n", " ").splitlines()
DOCUMENT = ROOT.joinpath("docs", "server.md").read_text().replace("\\\n", " ")


def lines(word: str) -> list[str]:
    """What follows an instruction, line by line."""
    return [line.removeprefix(word).strip() for line in LINES if line.startswith(f"{word} ")]


def test_what_is_copied_is_there_and_not_kept_from_the_builder() -> None:
    ignored = ROOT.joinpath(".dockerignore").read_text().split()
    sources: list[str] = []
    for copied in lines("COPY"):
        if not copied.startswith("--from="):
            sources += copied.split()[:-1]
    assert sources
    for source in sources:
        top = source.split("/")[0]
        assert f"!{top}" in ignored, source
        assert ROOT.joinpath(source).exists(), source


def test_the_extras_are_those_of_the_project() -> None:
    extras = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text())["project"]
    (named,) = lines("ARG")
    assert {*named.removeprefix("EXTRAS=").split(",")} <= extras["optional-dependencies"].keys()


def test_it_runs_as_nobody_special_and_says_whether_it_is_ready() -> None:
    assert lines("USER") == ["10001"]
    (check,) = lines("HEALTHCHECK")
    found = re.search(r"127\.0\.0\.1:(\d+)(/[\w/]+)", check)
    assert found is not None
    assert [found[1]] == lines("EXPOSE")
    assert [one.open for one in ENDPOINTS if (one.method, one.path) == ("GET", found[2])] == [True]


def test_the_documented_commands_start_what_the_image_starts() -> None:
    (entry,) = (json.loads(line) for line in lines("ENTRYPOINT"))
    assert "docker build -t ostinato ." in DOCUMENT
    (command,) = re.findall(r"^\$ docker run (.*)$", DOCUMENT, re.M)
    words = shlex.split(command)
    options = words[words.index("ostinato") + 1 :]
    given = parse_arguments([*entry[1:], *options])
    assert (given.host, given.port, given.workers) == ("0.0.0.0", 8000, 2)
    assert given.path in command
    for mounted in re.findall(r"-v \S+?:([^:\s]+)", command):
        assert mounted in " ".join(lines("RUN"))

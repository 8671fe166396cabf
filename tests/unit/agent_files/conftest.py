"""A folder `desk` with code and files that describe agents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Write = Callable[..., Path]

TOOLS = """\
from subprocess import run
import os
from pydantic import BaseModel

def look_up(item: str) -> dict:
    "Look up."
    return {"item": item}

def before_model(callback_context, llm_request):
    return None

class Answer(BaseModel):
    text: str

number = 3
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write files into the folder; return the first one's path."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")

    def write(root: str, **others: str) -> Path:
        for name, text in {"root_agent": root, **others}.items():
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        return folder / "root_agent.yaml"

    _forget()  # another test's folder may have had the name
    yield write
    _forget()


def _forget() -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in ("desk", "desk_agent"):
            del sys.modules[name]

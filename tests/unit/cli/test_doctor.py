"""`ostinato doctor`: it names what is there and what is missing, and shows no value of a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Ostinato


def test_the_report(ostinato: Ostinato, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    Path(".env").write_text("ANTHROPIC_API_KEY=also-secret\n", encoding="utf-8")
    done = ostinato("doctor")
    assert done.code == 0
    lines = [line.split(maxsplit=2) for line in done.out.splitlines() if line.startswith("  ")]
    rows = {line[1]: (line[0], line[2]) for line in lines}
    assert rows["pydantic"][0] == "✓"
    assert rows["OPENAI_API_KEY"] == ("✓", "set in the environment")
    assert rows["ANTHROPIC_API_KEY"][1].startswith("in ./.env")
    assert "secret" not in done.out
    assert rows["cold"][1].endswith("ms for Agent, Runner, sessions")
    said = " ".join(done.out.split())
    assert "offline stand-in available" in said
    assert "Google Gemini set GOOGLE_API_KEY or GEMINI_API_KEY" in said
    assert "OpenAI ready: OPENAI_API_KEY is set" in said
    assert "Ollama no key needed; not checked: http://127.0.0.1:11434/v1" in said
    assert "write-ahead log works in this folder" in said
    assert [p.name for p in Path().iterdir()] == [".env"]


@pytest.mark.long
def test_a_store_that_cannot_be_used_fails_the_command(ostinato: Ostinato) -> None:
    done = ostinato("doctor", "--db", "ann:geheim@127.0.0.1/db")
    assert done.code == 1
    assert "without a scheme" in " ".join(done.out.split()) and "geheim" not in done.out + done.err


@pytest.mark.long
def test_a_missing_package_comes_with_its_install_line(
    ostinato: Ostinato, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostinato.cli.doctor._find_version", lambda name: None)
    out = ostinato("doctor").out
    assert "missing; install it: pip install rich" in out
    assert "not installed (OpenAI Realtime models): pip install websockets" in out
    assert "not installed (LiteLLM models): pip install litellm" in out


def test_skills_are_checked_strictly(ostinato: Ostinato) -> None:
    done = ostinato("doctor", "skills")
    assert done.code == 1 and "not found" in done.err
    folder = Path("skills/good")
    folder.mkdir(parents=True)
    assert "no folder or archive" in ostinato("doctor", "skills").out
    (folder / "SKILL.md").write_text("---\nname: good\ndescription: d\n---\nDo it.\n")
    done = ostinato("doctor", "skills")
    assert done.code == 0 and "keeps the format" in done.out
    (folder / "SKILL.md").write_text("---\nname: good\ndescription: d\nodd: 1\n---\nDo it.\n")
    done = ostinato("doctor", "skills")
    assert done.code == 1 and "good/SKILL.md, line 4, odd: there is no such field" in done.out

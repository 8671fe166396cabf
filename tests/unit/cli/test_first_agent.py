"""`ostinato web` over a folder without an agent offers to create one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ostinato.cli import serve
from ostinato.hosting.loader import has_agent

Offer = Callable[..., str]


@pytest.fixture
def offer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Offer:
    """Offers an agent in the test's folder, and returns what was printed."""

    def ask(answer: str | None) -> str:
        def reply(question: str) -> str:
            print(question)
            if answer is None:
                raise EOFError
            return answer

        monkeypatch.setattr("builtins.input", reply)
        serve._offer_agent(tmp_path)  # pyright: ignore[reportPrivateUsage]
        return capsys.readouterr().out

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    return ask


@pytest.mark.parametrize(("answer", "made"), [("", True), ("Y", True), ("n", False), (None, False)])
def test_it_is_created_on_request(
    offer: Offer, tmp_path: Path, answer: str | None, made: bool
) -> None:
    assert f"Create {tmp_path / 'my_agent'}? [Y/n]" in offer(answer)
    assert has_agent(tmp_path / "my_agent") is made
    if made:
        assert offer("") == ""


def test_without_a_terminal_it_says_how(
    offer: Offer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert f"create {tmp_path / 'my_agent'}" in offer("")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_an_agent_is_left_alone(offer: Offer, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("")
    assert offer("") == ""

"""`ostinato replay`: lanes, gates, reports and exit codes."""

from __future__ import annotations

import json
import subprocess
from asyncio import to_thread
from pathlib import Path
from typing import Any

import pytest

from ostinato.cli.main import main
from ostinato.evaluation.replay.lane import LaneRunner
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import Claim
from tests.support.recorded_store import make_agent, record

AGENT = """
from tests.support.recorded_store import make_agent, said, serve
from ostinato.apps import App


def answer(request):
    {change}
    return serve(request)


app = App(name="shop", root_agent=make_agent(answer))
"""
SAME = "pass"
POLITE = "if said(request) == 'hello': return 'Good day.'"


def write_agent(folder: Path, change: str = SAME) -> str:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "agent.py").write_text(AGENT.format(change=change))
    return str(folder)


@pytest.fixture
async def store(tmp_path: Path) -> str:
    """The file of a store with five recorded invocations."""
    file = tmp_path / "sessions.db"
    service = SqliteSessionService(str(file))
    await record(service, make_agent(), [["hello", "find A1"], ["refund A2"], ["hello"], ["bye"]])
    await service.close()
    return str(file)


def replay(agent: str, store: str, *options: str) -> int:
    return main(["replay", agent, "--db", store, *options])


def test_an_unchanged_agent_passes(
    tmp_path: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = write_agent(tmp_path / "replayed_same")
    assert replay(agent, store, "--fail-on", "changed>0") == 0
    assert "5 invocations replayed, 5 same" in capsys.readouterr().out


def test_an_error_is_one_line_without_control_characters(
    tmp_path: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change = "if said(request) == 'bye': raise ValueError('no\\n\\x1b[2Jmodel')"
    agent = write_agent(tmp_path / "replayed_broken", change)
    assert replay(agent, store) == 1
    captured = capsys.readouterr()
    assert ": failed: ValueError: no \N{REPLACEMENT CHARACTER}[2Jmodel\n" in captured.out
    assert replay(agent, store, "--session", "s3") == 1
    assert "1 invocation replayed, 1 failed" in capsys.readouterr().out


def test_changes_are_reported_and_break_gates(
    tmp_path: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = write_agent(tmp_path / "replayed_polite", POLITE)
    files = [str(tmp_path / name) for name in ("r.json", "r.md")]
    options = ["--json", files[0], "--markdown", files[1]]
    assert replay(agent, store, *options, "--fail-on", "words>50%") == 0
    assert replay(agent, store, *options, "--fail-on", "words>=40%,calls>0") == 1
    out = capsys.readouterr().out
    assert "words is 2 of 5 (40.0%): words>=40% fails" in out
    document = json.loads(Path(files[0]).read_text())
    assert document["totals"] == {
        "replayed": 5,
        "same": 3,
        "words": 2,
        "calls": 0,
        "diverged": 0,
        "failed": 0,
        "changed": 2,
        "noise": 0,
    }
    assert {one["session_id"] for one in document["invocations"] if one["outcome"] == "words"} == {
        "s0",
        "s2",
    }
    markdown = Path(files[1]).read_text()
    assert "| `same calls, other words` | `You said hello.` | `Good day.` |" in markdown


@pytest.mark.long
def test_an_old_agent_shows_the_noise(
    tmp_path: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = write_agent(tmp_path / "new" / "replayed_noise", POLITE)
    old = write_agent(tmp_path / "old" / "replayed_noise", POLITE)
    assert replay(agent, store, "--old", old, "--fail-on", "changed>0") == 0
    assert "5 same, noise in 2" in capsys.readouterr().out


@pytest.mark.long
def test_the_old_agent_may_be_a_revision(
    tmp_path: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = write_agent(tmp_path / "repository" / "replayed_git")
    git = ["git", "-C", str(tmp_path / "repository"), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    write_agent(tmp_path / "repository" / "replayed_git", POLITE)
    assert replay(agent, store, "--old", "HEAD", "--fail-on", "words>1,noise>0") == 1
    assert "3 same, 2 same calls, other words, noise in 0" in capsys.readouterr().out
    shown = subprocess.run([*git, "worktree", "list"], capture_output=True, text=True, check=True)
    assert len(shown.stdout.splitlines()) == 1
    assert replay(agent, store, "--old", "no-such-thing") == 2


def test_ctrl_c_keeps_the_results_so_far(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = LaneRunner.run
    seen: list[Any] = []

    async def stop_after_two(self: Any, exchange: Any) -> Any:
        seen.append(exchange)
        if len(seen) > 2:
            raise KeyboardInterrupt
        return await run(self, exchange)

    monkeypatch.setattr(LaneRunner, "run", stop_after_two)
    agent, file = write_agent(tmp_path / "replayed_stop"), tmp_path / "r.json"
    assert replay(agent, store, "--parallelism", "1", "--json", str(file)) == 130
    document = json.loads(file.read_text())
    assert (document["interrupted"], document["totals"]["replayed"]) == (True, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fail-on", "call>2"], "There is no gate 'call'"),
        (["--fail-on", "calls>200%"], "compares a share, which is 100% at most"),
        (["--fail-on", "cost>10"], "write it as cost>+10%"),
        (["--fail-on", "calls>+2%"], "leave + or - out"),
        (["--fail-on", ""], "is not a gate"),
        (["--since", "yesterday"], "is not a time"),
        (["--since", "9999999w"], "is not a time"),
        (["--price", "m=1"], "is not MODEL=INPUT,OUTPUT"),
        (["--price", "m=-1,2"], "with prices of 0 or more"),
        (["--sample", "0"], "--sample has to be 1 or more"),
        (["--app", "none"], "no invocation to replay"),
        (["--fail-on", "tokens>+10%"], "the recording has no tokens"),
        (["--mock-model", "no-such-model"], "no-such-model"),
    ],
)
def test_bad_options_end_with_2(
    tmp_path: Path,
    store: str,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    agent = write_agent(tmp_path / "replayed_options")
    assert replay(agent, store, *options) == 2
    assert message in capsys.readouterr().err


def test_a_store_that_is_not_there_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = write_agent(tmp_path / "replayed_missing")
    assert replay(agent, str(tmp_path / "none.db")) == 2
    assert "does not exist" in capsys.readouterr().err
    (tmp_path / "garbage.db").write_text("garbage")
    assert replay(agent, str(tmp_path / "garbage.db")) == 2
    broken = tmp_path / "replayed_broken"
    write_agent(broken)
    (broken / "agent.py").write_text("1 / 0")
    assert replay(str(broken), str(tmp_path / "none.db")) == 2


async def test_resume_check_lists_what_would_be_parked(
    tmp_path: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    service = SqliteSessionService(store)
    session = await service.get_session(app_name="shop", user_id="ann", session_id="s3")
    assert session is not None
    claim = Claim(owner="o", process="p", seconds=60.0, invocation_id="open-1", digest="another")
    await service.append(session, (), claim=claim)
    await service.close()
    agent = write_agent(tmp_path / "replayed_resume")

    assert await to_thread(replay, agent, store, "--resume-check") == 1
    out = capsys.readouterr().out
    assert "open-1 in session s3" in out
    assert "would park 1 open invocation" in out

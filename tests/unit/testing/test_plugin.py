"""The pytest fixtures, as users' tests get them, and what loading the plugin costs."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ostinato import _clock, testing
from ostinato.models.llm_request import LlmRequest
from ostinato.testing import FrozenClock, HistoryGuard, ScriptedModel, SequentialIds


async def first_text(model: Any) -> str | None:
    async for response in model.generate_content_async(LlmRequest()):
        return response.content.parts[0].text
    return None


async def test_scripted_model(scripted_model: Callable[..., ScriptedModel]) -> None:
    model = scripted_model("one", model="m")
    assert model.model == "m"
    assert await first_text(model) == "one"


def test_frozen_clock(frozen_clock: FrozenClock) -> None:
    start = _clock.now()
    assert start == frozen_clock.time == 1_767_225_600.0
    assert 0 < _clock.now() - start < 1e-6
    frozen_clock.advance(60)
    assert _clock.now() == start + 60


def test_sequential_ids(sequential_ids: SequentialIds) -> None:
    assert _clock.new_id() == "00000000-0000-4000-8000-000000000001"
    assert _clock.new_id().endswith("002")
    assert sequential_ids.count == 2


async def test_shared_history_guard(
    shared_history_guard: Callable[[ScriptedModel], HistoryGuard],
) -> None:
    guard = shared_history_guard(ScriptedModel(["one"]))
    assert await first_text(guard) == "one"


def test_turns_left_over_fail_the_test(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text("def test_it(scripted_model):\n    scripted_model('never asked for')\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert run.returncode == 1, run.stdout
    assert "1 unused turns: 'never asked for'" in run.stdout


def test_pytest_starts_without_our_records() -> None:
    code = (
        "import sys, ostinato.testing.plugin\n"
        "ours = {name for name in sys.modules if name.startswith('ostinato')}\n"
        "print(sorted(ours - {'ostinato', 'ostinato._lazy', 'ostinato._clock'}))\n"
        "print('pydantic' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, pydantic = run.stdout.splitlines()
    assert modules == "['ostinato.testing', 'ostinato.testing.plugin']"
    assert pydantic == "False"


def test_the_face_offers_what_it_names() -> None:
    assert "ScriptedModel" in testing.__all__
    for name in testing.__all__:
        assert getattr(testing, name, None) is not None, name
    assert callable(testing.trace)

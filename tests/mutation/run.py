"""Changes the core's source in small ways and counts which changes the tests notice.

    make mutants                                  a sample of every file, the same each time
    make mutants MUTANTS_ARGS="--full"            every mutant (hours)
    make mutants MUTANTS_ARGS="--files src/ostinato/runners.py --sample 30 --seed 7"

mutmut makes the mutants. Each is tested in a process of its own (`child.py`), first by a few likely
tests, then by the others that execute the changed line. A mutant that hangs counts as killed.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.mutation import child, reach

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    "src/ostinato/flows/llm_flows/contents.py",
    "src/ostinato/flows/llm_flows/history/arrangement.py",
    "src/ostinato/flows/llm_flows/history/projection.py",
    "src/ostinato/flows/llm_flows/functions.py",
    "src/ostinato/sessions/log/resume.py",
    "src/ostinato/runners.py",
    "src/ostinato/execution/context_factory.py",
    "src/ostinato/execution/recovery/closing.py",
    "src/ostinato/execution/routing/agent_choice.py",
]
TESTS = [
    "tests/golden",
    "tests/unit/flows",
    "tests/unit/runners",
    "tests/unit/durable",
    "tests/unit/sessions",
    "tests/unit/agents",
    "tests/unit/context",
    "tests/unit/apps",
    "tests/unit/memory",
    "tests/unit/models/test_offline_llm.py",
    "tests/unit/tools",
    "tests/unit/plugins",
    "tests/unit/telemetry",
]
# Test files that are about a source file; they go first.
NEAR = {
    "contents": ["test_contents", "test_projection", "test_flow"],
    "_history": ["test_projection", "test_contents"],
    "functions": [
        "test_functions",
        "test_runner_hooks",
        "test_bad_calls",
        "test_bad_results",
        "test_wrong_callbacks",
    ],
    "_resume": ["test_resume", "test_pause_and_resume"],
    "runners": ["test_runner", "test_runner_setup", "test_runner_hooks", "test_concurrency"],
    "setup": ["test_runner_setup", "test_runner", "test_runner_hooks"],
    "sealing": ["test_sealing", "test_cancelled_caller"],
    "agent_choice": ["test_agent_choice", "test_runner"],
}
FIRST = 12  # tests of the first batch; most mutants go no further


@dataclass
class Mutant:
    """One change, the tests still to run, and what became of it."""

    file: str
    number: int
    line: int
    diff: list[str]
    source: str = field(repr=False)
    tests: list[str] = field(default_factory=list, repr=False)
    done: int = 0
    verdict: str = ""
    by: str | None = None

    @property
    def module(self) -> str:
        return self.file.removeprefix("src/").removesuffix(".py").replace("/", ".")

    @property
    def key(self) -> str:
        return f"{Path(self.file).stem}:{self.number}"

    def report(self) -> dict[str, Any]:
        found = {"file": self.file, "number": self.number, "line": self.line, "diff": self.diff}
        return {**found, "verdict": self.verdict, "by": self.by, "tests": self.done}


@dataclass
class Running:
    """A child that tests a batch."""

    mutant: Mutant
    batch: list[str]
    work: Path
    deadline: float


class Laboratory:
    """A pytest plugin that, in place of running the collected tests, tests mutants with them.

    Args:
      mutants: what to test.
      durations: seconds that each test takes.
      options: the command line.
    """

    def __init__(
        self, mutants: Sequence[Mutant], durations: dict[str, float], options: argparse.Namespace
    ) -> None:
        self._mutants = mutants
        self._durations = durations
        self._workers, self._limit = options.workers, options.limit
        self._kills: Counter[str] = Counter()
        self._running: dict[int, Running] = {}
        self._work = Path(tempfile.mkdtemp(prefix="mutants-"))
        self._out = options.out / "results.jsonl"
        self._originals: dict[str, CodeType] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Give each mutant a verdict: killed, timeout or survived."""
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        gc.collect()
        gc.freeze()
        waiting = list(reversed(self._mutants))
        while waiting or self._running:
            while waiting and len(self._running) < self._workers:
                self._start(waiting.pop())
            for mutant in self._ended():
                if mutant.verdict:
                    self._say(mutant)
                else:
                    waiting.append(mutant)
            time.sleep(0.01)
        shutil.rmtree(self._work, ignore_errors=True)
        return True

    def _start(self, mutant: Mutant) -> None:
        batch = self._batch(mutant)
        if not batch:
            mutant.verdict = "survived"
            self._say(mutant)
            return
        work = Path(tempfile.mkdtemp(dir=self._work))
        spent = sum(self._durations.get(test, 0.1) for test in batch)
        changed = self._changed(mutant)
        sys.stdout.flush()
        process = os.fork()
        if process == 0 and changed is not None:
            items = [self._items[test] for test in batch]
            module = sys.modules[mutant.module]
            child.run_patched(self._session, items, work, lambda: child.patch(module, changed))
        elif process == 0:
            task = {"module": mutant.module, "path": mutant.file, "text": mutant.source}
            (work / "task.json").write_text(json.dumps({**task, "tests": batch}))
            command = [sys.executable, "-m", "tests.mutation.child", str(work)]
            os.execv(sys.executable, command)
        allowed = time.monotonic() + 12 + 6 * spent
        self._running[process] = Running(mutant, batch, work, allowed)

    def _changed(self, mutant: Mutant) -> list[tuple[str, CodeType]] | None:
        path = str((ROOT / mutant.file).resolve())
        if mutant.file not in self._originals:
            text = Path(path).read_text(encoding="utf-8")
            self._originals[mutant.file] = compile(text, path, "exec", dont_inherit=True)
        new = compile(mutant.source, path, "exec", dont_inherit=True)
        return child.changed_functions(self._originals[mutant.file], new)

    def _batch(self, mutant: Mutant) -> list[str]:
        """The next tests: those that killed others first, then of each test file the quickest."""
        allowed = self._limit - mutant.done
        if mutant.done:
            return mutant.tests[:allowed]
        killers = sorted(mutant.tests, key=lambda t: -self._kills[t])[: FIRST // 2]
        killers = [t for t in killers if self._kills[t]]
        mutant.tests = killers + [t for t in mutant.tests if t not in set(killers)]
        return mutant.tests[: min(FIRST, allowed)]

    def _ended(self) -> Iterator[Mutant]:
        for process, run in list(self._running.items()):
            ended, _ = os.waitpid(process, os.WNOHANG)
            late = time.monotonic() > run.deadline
            if not ended and not late:
                continue
            _kill(process)
            if not ended:
                os.waitpid(process, 0)
            del self._running[process]
            self._judge(run, late and not ended)
            shutil.rmtree(run.work, ignore_errors=True)
            yield run.mutant

    def _judge(self, run: Running, late: bool) -> None:
        mutant, answer = run.mutant, run.work / "result.json"
        if late:
            mutant.verdict = "timeout"
            return
        result = json.loads(answer.read_text()) if answer.exists() else {"code": -1, "by": "died"}
        if result["code"] == 4 and result["by"] is None:
            print((run.work / "log").read_text()[-2000:])
            mutant.verdict = "error"
        elif result["code"] != 0:
            mutant.verdict, mutant.by = "killed", result["by"]
            self._kills[str(result["by"])] += 1
        else:
            mutant.done += len(run.batch)
            mutant.tests = mutant.tests[len(run.batch) :]

    def _say(self, mutant: Mutant) -> None:
        with self._out.open("a", encoding="utf-8") as log:
            log.write(json.dumps(mutant.report()) + "\n")
        if mutant.verdict in ("survived", "error"):
            print(f"{mutant.verdict} {mutant.key} line {mutant.line}", *mutant.diff, sep="\n    ")
            sys.stdout.flush()


def _kill(process: int) -> None:
    try:
        os.killpg(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def generated(files: Sequence[str], tools: Path, out: Path) -> dict[str, list[dict[str, Any]]]:
    """Have the mutants of the files made; those of an unchanged file are kept."""
    texts = "".join((ROOT / file).read_text(encoding="utf-8") for file in files)
    kept = out / f"made-{hashlib.sha256(texts.encode()).hexdigest()[:16]}.json"
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    environment = {**os.environ, "PYTHONPATH": str(tools)}
    command = [sys.executable, str(Path(__file__).with_name("generate.py")), *files]
    made = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    kept.write_bytes(made.stdout)
    return json.loads(made.stdout)


def reached(files: Sequence[str], tools: Path, out: Path) -> dict[str, Any]:
    """Find out in a child which tests execute which lines."""
    process = os.fork()
    if process == 0:
        sys.path.append(str(tools))
        try:
            reach.record(files, TESTS, out)
        except BaseException:  # the parent sees that the file is missing
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.waitpid(process, 0)
    return json.loads(out.read_text(encoding="utf-8"))


def ordered(file: str, tests: set[str], durations: dict[str, float]) -> list[str]:
    """Tests about the file first; of the others quick ones first, their files in turn, so that a
    cut list still has some of each.
    """
    near = NEAR.get(Path(file).stem, [])
    by_file: dict[str, list[str]] = {}
    for test in sorted(tests, key=lambda t: (round(durations.get(t, 1.0), 2), t)):
        by_file.setdefault(test.split("::")[0], []).append(test)
    ranked: list[tuple[bool, float, str]] = []
    for name, found in by_file.items():
        far = Path(name).stem not in near
        ranked += [(far, place / len(found), test) for place, test in enumerate(found)]
    return [test for _, _, test in sorted(ranked)]


def table(mutants: Sequence[Mutant], totals: dict[str, int]) -> str:
    """The counts by file."""
    lines = [f"{'file':<44}{'mutants':>8}{'tested':>8}{'killed':>8}{'timeout':>8}{'survived':>9}"]
    for name in [*totals, "all"]:
        rows = [m for m in mutants if name in ("all", m.file)]
        count = Counter(m.verdict for m in rows)
        dead = count["killed"] + count["timeout"]
        whole = sum(totals.values()) if name == "all" else totals[name]
        lines.append(
            f"{name.removeprefix('src/ostinato/'):<44}{whole:>8}{len(rows):>8}{count['killed']:>8}"
            f"{count['timeout']:>8}{len(rows) - dead:>9}  {dead / max(len(rows), 1):6.1%}"
        )
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--files", nargs="+", default=SOURCES)
    parser.add_argument("--sample", type=int, default=90, help="mutants of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="all mutants instead of a sample")
    parser.add_argument("--only", nargs="+", help="these mutants, as contents:17")
    parser.add_argument("--again", type=Path, help="the survivors of an earlier result file")
    parser.add_argument("--control", action="store_true", help="test the source unchanged")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=int, default=300, help="tests for one mutant at most")
    parser.add_argument("--tools", type=Path, default=ROOT / ".venvs" / "mutation")
    parser.add_argument("--out", type=Path, default=ROOT / ".venvs" / "mutants")
    parser.add_argument("--old-reach", action="store_true", help="trust the last coverage run")
    return parser.parse_args()


def chosen(options: argparse.Namespace, made: dict[str, list[dict[str, Any]]]) -> list[Mutant]:
    """The mutants to test, files mixed so that a run that is cut short has some of each."""
    if options.control:
        file = options.files[0]
        source = (ROOT / file).read_text(encoding="utf-8")
        return [Mutant(file=file, number=-1, line=0, diff=["unchanged"], source=source)]
    wanted = set(options.only or ())
    if options.again:
        lines = options.again.read_text(encoding="utf-8").splitlines()
        old = [json.loads(line) for line in lines]
        wanted |= {
            f"{Path(m['file']).stem}:{m['number']}" for m in old if m["verdict"] == "survived"
        }
    picked: list[tuple[float, Mutant]] = []
    for file, found in made.items():
        mutants = [Mutant(file=file, number=i, **one) for i, one in enumerate(found)]
        if wanted:
            mutants = [m for m in mutants if m.key in wanted]
        elif not options.full and len(mutants) > options.sample:
            mutants = random.Random(options.seed).sample(mutants, options.sample)
        picked += [(i / len(mutants), m) for i, m in enumerate(mutants)]
    return [m for _, m in sorted(picked, key=lambda one: one[0])]


def main() -> int:
    options = arguments()
    os.chdir(ROOT)
    options.out.mkdir(parents=True, exist_ok=True)
    made = generated(options.files, options.tools, options.out)
    map_file = options.out / "reach.json"
    if options.old_reach and map_file.exists():
        known = json.loads(map_file.read_text(encoding="utf-8"))
    else:
        known = reached(SOURCES, options.tools, map_file)
    mutants = chosen(options, made)
    for file in made:
        source = (ROOT / file).read_text(encoding="utf-8")
        places = reach.Reach(source, known["lines"][file], set(known["bad"]))
        for mutant in mutants:
            if mutant.file == file:
                found = set(known["durations"]) - set(known["bad"])
                found = found if options.control else places.tests(mutant.line)
                mutant.tests = ordered(file, found, known["durations"])
    results = options.out / "results.jsonl"
    results.unlink(missing_ok=True)
    pytest.main(
        [*child.QUIET, "-s", *TESTS], plugins=[Laboratory(mutants, known["durations"], options)]
    )
    summary = table(mutants, {file: len(found) for file, found in made.items()})
    print(f"seed {options.seed}, at most {options.sample} of each file" * (not options.full))
    print(summary)
    (options.out / "table.txt").write_text(summary + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

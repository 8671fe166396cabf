"""Files that several writers change: none loses what another wrote."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ostinato._shared_files import lock_file, replace_file

WRITER = """
import sys
from pathlib import Path
from ostinato._shared_files import lock_file, replace_file

file = Path(sys.argv[1])
for number in range(50):
    with lock_file(file):
        replace_file(file, file.read_text() + f"{sys.argv[2]}{number}\\n")
"""


def test_threads_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("")

    def add(number: int) -> None:
        with lock_file(file):
            replace_file(file, file.read_text() + f"{number}\n")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(100)))
    assert sorted(map(int, file.read_text().split())) == list(range(100))
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.long
def test_processes_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("")
    (tmp_path / "b.txt").symlink_to(file)  # another name of the file has the same lock
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / f"{name}.txt"), name])
        for name in "ab"
    ]
    assert [one.wait() for one in writers] == [0, 0]
    assert len(file.read_text().split()) == 100
    assert (tmp_path / "b.txt").is_symlink()


def test_a_lock_left_by_a_killed_process_holds_up_nobody(tmp_path: Path) -> None:
    (tmp_path / ".a.txt.lock").touch()
    with lock_file(tmp_path / "a.txt"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_failed_change_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        replace_file(file, "new \ud800")
    assert file.read_text() == "old" and list(tmp_path.iterdir()) == [file]


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    replace_file(file, "one", private=True)
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    replace_file(file, "two")
    assert file.stat().st_mode & 0o777 == 0o640 and file.read_text() == "two"

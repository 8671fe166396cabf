"""Records what the programs print on google-adk 2.3.0, one file per program in `recorded`.

    python tests/programs/record.py [--check] [AREA or AREA/NAME ...]

Run it with this project's interpreter; it starts google-adk's own, to which it lends pytest.
--check compares with what is recorded and changes nothing.
"""

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.programs.play import PROGRAMS  # noqa: E402
from tests.unit.compat.interpreters import SITE, adk_python, run  # noqa: E402

RECORDED = HERE / "recorded"
LENT = ("pytest", "_pytest", "pluggy", "py.py", "iniconfig", "pygments", "pytest_asyncio")


def lend_pytest(folder: Path) -> str:
    """Fill a folder with links to pytest and what it needs; return its path."""
    for entry in SITE.iterdir():
        if entry.name in LENT or entry.name.startswith("pytest_asyncio-"):
            (folder / entry.name).symlink_to(entry)
    return str(folder)


def play_on_google_adk(asked: list[str]) -> dict[str, list[str]]:
    """Return what the programs print on google-adk."""
    with tempfile.TemporaryDirectory() as folder:
        lent = lend_pytest(Path(folder))
        play = str(HERE / "play.py")
        text = run(play, *asked, python=adk_python(), path=(lent,), warnings="ignore")
    return json.loads(text.splitlines()[-1])


def read_recorded() -> dict[str, list[str]]:
    """Return what is recorded, by the program's name."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(RECORDED.glob("*.json"))
    }


def main() -> int:
    asked = [word for word in sys.argv[1:] if not word.startswith("--")]
    printed, recorded = play_on_google_adk(asked), read_recorded()
    if "--check" in sys.argv:
        differing = [name for name in printed if printed[name] != recorded.get(name)]
        print(f"{len(printed)} programs played, {len(differing)} differ", *differing)
        return int(bool(differing))
    for name, lines in printed.items():
        text = json.dumps(lines, indent=0, ensure_ascii=False) + "\n"
        (RECORDED / f"{name}.json").write_text(text, encoding="utf-8")
    for name in () if asked else recorded.keys() - {path.stem for path in PROGRAMS}:
        (RECORDED / f"{name}.json").unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())

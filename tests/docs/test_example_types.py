"""Every Python example of README and docs passes pyright."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^([ \t]*)```python[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_SETTINGS = {
    "typeCheckingMode": "basic",
    # A page's examples build on each other, and on modules of the reader's own.
    "reportUndefinedVariable": False,
    "reportMissingImports": False,
    "pythonVersion": "3.11",
    "extraPaths": [str(ROOT / "src")],
    "venvPath": str(Path(sys.prefix).parent),
    "venv": Path(sys.prefix).name,
}


def examples() -> Iterator[tuple[str, str]]:
    """Yield place and text of each example, those that await at their top in a function."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in _BLOCK.finditer(text):
            code = textwrap.dedent(block[2])
            if _awaits(code):
                code = "async def example():\n" + textwrap.indent(code, "    ")
            line = text.count("\n", 0, block.start()) + 2
            yield f"{page.parent.name}_{page.stem}_{line}".replace("-", "_"), code


def _awaits(code: str) -> bool:
    try:
        compile(code, "example", "exec", ast.PyCF_ONLY_AST)
        compile(code, "example", "exec")
    except SyntaxError as error:
        return "outside" in str(error)
    return False


@pytest.mark.service
def test_every_example_passes_pyright(tmp_path: Path) -> None:
    count = 0
    for place, code in examples():
        (tmp_path / f"{place}.py").write_text(code, encoding="utf-8")
        count += 1
    assert count > 30
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--project", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout

"""Lazy faces are built from their TYPE_CHECKING block alone."""

import py_compile
import sys
from pathlib import Path

import pytest

from ostinato._lazy import read_names

FACE = '''"""A face."""
from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from json import dumps as write
    from json import (  # two (2) names
        loads as loads,
        JSONDecoder,
    )

    from .inner import treasure as treasure  # near

__getattr__, __dir__, __all__ = attach(__name__{})
'''


def test_read_names() -> None:
    assert read_names(compile(FACE.format(""), "box", "exec"), "box") == {
        "write": ("json", "dumps"),
        "loads": ("json", "loads"),
        "JSONDecoder": ("json", "JSONDecoder"),
        "treasure": ("box.inner", "treasure"),
    }
    assert read_names(compile("x = 1", "box", "exec"), "box") == {}


def make(folder: Path, name: str, options: str = "") -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(FACE.format(options))
    (folder / name / "inner.py").write_text("treasure = object()\n")


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_name_is_loaded_when_asked_for(folder: Path) -> None:
    make(folder, "lazy_box")
    import lazy_box

    assert "lazy_box.inner" not in sys.modules
    assert {"write", "loads", "JSONDecoder", "treasure"} <= set(dir(lazy_box))
    assert lazy_box.__all__ == ["write", "loads", "JSONDecoder", "treasure"]
    from lazy_box import treasure

    assert sys.modules["lazy_box.inner"].treasure is treasure
    assert vars(lazy_box)["treasure"] is treasure  # the next look-up is a plain one
    with pytest.raises(AttributeError, match=r"lazy_box.*nothing"):
        lazy_box.nothing  # noqa: B018


def test_a_zipped_face_works(folder: Path) -> None:
    from zipfile import ZipFile

    with ZipFile(folder / "z.zip", "w") as archive:
        archive.writestr("zip_box/__init__.py", FACE.format(""))
        archive.writestr("zip_box/inner.py", "treasure = 3\n")
    sys.path.insert(0, str(folder / "z.zip"))
    try:
        from zip_box import treasure
    finally:
        sys.path.remove(str(folder / "z.zip"))
    assert treasure == 3


def test_a_face_works_from_bytecode_alone(folder: Path) -> None:
    make(folder, "compiled_box")
    for source in (folder / "compiled_box").glob("*.py"):
        py_compile.compile(str(source), cfile=str(source.with_suffix(".pyc")), doraise=True)
        source.unlink()
    import compiled_box

    assert "compiled_box.inner" not in sys.modules
    assert compiled_box.__all__ == ["write", "loads", "JSONDecoder", "treasure"]
    assert compiled_box.treasure is sys.modules["compiled_box.inner"].treasure


def test_the_fallback_is_asked_for_public_names_only(folder: Path) -> None:
    make(folder, "borrowing_box", ", fallback='fractions'")
    import fractions

    import borrowing_box

    assert borrowing_box.Fraction is fractions.Fraction
    with pytest.raises(AttributeError, match="nothing"):
        borrowing_box.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="_operator_fallbacks"):
        borrowing_box._operator_fallbacks  # noqa: B018


def test_a_fallback_that_is_missing_or_itself(folder: Path) -> None:
    make(folder, "poor_box", ", fallback='not_installed_at_all'")
    make(folder, "mirror_box", ", fallback='mirror_box'")
    import mirror_box
    import poor_box

    with pytest.raises(AttributeError, match="not_installed_at_all is not installed"):
        poor_box.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="neither"):
        mirror_box.nothing  # noqa: B018

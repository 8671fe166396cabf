"""Records as YAML files: the form is that of google-adk 2.3.0."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from ostinato.utils.yaml_utils import dump_pydantic_to_yaml, load_yaml_file


class Inner(BaseModel):
    z: int = 1
    a: str | None = None


class Desk(BaseModel):
    name: str
    text: str = ""
    items: list[str] = []
    inner: Inner = Inner()
    camel_case: int = Field(default=0, alias="camelCase")


DESK = Desk(name="ü", text="one\ntwo\n", items=["a", "b: c"], inner=Inner(z=3), camelCase=2)


def test_what_is_not_default_is_written(tmp_path: Path) -> None:
    file = tmp_path / "new" / "desk.yaml"
    dump_pydantic_to_yaml(DESK, file)
    assert file.read_text(encoding="utf-8") == (
        "camel_case: 2\ninner:\n  z: 3\nitems:\n  - a\n  - 'b: c'\nname: ü\ntext: |\n  one\n  two\n"
    )
    assert load_yaml_file(file)["text"] == "one\ntwo\n"


def test_everything_in_the_records_order(tmp_path: Path) -> None:
    file = tmp_path / "desk.yaml"
    dump_pydantic_to_yaml(
        DESK, str(file), indent=4, sort_keys=False, exclude_none=False, exclude_defaults=False,
        exclude={"items"},
    )  # fmt: skip
    assert file.read_text(encoding="utf-8") == (
        "name: ü\ntext: |\n    one\n    two\ninner:\n    z: 3\n    a: null\ncamel_case: 2\n"
    )


def test_long_lines_stay_whole(tmp_path: Path) -> None:
    dump_pydantic_to_yaml(Desk(name="word " * 60), tmp_path / "a.yaml")
    assert len((tmp_path / "a.yaml").read_text(encoding="utf-8").splitlines()) == 1


def test_a_file_that_is_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="YAML file not found"):
        load_yaml_file(tmp_path / "a.yaml")
    (tmp_path / "a.yaml").write_text("", encoding="utf-8")
    assert load_yaml_file(tmp_path / "a.yaml") is None

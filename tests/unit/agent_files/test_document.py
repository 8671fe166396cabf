"""YAML files as data with places."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.agent_files.document import Place, field_name, parse_document, read_document
from ostinato.errors import AgentFileError, AgentFileNotFoundError, MissingExtraError

HERE = Path("/somewhere/desk/root_agent.yaml")
TEXT = """\
name: a
tools:
  - name: x
    args: {deep: [1, {deeper: 2}]}
"""


def test_each_field_has_its_place() -> None:
    document = parse_document(HERE, TEXT)
    assert document.data["tools"][0]["args"] == {"deep": [1, {"deeper": 2}]}
    assert document.places[("tools", 0, "name")] == Place(3, 5)
    assert document.places[("tools", 0, "args", "deep", 1, "deeper")] == Place(4, 23)
    assert document.find_known_path(("tools", 0, "nothing", 3)) == ("tools", 0)


def test_a_fault_names_file_line_and_field_and_no_folder_above() -> None:
    error = parse_document(HERE, TEXT).fault("it is wrong.", ("tools", 0, "name"))
    assert str(error) == "desk/root_agent.yaml, line 3, tools[0].name: it is wrong."
    assert (error.file, error.line, error.column) == ("desk/root_agent.yaml", 3, 5)
    assert error.field == field_name(("tools", 0, "name")) == "tools[0].name"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "the file is empty"),
        ("# nothing\n", None, "the file is empty"),
        ("- a\n", None, "holds a list"),
        ("just words\n", None, "holds only a single value"),
        ("name: [a\n", 2, "not YAML"),
        ("name: a\n\tb: c\n", 2, "not YAML"),
        ("name: a\ntext: !!python/object/apply:os.getcwd []\n", 2, "read safely"),
        ("name: a\n---\nname: b\n", 2, "another document"),
        ("name: a\ntools: []\nname: b\n", 3, "stands in line 1 already"),
        ("a: {b: 1, b: 2}\n", 1, "stands in line 1 already"),
        ("a: 1\nb: \x00\n", 2, "not YAML"),
    ],
)
def test_what_is_no_description_is_refused(text: str, line: int | None, says: str) -> None:
    with pytest.raises(AgentFileError, match=says) as caught:
        parse_document(HERE, text)
    assert caught.value.line == line
    assert "/somewhere" not in str(caught.value)


def test_aliases_and_merges_are_read() -> None:
    text = "base: &base {x: 1, y: 2}\nown: {<<: *base, y: 3}\nsame: *base\n"
    document = parse_document(HERE, text)
    assert document.data["own"] == {"x": 1, "y": 3}
    assert document.data["same"] == {"x": 1, "y": 2}
    assert ("own", "y") in document.places


def test_aliases_that_multiply_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(AgentFileError, match="more than"):
        parse_document(HERE, "\n".join(lines))


def test_merges_that_multiply_end() -> None:
    lines = ["a0: &a0 {x: 1, y: 2}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)]
    with pytest.raises(AgentFileError, match="more than"):
        parse_document(HERE, "\n".join(lines))


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 100 + "]" * 100,
        "a: " + "[" * 500_000,
        "a: " + "{a: " * 5_000,
        "\n".join("  " * n + f"a{n}:" for n in range(500)),
        "a0: &a0 []\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 3_000)),
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(AgentFileError, match="nested too deeply"):
        parse_document(HERE, text)


@pytest.mark.parametrize(
    "value",
    ["1" * 5_000, "1" + ":1" * 100_000, "1" + ":1" * 100_000 + ".5", "2024-13-45", "!!int x"],
)
def test_numbers_and_dates_are_bounded(value: str) -> None:
    with pytest.raises(AgentFileError, match="a number or a date"):
        parse_document(HERE, f"a: {value}\n")


def test_huge_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\n" + "# \n" * 400_000, encoding="utf-8")
    with pytest.raises(AgentFileError, match="more than"):
        read_document(tmp_path / "a.yaml")


def test_no_error_shows_what_a_file_holds() -> None:
    for text in ("hunter2\n", "3\n", "- hunter2\n"):
        with pytest.raises(AgentFileError) as caught:
            parse_document(HERE, text)
        assert "hunter2" not in str(caught.value)


def test_a_file_that_holds_itself_ends() -> None:
    with pytest.raises(AgentFileError):
        parse_document(HERE, "a: &a [*a]\n")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(AgentFileNotFoundError, match=r"/a\.yaml: there is no such file"):
        read_document(tmp_path / "a.yaml")
    with pytest.raises(FileNotFoundError):
        read_document(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(AgentFileError, match="not UTF-8"):
        read_document(tmp_path / "b.yaml")
    with pytest.raises(AgentFileError, match="cannot be read"):
        read_document(tmp_path)


def test_without_pyyaml_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ostinato\[yaml\]'"):
        parse_document(HERE, TEXT)

"""Loading of skills: published folders are read as they are meant, and bad ones are refused."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ostinato import skills
from ostinato.errors import AgentFileError, AgentFileNotFoundError
from ostinato.skills import (
    Frontmatter,
    Resources,
    Script,
    Skill,
    list_skills_in_dir,
    load_skill_from_dir,
    load_skill_from_gcs_dir,
    load_skills_from_dir,
    load_skills_from_project,
)
from ostinato.skills.check import check_skills
from ostinato.skills.prompt import format_skills_as_xml
from tests.support.published_skills import PNG, make_text, write_published_skills, write_skill


def test_a_hundred_published_skills_load(tmp_path: Path) -> None:
    names = write_published_skills(tmp_path)
    skills = {skill.name: skill for skill in load_skills_from_dir(tmp_path)}
    assert list(skills) == names and len(names) == 100
    assert all("Then work." in skill.instructions for skill in skills.values())
    assert skills["pdf-1"].resources.files == {"reference.md": "R\n"}
    assert skills["pdf-2"].resources.list_references() == ["deep/note.md"]
    assert skills["pdf-3"].frontmatter.allowed_tools == "Read Bash(git add:*)"
    assert skills["pdf-3"].resources.get_asset("logo.png") == PNG
    assert skills["pdf-4"].description == "Splits --- and joins"
    assert skills["pdf-4"].instructions.endswith("More.")
    assert skills["pdf-5"].frontmatter.metadata == {"notes": "one\n---\ntwo\n"}
    assert skills["pdf-6"].resources.files == {
        "LICENSE.txt": "MIT\n",
        "reference.md": "All about it.\n",
        "scripts/tool": b"\x7fELF\x00\x01",
        "templates/page.html": "<p>\n",
    }
    assert skills["pdf-7"].description == "Use when: the user asks # for pdf-7"
    assert skills["pdf-7"].resources.list_scripts() == ["go"]
    assert skills["pdf-8"].frontmatter.model_extra is not None
    assert skills["pdf-8"].frontmatter.model_extra["author"] == "Ann"
    assert str(skills["pdf-8"].resources.files["again.md"]).startswith("\n\n---")
    assert skills["pdf-9"].resources.files == {"reference.md": "R\n"}
    listed = list_skills_in_dir(tmp_path)
    assert list(listed) == [name for name in names if not name.endswith("9")]


BAD: list[tuple[str, str | None, str]] = [
    (make_text("other"), "name", "bad/SKILL.md, line 2, name: Skill name 'other' does not match"),
    ("---\nname: bad\n---\n", "description", "line 2, description: the required field"),
    ("---\nname: Bad!\ndescription: d\n---\n", "name", "line 2, name: name must be lowercase"),
    ("---\nname: bad\ndescription: ''\n---\n", "description", "line 3, description"),
    ("---\nname: bad\nname: bad\ndescription: d\n---\n", "name", "line 3, name: the key stands"),
    ("---\nname: bad\ndescription: [\n---\n", "", "line 4: it is not YAML"),
    ("---\nname: bad\ndescription: d\n", "", "line 1: SKILL.md's frontmatter is not properly"),
    ("# Bad\n", "", "line 1: SKILL.md must start with YAML frontmatter"),
    ("", "", "line 1: SKILL.md must start with YAML frontmatter"),
    ("---\n- a\n---\n", "", "line 2: a skill begins with fields"),
    (
        "---\nname: bad\ndescription: d\nmetadata: {adk_additional_tools: x}\n---\n",
        "metadata",
        "line 4, metadata: adk_additional_tools must be a list",
    ),
]


@pytest.mark.parametrize(("text", "field", "told"), BAD)
def test_a_bad_skill_file_is_refused_with_its_place(
    tmp_path: Path, text: str, field: str, told: str
) -> None:
    folder = write_skill(tmp_path / "bad", text)
    with pytest.raises(AgentFileError) as caught:
        load_skill_from_dir(folder)
    assert isinstance(caught.value, ValueError)
    assert caught.value.file == "bad/SKILL.md" and caught.value.line
    assert caught.value.field == field
    assert told in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("value", ["", " []", " ''", " null", " ~", " ' '"])
@pytest.mark.parametrize("field", ["allowed-tools", "allowed_tools"])
def test_empty_field_allows_nothing(field: str, value: str, tmp_path: Path) -> None:
    write_skill(tmp_path / "a", f"---\nname: a\ndescription: d\n{field}:{value}\n---\n")
    allowed = load_skill_from_dir(tmp_path / "a").frontmatter.allowed_tools
    assert allowed is not None and not allowed.strip()


def test_field_in_another_case_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_skill(tmp_path / "a", "---\nname: a\ndescription: d\nAllowed_Tools: x\nLicense: y\n---\n")
    assert load_skill_from_dir(tmp_path / "a").frontmatter.allowed_tools is None
    first, second = [record.getMessage() for record in caplog.records]
    assert first.endswith("line 4, Allowed_Tools: the field is not read; write `allowed-tools`.")
    assert second.endswith("line 5, License: the field is not read; write `license`.")


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "bad", b"---\nname: bad\ndescription: \xff\n---\n")
    with pytest.raises(AgentFileError, match=r"bad/SKILL\.md, line 3: it is not UTF-8"):
        load_skill_from_dir(folder)


def test_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("key")
    folder = write_skill(tmp_path / "bad", make_text("bad"), references__a_dot_md="a")
    (folder / "references" / "b.md").symlink_to("a.md")
    assert load_skill_from_dir(folder).resources.get_reference("b.md") == "a"
    (folder / "references" / "c.md").symlink_to("../../secret.txt")
    with pytest.raises(AgentFileError, match=r"references/c\.md: the link leads out"):
        load_skill_from_dir(folder)
    (folder / "references" / "c.md").unlink()
    (folder / "references" / "again").symlink_to("..")
    with pytest.raises(AgentFileError, match="references/again: the link leads to no file"):
        load_skill_from_dir(folder)


@pytest.mark.parametrize("swapped", ["references", "a.md", "SKILL.md"])
def test_a_link_that_appears_while_the_skill_is_read_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    folder = write_skill(tmp_path / "bad", make_text("bad"), references__a_dot_md="a")
    secrets = write_skill(
        tmp_path / "out", make_text("bad", description="SECRET"), a_dot_md="SECRET"
    )
    really_open = os.open

    def swap_and_open(path: str, flags: int, *args: int, dir_fd: int | None = None) -> int:
        place = folder if swapped in ("references", "SKILL.md") else folder / "references"
        if path == swapped and not (place / swapped).is_symlink():
            (place / swapped).rename(tmp_path / "old")
            target = secrets if swapped == "references" else secrets / swapped
            (place / swapped).symlink_to(target)
        return really_open(path, flags, *args, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_and_open)
    with pytest.raises(AgentFileError, match="cannot be read"):
        load_skill_from_dir(folder)
    listed = list_skills_in_dir(tmp_path)
    assert "SECRET" not in str(listed)


def test_a_skill_file_that_is_a_link_out_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(make_text("bad", description="SECRET"))
    (tmp_path / "skills" / "bad").mkdir(parents=True)
    (tmp_path / "skills" / "bad" / "SKILL.md").symlink_to("../../secret")
    left_out: list[str] = []
    assert list_skills_in_dir(tmp_path / "skills", lambda *told: left_out.append(str(told))) == {}
    assert "the link leads out" in left_out[0]


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "good", make_text("good"), references__a_dot_md="a")
    (folder / "references" / "b.md").symlink_to("a.md")
    before = os.listdir("/proc/self/fd")
    load_skill_from_dir(folder)
    os.mkfifo(folder / "references" / "pipe")
    with pytest.raises(AgentFileError, match="neither a file nor a folder"):
        load_skill_from_dir(folder)
    assert os.listdir("/proc/self/fd") == before


def test_a_file_below_a_file_is_refused(tmp_path: Path) -> None:
    path = write_archive(
        tmp_path / "bad.zip", ("SKILL.md", make_text("bad")), ("A", "1"), ("a/b", "2")
    )
    with pytest.raises(AgentFileError, match="a/b: 'A' is a file, no folder"):
        load_skill_from_dir(path)


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "bad", make_text("bad"), references__a_dot_md="a")
    for name, target in (("one", "other"), ("other", "one")):
        (folder / "references" / name).symlink_to(target)
        (tmp_path / name).symlink_to(target)
    with pytest.raises(AgentFileError, match="references/one: the link leads to no file"):
        load_skill_from_dir(folder)
    assert "the link leads to no file" in check_skills(tmp_path)["bad"][0]
    with pytest.raises(AgentFileNotFoundError):
        load_skill_from_dir(tmp_path / "one")


def test_a_script_that_nothing_can_run_is_refused(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "bad", make_text("bad"), scripts__go="echo hi\n")
    with pytest.raises(AgentFileError, match="scripts/go, line 1, scripts: the script has no she"):
        load_skill_from_dir(folder)


def test_names_that_clash_are_refused(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "bad", make_text("bad"), a_dot_md="a", A_dot_md="b")
    if len(list(folder.iterdir())) == 3:  # not where file names have no case
        with pytest.raises(AgentFileError, match="clashes with"):
            load_skill_from_dir(folder)
    names = {"cafe\u0301_dot_md": "a", "caf\xe9_dot_md": "b"}
    folder = write_skill(tmp_path / "accents", make_text("accents"), **names)
    if len(list(folder.iterdir())) == 3:  # not where accents have one form
        with pytest.raises(AgentFileError, match="clashes with"):
            load_skill_from_dir(folder)
    for place in (".agents/skills/twin", ".claude/skills/twin"):
        write_skill(tmp_path / "project" / place, make_text("twin"))
    with pytest.raises(AgentFileError, match=r"skills/twin, line 1, name: skills/twin has"):
        load_skills_from_project(tmp_path / "project")


def test_skills_of_a_project_are_found_once(tmp_path: Path) -> None:
    write_skill(tmp_path / ".agents/skills/one", make_text("one"))
    (tmp_path / ".claude/skills").mkdir(parents=True)
    (tmp_path / ".claude/skills/one").symlink_to("../../.agents/skills/one")
    write_skill(tmp_path / ".claude/skills/two", make_text("two"))
    assert [skill.name for skill in load_skills_from_project(tmp_path)] == ["one", "two"]
    assert load_skills_from_project(tmp_path / "nowhere") == []


def write_archive(path: Path, *entries: tuple[Any, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in entries:
            archive.writestr(name, text)
    return path


def test_an_archive_without_a_folder_has_its_own_name(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "zipped.skill", ("SKILL.md", make_text("zipped")), ("a", "b"))
    assert load_skill_from_dir(path).resources.files == {"a": "b"}


@pytest.mark.parametrize("name", ["../evil.md", "/evil.md", "x/../../evil.md", "C:evil", "x\\e"])
def test_paths_that_lead_out_of_an_archive_are_refused(tmp_path: Path, name: str) -> None:
    path = write_archive(tmp_path / "bad.zip", ("SKILL.md", make_text("bad")), (name, "x"))
    with pytest.raises(AgentFileError, match="leads out of the skill"):
        load_skill_from_dir(path)


def test_links_and_twins_in_an_archive_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("bad/link")
    link.external_attr = 0o120777 << 16
    path = write_archive(tmp_path / "a.zip", ("bad/SKILL.md", make_text("bad")), (link, "/etc"))
    with pytest.raises(AgentFileError, match="'bad/link' is a link"):
        load_skill_from_dir(path)
    with pytest.warns(UserWarning, match="Duplicate"):
        path = write_archive(tmp_path / "b.zip", ("SKILL.md", "a"), ("SKILL.md", "b"))
    with pytest.raises(AgentFileError, match="two files have the path"):
        load_skill_from_dir(path)
    (tmp_path / "c.zip").write_bytes(b"no archive")
    with pytest.raises(AgentFileError, match=r"c\.zip: it is not a zip archive"):
        load_skill_from_dir(tmp_path / "c.zip")


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_skill(tmp_path / "bad", make_text("bad"), a="1", b="2")
    path = write_archive(tmp_path / "z.zip", ("SKILL.md", make_text("z")), ("a", "1" * 2_000))
    monkeypatch.setattr("ostinato.skills.skill_files._MAX_FILES", 2)
    with pytest.raises(AgentFileError, match="more than 2 files"):
        load_skill_from_dir(folder)
    monkeypatch.setattr("ostinato.skills.skill_files._MAX_BYTES", 100)
    for place in (folder, path):
        with pytest.raises(AgentFileError, match="more than 100 bytes"):
            load_skill_from_dir(place)
    monkeypatch.setattr("ostinato.skills.skill_document.MAX_BYTES", 10)
    monkeypatch.setattr("ostinato.skills.skill_files._MAX_BYTES", 10_000)
    with pytest.raises(AgentFileError, match="more than 10 bytes"):
        load_skill_from_dir(path)


def test_what_does_not_exist_is_named(tmp_path: Path) -> None:
    for load, place in (
        (load_skill_from_dir, tmp_path / "none"),
        (load_skill_from_dir, tmp_path / "none.zip"),
        (load_skills_from_dir, tmp_path / "none"),
    ):
        with pytest.raises(AgentFileNotFoundError, match="none"):
            load(place)
    with pytest.raises(FileNotFoundError, match=r"SKILL\.md not found"):
        load_skill_from_dir(tmp_path)


def test_a_list_leaves_bad_skills_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_skill(tmp_path / "good", make_text("good"))
    write_skill(tmp_path / "bad", "x")
    with caplog.at_level(logging.WARNING):
        assert list(list_skills_in_dir(tmp_path)) == ["good"]
        assert list_skills_in_dir(tmp_path / "none") == {}
    assert "'bad' is left out" in caplog.text and "not a directory" in caplog.text
    errors: list[str] = []
    list_skills_in_dir(tmp_path, on_error=lambda name, error: errors.append(f"{name} {error}"))
    assert len(errors) == 1 and errors[0].startswith("bad bad/SKILL.md")


def test_a_skill_made_in_python() -> None:
    made = Skill(
        frontmatter=Frontmatter.model_validate(
            {"name": "made", "description": "<d> & e", "allowed-tools": "Read"}
        ),
        instructions="Do it.",
        resources=Resources(references={"a": "x"}, scripts={"s.py": Script(src="1")}),
    )
    assert (made.name, made.frontmatter.allowed_tools) == ("made", "Read")
    assert made.resources.get_reference("b") is None and str(made.resources.scripts["s.py"]) == "1"
    assert made.resources.all_files() == {"references/a": "x", "scripts/s.py": "1"}
    assert (
        format_skills_as_xml([made])
        == format_skills_as_xml([made.frontmatter])
        == (
            "<available_skills>\n<skill>\n<name>\nmade\n</name>\n<description>\n&lt;d&gt; &amp; e\n"
            "</description>\n</skill>\n</available_skills>"
        )
    )


def test_a_bucket_is_read_like_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    class Blob:
        def __init__(self, name: str) -> None:
            self.name = name

        def download_as_bytes(self) -> bytes:
            return objects[self.name]

    class Bucket:
        def __init__(self, **options: Any) -> None:
            assert options == {"project": "p", "credentials": None}

        def bucket(self, name: str) -> Bucket:
            assert name == "shelf"
            return self

        def list_blobs(self, prefix: str) -> list[Blob]:
            return [Blob(name) for name in objects if name.startswith(prefix)]

        def blob(self, name: str) -> Blob:
            return Blob(name)

    objects = {
        "all/one/SKILL.md": make_text("one").encode(),
        "all/one/references/a.md": b"a",
        "all/two/SKILL.md": b"broken",
    }
    storage = type("storage", (), {"Client": Bucket})
    monkeypatch.setattr("ostinato.skills.loading.need", lambda name, extra: storage)
    skill = load_skill_from_gcs_dir("shelf", "one", "all", project_id="p")
    assert skill.resources.references == {"a.md": "a"}
    from ostinato.skills import list_skills_in_gcs_dir

    assert list(list_skills_in_gcs_dir("shelf", "all", project_id="p")) == ["one"]
    left_out: list[str] = []
    list_skills_in_gcs_dir(
        "shelf", "all", project_id="p", on_error=lambda name, error: left_out.append(name)
    )
    assert left_out == ["two"]
    loaded = asyncio.run(skills.load_skill_from_gcs_dir_async("shelf", "one", "all", "p"))
    assert loaded == skill
    listed = skills.list_skills_in_gcs_dir_async("shelf", "all", project_id="p")
    assert list(asyncio.run(listed)) == ["one"]


async def test_loading_leaves_the_event_loop_free(tmp_path: Path) -> None:
    write_skill(tmp_path / "good", make_text("good"))
    write_skill(tmp_path / "bad", "x")
    errors: list[str] = []
    listed = await skills.list_skills_in_dir_async(
        tmp_path,
        on_error=lambda name, error: errors.append(f"{name} {threading.current_thread().name}"),
    )
    assert list(listed) == ["good"] and errors[0].startswith("bad ")
    assert threading.main_thread().name not in errors[0]
    assert (await skills.load_skill_from_dir_async(tmp_path / "good")).name == "good"
    with pytest.raises(AgentFileError):
        await skills.load_skills_from_dir_async(tmp_path)


def test_names_with_underscores_are_a_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"name": "two_words", "description": "d"}
    with pytest.raises(ValueError, match="kebab-case"):
        Frontmatter.model_validate(fields)
    monkeypatch.setenv("ADK_ENABLE_SNAKE_CASE_SKILL_NAME", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert Frontmatter.model_validate(fields).name == "two_words"
    assert Frontmatter(name="a", description="d", allowed_tools="x").model_dump(
        by_alias=True, exclude_none=True
    ) == {"name": "a", "description": "d", "allowed-tools": "x", "metadata": {}}

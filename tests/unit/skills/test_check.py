"""The strict check of skills, and `ostinato doctor SKILLS_DIR`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.skills.check import check_skills
from tests.support.published_skills import make_text, write_published_skills, write_skill

# What the check says of each oddity; "" if it keeps the format.
TOLD = {
    0: "line 9: there is no file 'reference.md' in the skill.",
    1: "line 1: it begins with a byte order mark; save it without one.",
    2: "line 5, metadata.version: the value is not a text; put it in quotes.",
    3: "line 4, allowed-tools: it is a list; write the names with spaces between.",
    4: "line 8: there is no file 'reference.md' in the skill.",
    5: "line 13: there is no file 'reference.md' in the skill.",
    6: "",
    7: "line 3: the value has a colon or another sign; put it in quotes.",
    8: "line 6, version: there is no such field; put it below `metadata`.",
    9: "",
}


def test_the_check_is_strict_about_what_reading_passes_over(tmp_path: Path) -> None:
    write_published_skills(tmp_path)
    faults = check_skills(tmp_path)
    assert len(faults) == 100
    for number, told in TOLD.items():
        name = f"pdf-{number}" + (".zip" if number == 9 else "")
        found = faults[name]
        assert any(one.endswith(told) for one in found) if told else not found, (number, found)


def test_one_skill_is_checked_alone(tmp_path: Path) -> None:
    text = make_text("long") + "line\n" * 600
    folder = write_skill(tmp_path / "long", text, reference_dot_md="r", scripts__x_dot_py="#!\n1")
    (faults,) = check_skills(folder).values()
    assert len(faults) == 2 and "keep them below 500" in faults[0]
    assert faults[1].endswith("long/scripts/x.py, line 1: the shebang is empty.")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("---\nname: odd\ndescription: d\n---\n", "there are no instructions"),
        ("---\nname: Odd\ndescription: ''\n---\n", "line 2, name: name must be lowercase"),
        (
            "---\nname: odd\ndescription: d\nAllowed-Tools: find\n---\nDo it.\n",
            "line 4, Allowed-Tools: the field is not read; write `allowed-tools`.",
        ),
        (
            "---\nname: odd\ndescription: d\nallowed-tools:\n---\nDo it.\n",
            "line 4, allowed-tools: it is empty, so no tool is allowed; name some.",
        ),
    ],
)
def test_faults_that_stop_loading_are_told(tmp_path: Path, text: str, told: str) -> None:
    write_skill(tmp_path / "odd", text)
    assert told in check_skills(tmp_path)["odd"][0]


def test_all_faults_of_a_frontmatter_are_told_at_once(tmp_path: Path) -> None:
    text = "---\nname: other\ntools: x\nmetadata: 7\n---\nDo it.\n"
    write_skill(tmp_path / "My_Skill", text)
    faults = check_skills(tmp_path)["My_Skill"]
    wanted = (
        "description: the required field `description` is missing",
        "line 4, metadata:",
        "line 2, name: Skill name 'other' does not match directory name 'My_Skill'. Rename one.",
        "line 3, tools: there is no such field",
    )
    assert len(faults) == len(wanted)
    for fault, want in zip(faults, wanted, strict=True):
        assert want in fault

"""Skill folders as people publish them, with the oddities that their SKILL.md files have."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

TASKS = ("pdf", "invoice", "chart", "release", "review", "translate", "survey", "deploy", "mail",
         "budget")  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
BODY = "# {task}\n\nRead [the guide](reference.md) first.\n\n---\n\nThen work.\n"


def write_skill(folder: Path, text: str | bytes, **files: str | bytes) -> Path:
    """Write a SKILL.md, and other files by path (`__` stands for `/`, `_dot_` for a dot)."""
    folder.mkdir(parents=True, exist_ok=True)
    everything: dict[str, str | bytes] = {"SKILL.md": text}
    everything |= {
        name.replace("_dot_", ".").replace("__", "/"): data for name, data in files.items()
    }
    for name, data in everything.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def make_text(name: str, *fields: str, description: str = "Does {} work.") -> str:
    """Return a SKILL.md with further lines in its frontmatter."""
    head = [f"name: {name}", f"description: {description.format(name)}", *fields]
    return "\n".join(["---", *head, "---", "", BODY.format(task=name)])


def _plain(folder: Path, name: str) -> None:
    write_skill(folder, make_text(name, "license: MIT"), scripts__run_dot_py="print('ran')\n")


def _with_mark(folder: Path, name: str) -> None:
    write_skill(folder, b"\xef\xbb\xbf" + make_text(name).encode(), reference_dot_md="R\n")


def _with_other_line_ends(folder: Path, name: str) -> None:
    text = make_text(name, "metadata:", "  version: 1").replace("\n", "\r\n")
    write_skill(folder, text, references__deep__note_dot_md="N\r\n")


def _with_a_list(folder: Path, name: str) -> None:
    text = make_text(name, "allowed-tools:", "  - Read", "  - Bash(git add:*)")
    write_skill(folder, text, assets__logo_dot_png=PNG)


def _with_dashes(folder: Path, name: str) -> None:
    text = make_text(name, description='"Splits --- and joins"') + "\n---\nMore.\n"
    write_skill(folder, text)


def _with_a_block(folder: Path, name: str) -> None:
    fields = ("metadata:", "  notes: |", "    one", "    ---", "    two")
    write_skill(folder, make_text(name, *fields))


def _with_files_beside(folder: Path, name: str) -> None:
    write_skill(
        folder,
        make_text(name),
        reference_dot_md="All about it.\n",
        templates__page_dot_html="<p>\n",
        LICENSE_dot_txt="MIT\n",
        scripts__tool=b"\x7fELF\x00\x01",
        scripts__LICENSE="MIT\n",
    )


def _with_a_colon(folder: Path, name: str) -> None:
    text = make_text(name, description="Use when: the user asks # for {}")
    write_skill(folder, text, scripts__go="#!/usr/bin/env bash\necho ok\n")


def _with_other_fields(folder: Path, name: str) -> None:
    fields = ("version: 2026-01-01", "author: Ann", "metadata:", "allowed-tools: Read, Grep, Bash")
    write_skill(folder, "\n\n" + make_text(name, *fields))
    (folder / "again.md").symlink_to("SKILL.md")


def _as_archive(folder: Path, name: str) -> None:
    with zipfile.ZipFile(folder.with_suffix(".zip"), "w") as archive:
        archive.writestr(f"{name}/SKILL.md", make_text(name))
        archive.writestr(f"{name}/reference.md", "R\n")
        archive.writestr(f"__MACOSX/{name}/._x", "")


ODDITIES: tuple[Callable[[Path, str], None], ...] = (
    _plain,
    _with_mark,
    _with_other_line_ends,
    _with_a_list,
    _with_dashes,
    _with_a_block,
    _with_files_beside,
    _with_a_colon,
    _with_other_fields,
    _as_archive,
)


def write_published_skills(folder: Path) -> list[str]:
    """Write a hundred skills below a folder; return their names in order."""
    names: list[str] = []
    for task in TASKS:
        for number, write in enumerate(ODDITIES):
            name = f"{task}-{number}"
            write(folder / name, name)
            names.append(name)
    return sorted(names)

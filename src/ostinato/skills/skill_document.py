"""A SKILL.md as its fields and its text, read tolerantly, with the place of each fault."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from ..agent_files.document import Document, Place, parse_document
from ..errors import AgentFileError
from .models import Frontmatter

MAX_BYTES = 1_000_000
_FENCE = "---"
_PLAIN = re.compile(r"([A-Za-z][\w-]*):[ \t]+([^\s\"'\[{|>&*!#%@`].*)")
_WHAT = "a skill begins with fields such as `name:`"
_ALLOWED = ("allowed-tools", "allowed_tools")
FIELDS = {field.serialization_alias or name for name, field in Frontmatter.model_fields.items()}
"""The fields of a frontmatter, in the spelling of the file."""
Report = Callable[[str], None]


class SkillDocument(NamedTuple):
    """A SKILL.md.

    Attributes:
      source: its frontmatter, with the line of each field.
      text: what stands below the frontmatter.
      first_line: the line where that begins.
    """

    source: Document
    text: str
    first_line: int

    def read_frontmatter(self, folder: str) -> Frontmatter:
        """Return the checked frontmatter.

        Args:
          folder: the name of the skill's folder, which the skill has to have, too.

        Raises:
          AgentFileError: fields are missing or wrong, or the names differ; the message names file,
            line and field of each fault.
        """
        fault = self._find_name_fault(folder)
        try:
            frontmatter = Frontmatter.model_validate(self.source.data)
        except ValidationError as error:
            raise self._join_faults(error, fault) from error
        if fault is not None:
            raise fault
        return frontmatter

    def find_misspelled_fields(self) -> dict[str, str]:
        """Return the right name of each field that differs from it by case, which is not read."""
        names = [name for name in self.source.data if isinstance(name, str)]
        right = {name: name.lower().replace("_", "-") for name in names}
        return {
            name: right[name]
            for name in names
            if right[name] in FIELDS and name not in (*FIELDS, *_ALLOWED)
        }

    def _find_name_fault(self, folder: str) -> AgentFileError | None:
        name: Any = self.source.data.get("name")
        if not isinstance(name, str) or name == folder:
            return None
        return self.source.fault(
            f"Skill name {name!r} does not match directory name {folder!r}. Rename one.", ("name",)
        )

    def _join_faults(
        self, error: ValidationError, name_fault: AgentFileError | None
    ) -> AgentFileError:
        faults: list[AgentFileError] = []
        for one in error.errors():
            field = "allowed-tools" if one["loc"][0] == "allowed_tools" else one["loc"][0]
            problem = one["msg"].removeprefix("Value error, ")
            if one["type"] == "missing":
                problem = f"the required field `{field}` is missing"
            faults.append(self.source.fault(f"{problem}.", (field,)))
        if name_fault is not None:
            faults.append(name_fault)
        first = faults[0]
        return AgentFileError(
            "\n".join(str(one) for one in faults),
            file=first.file,
            line=first.line,
            column=first.column,
            field=first.field,
        )


def parse_skill(path: Path, data: bytes, report: Report = lambda problem: None) -> SkillDocument:
    """Read a SKILL.md.

    A byte order mark, other line ends, lists in `allowed-tools`, and values with a colon that
    YAML wants in quotes are read, too.

    Args:
      path: the file, for messages.
      data: its bytes.
      report: takes each fault that reading passed over.

    Raises:
      AgentFileError: it is not a SKILL.md; the message names file, line and field.
    """
    document = Document(path, None, "", {(): Place(1, 1)})
    if len(data) > MAX_BYTES:
        raise document.fault(f"it has more than {MAX_BYTES:,} bytes.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        document.places[()] = Place(line, 1)
        raise document.fault("it is not UTF-8 text.") from error
    if text.startswith("\ufeff"):
        report("line 1: it begins with a byte order mark; save it without one.")
        text = text.removeprefix("\ufeff")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    begin = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if lines[begin].rstrip() != _FENCE:
        raise document.fault(
            "SKILL.md must start with YAML frontmatter: a line `---`, then fields such as `name:`."
        )
    if begin:
        report("line 1: empty lines stand before the frontmatter.")
    fences = (at for at in range(begin + 1, len(lines)) if lines[at].rstrip() == _FENCE)
    end = next(fences, None)
    if end is None:
        raise document.fault("SKILL.md's frontmatter is not properly closed with a line `---`.")
    head = [""] * (begin + 1) + lines[begin + 1 : end]
    source = _parse_head(path, head, report)
    _mend_fields(source, report)
    first = next((at for at in range(end + 1, len(lines)) if lines[at].strip()), end + 1)
    return SkillDocument(source, "\n".join(lines[first:]).strip(), first + 1)


def _parse_head(path: Path, head: list[str], report: Report) -> Document:
    """Parse the frontmatter; a second time with plain values in quotes if it is not YAML."""
    try:
        return parse_document(path, "\n".join(head) + "\n", what=_WHAT)
    except AgentFileError as error:
        if error.line is None:  # it is about the frontmatter as a whole
            whole = Document(path, None, "", {(): Place(2, 1)})
            raise whole.fault(str(error).removeprefix(f"{error.file}: ")) from None
        quoted = [_quote_value(line) for line in head]
        if quoted == head:
            raise
        try:
            source = parse_document(path, "\n".join(quoted) + "\n", what=_WHAT)
        except AgentFileError:
            raise error from None
        report(f"line {error.line}: the value has a colon or another sign; put it in quotes.")
        return source


def _quote_value(line: str) -> str:
    found = _PLAIN.fullmatch(line)
    if found is None or (": " not in found[2] and " #" not in found[2]):
        return line
    return f"{found[1]}: {json.dumps(found[2].rstrip(), ensure_ascii=False)}"


def _mend_fields(source: Document, report: Report) -> None:
    """Bring fields that are commonly written otherwise into their form."""
    data: dict[str, Any] = source.data
    for name in _ALLOWED:
        value = data.get(name)
        if name in data and value is None:  # an empty field allows nothing, in whatever form
            place = source.places[(name,)]
            report(f"line {place.line}, {name}: it is empty, so no tool is allowed; name some.")
            data[name] = ""
        if isinstance(value, list):
            place = source.places[(name,)]
            report(f"line {place.line}, {name}: it is a list; write the names with spaces between.")
            data[name] = " ".join(str(one) for one in cast("list[Any]", value))
    if data.get("metadata", {}) is None:
        data["metadata"] = {}

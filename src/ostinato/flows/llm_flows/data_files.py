"""Data files in messages: extraction, names, and code that explores them.

The code execution processor uses it for executors with `optimize_data_file`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass

from ... import types
from ...code_executors.code_execution_utils import File

_EXPLORE_CSV = '''\
import pandas as pd


def explore_df(df):
    """Print what a table looks like: its size, and each column with some of its values."""
    print(f"{len(df)} rows, {len(df.columns)} columns")
    for label in df.columns:
        column = df[label]
        known = column.dropna().unique()
        values = ", ".join(repr(value) for value in known[:8].tolist())
        if len(values) > 80:
            values = values[:77] + "..."
        print(
            f"{label!r}: {column.dtype}, {column.isna().sum()} missing, "
            f"{len(known)} different values: {values}"
        )


$VARIABLE = pd.read_csv("$FILE")
explore_df($VARIABLE)
'''

_EXTENSIONS = {"text/csv": ".csv"}
_EXPLORERS = {"text/csv": _EXPLORE_CSV}


@dataclass(frozen=True, slots=True)
class Extracted:
    """A content without its data files, and the files.

    Attributes:
      content: the content without files; the original object if it had none.
      files: the files, with content as base64 text.
    """

    content: types.Content
    files: tuple[File, ...] = ()


def extract_files(index: int, content: types.Content, taken: Iterable[File]) -> Extracted:
    """Extract the data files of a content; a text with the file's name replaces each.

    Args:
      index: position of the content in the request; part of the names (FEATURES row 165).
      content: never changed.
      taken: files extracted earlier. The same bytes keep their name, other bytes get a new one,
        because positions shift when the history is compacted.
    """
    parts = content.parts or []
    if not any(_is_data(part) for part in parts):
        return Extracted(content)
    names = {file.content: file.name for file in taken}
    kept: list[types.Part] = []
    files: list[File] = []
    for number, part in enumerate(parts, 1):
        blob = part.inline_data
        if blob is None or not blob.mime_type or not _is_data(part):
            kept.append(part)
            continue
        data = base64.b64encode(blob.data or b"").decode("ascii")
        name = names.get(data) or _new_name(
            f"data_{index + 1}_{number}", _EXTENSIONS[blob.mime_type], set(names.values())
        )
        names[data] = name
        files.append(File(name=name, content=data, mime_type=blob.mime_type))
        kept.append(types.Part(text=f"\nAvailable file: `{name}`\n"))
    return Extracted(content.model_copy(update={"parts": kept}), tuple(files))


def exploring_code(file: File) -> str | None:
    """Return code that loads a data file and describes it; None for other files."""
    explorer = _EXPLORERS.get(file.mime_type)
    if explorer is None:
        return None
    variable = "".join(c if c.isalnum() else "_" for c in file.name.rpartition(".")[0])
    return explorer.replace("$VARIABLE", variable).replace("$FILE", file.name)


def _is_data(part: types.Part) -> bool:
    return part.inline_data is not None and part.inline_data.mime_type in _EXTENSIONS


def _new_name(stem: str, extension: str, taken: set[str]) -> str:
    name, number = stem + extension, 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}{extension}"
    return name

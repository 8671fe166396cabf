"""Files made from the templates of this package: what they contain, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from .cli_error import CliError

_SUFFIX = ".tmpl"
_FIELD = re.compile(r"@([a-z_]+)@")


def render_layers(layers: tuple[str, ...], values: Mapping[str, str]) -> dict[str, str]:
    """Return the files of several templates by path; a later template's file replaces an earlier's.

    `@field@` in a text stands for a value, `NAME` in a path for the value `name`, and `dot_` at
    the beginning of a file's or folder's name for a dot.

    Args:
      layers: names of folders in `templates`.
      values: text by field; a field without a value stays in the text.

    Raises:
      CliError: the installation lacks the templates.
    """
    texts: dict[str, str] = {}
    for layer in layers:
        root = files("ostinato.cli") / "templates" / layer
        if not root.is_dir():
            raise CliError(
                f"This installation of Ostinato lacks its template {layer}. Install the wheel."
            )
        for path, text in _walk_files(root, ""):
            texts[_target_path(path, values["name"])] = fill_fields(text, values)
    return texts


def fill_fields(text: str, values: Mapping[str, str]) -> str:
    """Return a text in which every `@field@` that has a value is replaced by it, once."""
    return _FIELD.sub(lambda found: values.get(found[1], found[0]), text)


def write_files(folder: Path, texts: Mapping[str, str], *, replace: bool = True) -> list[str]:
    """Write files below a folder, and create the folders they need.

    Args:
      folder: the folder.
      texts: content by relative path.
      replace: overwrite files whose content differs.

    Returns:
      The paths that were kept because they exist with another content.

    Raises:
      CliError: a file cannot be written.
    """
    kept: list[str] = []
    path = folder
    try:
        for name, text in texts.items():
            path = folder / name
            content = text.encode()
            if path.exists() and path.read_bytes() != content and not replace:
                kept.append(name)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise CliError(f"{path} cannot be made: {error.strerror}.") from error
    return kept


def _walk_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            yield from _walk_files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            yield prefix + entry.name.removesuffix(_SUFFIX), entry.read_text(encoding="utf-8")


def _target_path(path: str, name: str) -> str:
    parts = (name if part == "NAME" else part for part in path.split("/"))
    return "/".join(
        "." + part.removeprefix("dot_") if part.startswith("dot_") else part for part in parts
    )

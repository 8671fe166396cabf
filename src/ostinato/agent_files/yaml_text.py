"""Plain data and records as YAML files. `utils.yaml_utils` is the public face."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.main import IncEx

from .._optional import need
from .._private_files import create_private_file, make_private_folders


def load_yaml_file(file_path: str | Path) -> Any:
    """Read a YAML file as plain data.

    Raises:
      FileNotFoundError: the file does not exist.
      MissingExtraError: PyYAML is not installed.
    """
    path = Path(file_path)
    if not path.exists():
        raise FileNotFoundError(f"YAML file not found: {path}")
    return need("yaml", extra="yaml").safe_load(path.read_text(encoding="utf-8"))


def dump_pydantic_to_yaml(
    model: BaseModel,
    file_path: str | Path,
    *,
    indent: int = 2,
    sort_keys: bool = True,
    exclude_none: bool = True,
    exclude_defaults: bool = True,
    exclude: IncEx | None = None,
) -> None:
    """Write a record as a YAML file; text of several lines stays readable.

    A new file, and folders that are missing, are for the owner of the process alone.

    Args:
      model: the record.
      file_path: the file; a missing folder is created.
      indent: spaces of each level.
      sort_keys: in the order of the alphabet, or else of the record.
      exclude_none, exclude_defaults, exclude: what is left out, as for `model_dump`.

    Raises:
      MissingExtraError: PyYAML is not installed.
    """
    yaml = need("yaml", extra="yaml")
    data = model.model_dump(
        mode="json",
        exclude_none=exclude_none,
        exclude_defaults=exclude_defaults,
        exclude=exclude,
    )
    path = Path(file_path)
    make_private_folders(path.parent)
    text = yaml.dump(
        data,
        Dumper=_make_dumper(yaml),
        indent=indent,
        sort_keys=sort_keys,
        width=1_000_000,
        default_flow_style=False,
        allow_unicode=True,
    )
    create_private_file(path)
    path.write_text(text, encoding="utf-8")


def _make_dumper(yaml: Any) -> Any:
    """Return PyYAML's dumper, with lists set in and text of several lines as blocks."""

    def increase_indent(self: Any, flow: bool = False, indentless: bool = False) -> Any:
        return yaml.SafeDumper.increase_indent(self, flow, False)

    def represent_text(dumper: Any, text: str) -> Any:
        style = "|" if "\n" in text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    dumper = type("Dumper", (yaml.SafeDumper,), {"increase_indent": increase_indent})
    dumper.add_representer(str, represent_text)
    return dumper
